"""Rejects of interrupted loads, a table of rejects that was dropped, and repairs by a reload; tasks run in-process."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.table.inspect import Inspect
from paimon_core.table.table import Table
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import Retention, Settings, load_settings
from paimon_lake.loads import load as loading
from paimon_lake.loads import write_tasks
from paimon_lake.loads.load import load_table
from paimon_lake.loads.rejected.rejects import publish_rejects
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.apply import apply
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import tag
from paimon_lake.tables import open_lake
from tests.support.tasks import in_this_process

NAME, REJECTS = "shop.orders", "shop.orders__rejects"
LOADED = ("3 files loaded before",)
NOTHING_KEPT = Retention(keep_snapshots=1, keep_hours=0, orphans_older_than_hours=1, keep_quarantine_days=0)


def never() -> Any:
    raise AssertionError("nothing here is worth a Spark session")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    new_lake(tmp_path / "lake")
    settings = load_settings("local", configs=tmp_path / "lake")
    spec = settings.table(NAME).model_copy(update={"retention": NOTHING_KEPT})
    return settings.model_copy(update={"tables": {**settings.tables, NAME: spec}})


def load(settings: Settings, *partitions: str, **more: Any) -> Any:
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    return load_table(lambda: session, settings, NAME, partitions or None, **more)


def interrupted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load, and end before the rejects are published."""
    with monkeypatch.context() as patched:
        patched.setattr(loading, "publish_rejects", lambda table, *_: None)
        load(settings)
    assert count(settings, REJECTS) == 0


def table(settings: Settings, name: str = NAME) -> Table:
    return open_lake(settings).table(name)


def count(settings: Settings, name: str = NAME) -> int:
    return table(settings, name).scan().count()


def compacted(settings: Settings) -> None:
    """Commit a snapshot that is no load, as a compaction does."""
    assert table(settings).commit([], user="compaction", identifier=1) is not None


def test_an_expiry_publishes_the_rejects_of_an_interrupted_load(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(settings, monkeypatch)
    compacted(settings)
    assert expire(never, settings, NAME, dry_run=True).details["expired_snapshots"] == 1
    assert count(settings, REJECTS) == 0
    expire(never, settings, NAME)
    assert table(settings).inspect.snapshots()["snapshot_id"].to_pylist()[0] > 1
    assert count(settings, REJECTS) == 1
    assert load(settings).skipped == LOADED


def test_an_expiry_needs_no_table_of_rejects(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(settings, monkeypatch)
    compacted(settings)
    open_lake(settings).drop_table(REJECTS)
    expire(never, settings, NAME)
    assert not open_lake(settings).table_exists(REJECTS)
    assert load(settings).skipped == LOADED


def test_loads_go_on_after_the_table_of_rejects_was_dropped(settings: Settings) -> None:
    load(settings)
    open_lake(settings).drop_table(REJECTS)
    assert load(settings).skipped == LOADED
    assert count(settings, REJECTS) == 0
    load(settings, reload=True)
    assert count(settings, REJECTS) == 1


def test_a_table_of_rejects_that_was_renamed_is_still_the_same(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(settings, monkeypatch)
    catalog = open_lake(settings)
    catalog.rename_table(REJECTS, "shop.bad")
    publish_rejects(table(settings), catalog.table("shop.bad"))
    assert count(settings, "shop.bad") == 1


def test_rejects_that_another_process_published_meanwhile_are_published(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(settings, monkeypatch)
    commit = Table.commit

    def commit_after_another(self: Table, *args: Any, **more: Any) -> Any:
        commit(self, *args, **{**more, "identifier": 2})  # these and those of the next load
        return commit(self, *args, **more)

    rejects = table(settings, REJECTS)
    monkeypatch.setattr(Table, "commit", commit_after_another)
    publish_rejects(table(settings), rejects)
    monkeypatch.undo()
    assert rejects.inspect.snapshots()["commit_identifier"].to_pylist() == [2]


def test_a_commit_of_rejects_that_is_refused_for_another_reason_is_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise InvalidRequest("the messages do not fit")

    interrupted(settings, monkeypatch)
    monkeypatch.setattr(Table, "commit", refuse)
    with pytest.raises(InvalidRequest, match="the messages do not fit"):
        publish_rejects(table(settings), table(settings, REJECTS))


def test_a_rollback_to_a_nightly_tag_keeps_the_ledger(settings: Settings) -> None:
    load(settings)
    compacted(settings)
    tagged = tag(settings, NAME, "night").details["tagged_snapshot"]
    assert tag(settings, NAME, "night").details["tagged_snapshot"] == tagged
    for _ in range(2):
        load(settings, reload=True)
        expire(never, settings, NAME)
    table(settings).rollback(tag="night")
    assert table(settings).inspect.snapshots()["snapshot_id"].to_pylist() == [tagged]
    assert load(settings).skipped == LOADED


def test_a_reload_of_the_whole_table_repairs_a_ledger_that_is_refused(settings: Settings) -> None:
    load(settings)
    compacted(settings)
    table(settings).expire_snapshots(keep_last=1, keep_max=1, older_than=timedelta(0))
    for partitions, more in (((), {}), (("2024-01-01",), {"reload": True})):
        with pytest.raises(PipelineError, match="no snapshot that is left says what was loaded"):
            load(settings, *partitions, **more)
    rows = count(settings)
    load(settings, reload=True)
    assert count(settings) == rows
    assert load(settings).skipped == LOADED


def test_an_expiry_leaves_a_table_that_was_never_loaded_ready_to_be_loaded(settings: Settings) -> None:
    load(settings)
    catalog = open_lake(settings)
    rows = table(settings).scan().to_arrow()
    catalog.drop_table(NAME)
    apply(settings)
    table(settings).write(rows)
    compacted(settings)
    expire(never, settings, NAME)
    assert load(settings).details["files_read"] == 3


def test_a_load_lists_the_snapshots_of_its_table_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []
    snapshots = Inspect.snapshots

    def counted(self: Inspect) -> Any:
        listed.append(self.context.name)
        return snapshots(self)

    spec = settings.table(NAME).model_copy(update={"checks": ()})  # a check that blocks reads the history too
    settings = settings.model_copy(update={"tables": {NAME: spec}})
    load(settings, "2024-01-01")
    monkeypatch.setattr(Inspect, "snapshots", counted)
    assert load(settings, "2024-01-02").details["rows_rejected"] == 0
    assert listed.count(NAME) == 1
