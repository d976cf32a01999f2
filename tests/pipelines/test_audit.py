"""Audits find planted damage; without Spark."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from paimon_core.health.finding import Health
from paimon_core.table.table import Table
from paimon_lake.check_result import CheckResult
from paimon_lake.cli.main import main
from paimon_lake.loads.rejected.rejects import open_rejects
from paimon_lake.steps.audits.audit import audit, audits_of
from paimon_lake.steps.health import lake_metrics
from tests.support.lakes import SmallLake

NAME = "log.events"
COUNTS = {"pipeline.rows-read": "2", "pipeline.rows-written": "2", "pipeline.rows-rejected": "0"}


@pytest.fixture
def table(dry_lake: SmallLake) -> Table:
    """Two rows, which a load read and wrote."""
    source = "source: {type: files, path: 'in/*.csv'}\nmode: append\n"
    dry_lake.declare(NAME, f"columns: {{id: BIGINT, text: STRING}}\nnatural_key: [id]\n{source}")
    table = dry_lake.create(NAME)
    table.write(pa.table({"id": [1, 2], "text": ["a", "b"]}), user=f"load {NAME}", identifier=1, properties=COUNTS)
    return table


def found(lake: SmallLake) -> dict[str, CheckResult]:
    return {finding.audit: finding for finding in audit(lake.settings, NAME)}


def test_a_table_that_is_well(dry_lake: SmallLake, table: Table) -> None:
    assert {name: finding.wrong for name, finding in found(dry_lake).items()} == {
        "rows": 0, "keys": 0, "files": 0, "fsck": 0, "health": 0
    }  # fmt: skip


def test_a_load_that_lost_a_row(dry_lake: SmallLake, table: Table) -> None:
    lost = COUNTS | {"pipeline.rows-read": "3"}
    table.write(pa.table({"id": [3, 4], "text": ["c", "d"]}), user=f"load {NAME}", identifier=2, properties=lost)
    assert [name for name, finding in found(dry_lake).items() if not finding.passed] == ["rows"]


def test_lost_rejects_are_told(dry_lake: SmallLake, table: Table) -> None:
    assert "reject" not in found(dry_lake)["rows"].sentence.replace("rejected", "")
    rejects = open_rejects(dry_lake.settings, dry_lake.settings.table(NAME))
    rejects.write([{"file": "in/a.csv", "line": 3}] * 2, user=f"load {NAME}", identifier=1)
    rejects.write([{"file": "in/b.csv", "line": 4}], user=f"load {NAME}", identifier=2)
    for file in Path(rejects.location).glob("bucket-0/*.parquet"):
        file.unlink()
    rejects.maintenance.apply(rejects.maintenance.plan_missing_removal())
    told = found(dry_lake)["rows"]
    assert told.passed
    assert f"; 3 rejects lost: snapshot 3 of {NAME}__rejects removed missing data files; a load" in told.sentence


def test_rows_that_occur_twice(dry_lake: SmallLake, table: Table) -> None:
    table.write(table.scan().to_arrow())
    wrong = found(dry_lake)["keys"]
    assert (wrong.wrong, wrong.sentence) == (2, "2 of 4 rows repeat the id of another: 1 (2 times), 2 (2 times)")


def test_a_file_that_was_cut(dry_lake: SmallLake, table: Table) -> None:
    (file,) = Path(table.location).glob("bucket-0/*.parquet")
    file.write_bytes(file.read_bytes()[:-1])
    wrong = found(dry_lake)
    assert [name for name, finding in wrong.items() if not finding.passed] == ["keys", "files", "fsck"]
    assert wrong["keys"].sentence.startswith("cannot be evaluated: data file ")
    assert file.name in wrong["files"].sentence


def test_what_costs_too_much_is_told_with_its_mend(dry_lake: SmallLake) -> None:
    dry_lake.declare(NAME, "columns: {id: BIGINT}\nprimary_key: [id]\noptions: {bucket: 1, write-only: true}\n")
    table = dry_lake.create(NAME)
    for _ in range(4):
        table.write(pa.table({"id": [1]}))
    assert found(dry_lake)["health"].passed
    for _ in range(8):
        table.write(pa.table({"id": [1]}))
    told = found(dry_lake)["health"]
    assert (told.wrong, told.severity, told.details["most_sorted_runs"]) == (2, "error", 12)
    picture = ElementTree.fromstring(told.pictures["picture"])
    assert len([mark for mark in picture.iter() if mark.tag.endswith("rect")]) == 12 + 2, "12 files, 2 in the legend"
    assert told.sentence.startswith(f"score {told.details['score']}; many-sorted-runs: bucket 0 has 12 sorted runs")
    assert (
        f"; mend: paimon-lake doctor --table {NAME} --fix many-sorted-runs; conflicting-options: write-only"
        in told.sentence
    )


def test_a_table_without_a_source_and_a_key_has_fewer_audits(dry_lake: SmallLake) -> None:
    dry_lake.declare("log.keyed", "columns: {id: BIGINT}\nprimary_key: [id]\n")
    dry_lake.declare("log.loose", "columns: {id: BIGINT}\nsource: {type: files, path: 'in/*.csv'}\nmode: append\n")
    assert audits_of(dry_lake.settings.table("log.keyed")) == ("keys", "files", "fsck", "health")
    assert audits_of(dry_lake.settings.table("log.loose")) == ("rows", "files", "fsck", "health")


def test_metrics_of_a_lake(dry_lake: SmallLake, table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "--configs", str(dry_lake.folder)]) == 0
    assert f'paimon_table_rows_in_files{{branch="main",table="{NAME}"}} 2.0' in capsys.readouterr().out
    (snapshot,) = Path(table.location).glob("snapshot/snapshot-*")
    snapshot.write_bytes(b"{")
    assert main(["metrics", "--configs", str(dry_lake.folder)]) == 1
    printed = capsys.readouterr()
    assert f'paimon_table_unreadable{{table="{NAME}"}} 1.0' in printed.out
    assert f"paimon-lake metrics: {NAME}: corrupt-table: " in printed.err


def test_metrics_of_a_lake_are_sent_to_a_collector(
    dry_lake: SmallLake, table: Table, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[list[str], dict[str, str], str]] = []

    def send(healths: list[Health], failures: dict[str, str], url: str) -> int:
        sent.append(([health.table for health in healths], failures, url))
        return 36

    monkeypatch.setattr(lake_metrics, "send_metrics", send)
    assert main(["metrics", "--otlp", "http://host:4318", "--configs", str(dry_lake.folder)]) == 0
    assert capsys.readouterr().out == "sent 36 values\n"
    assert sent == [([NAME], {}, "http://host:4318")]
    monkeypatch.undo()
    assert main(["metrics", "--otlp", "host", "--configs", str(dry_lake.folder)]) == 2
    assert "must be a URL such as" in capsys.readouterr().err
