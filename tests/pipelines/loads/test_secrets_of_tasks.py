"""Keys of a store in the tasks of a load: they are sent to the workers as secrets, which nothing prints."""

from __future__ import annotations

from typing import Any

import pytest

from paimon_lake.declarations import Settings
from paimon_lake.loads.files import file_load as files
from paimon_lake.loads.files.split_reports import SplitReport
from tests.support.lakes import SmallLake

CANARY = "canary-secret/Qp7+"


def test_a_task_that_is_printed_shows_no_key(quick: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    quick.declare(
        "log.events",
        """
        columns: {id: BIGINT}
        primary_key: [id]
        source: {type: files, path: "in/*.csv"}
        """,
    )
    quick.file("in/a.csv", "id\n1\n")
    tasks, options = list[Any](), list[Any]()
    write_parts, source_files = files.write_parts, files.source_files
    found = source_files(quick.settings, quick.settings.table("log.events").source, None)  # type: ignore[arg-type]

    def written(*given: Any, **more: Any) -> Any:
        tasks.append(given[2])
        return write_parts(*given, **more)

    def read(*given: Any) -> Any:
        options.append(given[4])
        return iter(())

    monkeypatch.setattr(files, "source_files", lambda *_: found)
    monkeypatch.setattr(files, "write_parts", written)
    monkeypatch.setattr(files, "read_split", read)
    monkeypatch.setattr(files, "report_of", lambda split, *_: SplitReport(split.file.ledger_name, split.start))
    monkeypatch.setattr(Settings, "storage_for", lambda self, path: {"s3.secret-key": CANARY})
    quick.load("log.events")
    assert options == [{"s3.secret-key": CANARY}]
    assert CANARY not in repr([cell.cell_contents for cell in tasks[0].__closure__])
