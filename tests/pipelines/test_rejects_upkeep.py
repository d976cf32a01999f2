"""Maintenance of tables of rejects; tasks run in-process, without Spark."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import PlanOutdated
from paimon_core.table.table import Table
from paimon_core.table.upkeep.maintenance import Maintenance
from paimon_lake.cli.main import main
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import Retention, Settings, load_settings
from paimon_lake.loads import load as loading
from paimon_lake.loads import write_tasks
from paimon_lake.loads.load import load_table
from paimon_lake.steps.audits.audit import audit_fsck
from paimon_lake.steps.upkeep import expiry, rejects_upkeep
from paimon_lake.steps.upkeep.rejects_upkeep import expire_rejects, fsck_rejects, sweep_rejects
from paimon_lake.tables import open_lake
from tests.support.tasks import in_this_process

NAME, REJECTS = "shop.orders", "shop.orders__rejects"
NOTHING_KEPT = Retention(keep_snapshots=1, keep_hours=0, orphans_older_than_hours=1, keep_quarantine_days=0)


def never() -> Any:
    raise AssertionError("nothing here is worth a Spark session")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    monkeypatch.setattr(loading, "replaced_files", lambda *_: [])  # each load adds rejects, as of other files
    new_lake(tmp_path / "lake")
    settings = load_settings("local", configs=tmp_path / "lake")
    spec = settings.table(NAME).model_copy(update={"retention": NOTHING_KEPT})
    return settings.model_copy(update={"tables": {**settings.tables, NAME: spec}})


def load(settings: Settings, **more: Any) -> Any:
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    return load_table(lambda: session, settings, NAME, **more)


def rejects(settings: Settings) -> Table:
    return open_lake(settings).table(REJECTS)


def snapshots(settings: Settings) -> list[tuple[int, str]]:
    found = rejects(settings).inspect.snapshots()
    return list(zip(found["snapshot_id"].to_pylist(), found["commit_kind"].to_pylist(), strict=True))


def test_rejects_expire_by_the_retention_of_their_table_and_their_newest_commit_stays(settings: Settings) -> None:
    for _ in range(3):
        load(settings, reload=True)
    rejects(settings).compact(full=True)
    assert snapshots(settings) == [(1, "APPEND"), (2, "APPEND"), (3, "APPEND"), (4, "COMPACT")]
    merged, planned = expire_rejects(never, settings, NAME, dry_run=True)
    assert (merged.note, planned.details["expired_snapshots"]) == ("nothing to merge", 2)
    _, expired = expire_rejects(never, settings, NAME)
    assert (expired.table, expired.details["expired_snapshots"]) == (REJECTS, 2)
    assert snapshots(settings) == [(3, "APPEND"), (4, "COMPACT")]
    assert load(settings).commits == ()
    assert rejects(settings).scan().count() == 3, "nothing was published again"


def test_a_commit_while_the_expiry_is_planned_does_not_push_the_newest_commit_of_rejects_out(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        load(settings, reload=True)
    plan = Maintenance.plan_snapshot_expiry
    compacted = []

    def compact_first(self: Maintenance, **more: Any) -> Any:
        if not compacted:
            compacted.append(rejects(settings).compact(full=True))
        return plan(self, **more)

    monkeypatch.setattr(Maintenance, "plan_snapshot_expiry", compact_first)
    expire_rejects(never, settings, NAME)
    assert snapshots(settings) == [(2, "APPEND"), (3, "COMPACT")]


def test_an_expiry_that_never_gets_a_plan_that_keeps_it_stops(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        load(settings, reload=True)
    rejects(settings).compact(full=True)
    monkeypatch.setattr(expiry, "_since_load", lambda table, loaded: 0)
    with pytest.raises(PlanOutdated, match="other commits came after the plan was made"):
        expire_rejects(never, settings, NAME)


def test_files_of_rejects_that_wait_are_published_before_a_sweep(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(loading, "publish_rejects", lambda table, *_: None)
        load(settings)
    folder = Path(settings.warehouse) / "shop.db" / "shop.orders__rejects".partition(".")[2]
    for file in folder.rglob("*.parquet"):
        os.utime(file, (0, 0))
    assert rejects(settings).scan().count() == 0
    (swept,) = sweep_rejects(never, settings, NAME)
    assert (swept.table, swept.details["quarantined_files"]) == (REJECTS, 0)
    assert rejects(settings).scan().count() == 1
    assert load(settings).commits == ()


def test_fsck_and_audit_check_the_rejects_too(settings: Settings) -> None:
    assert fsck_rejects(settings, NAME) == []
    load(settings)
    (checked,) = fsck_rejects(settings, NAME)
    assert checked.table == REJECTS
    assert audit_fsck(settings, NAME).wrong == 0
    for file in rejects(settings).inspect.files()["file_name"].to_pylist():
        (Path(settings.warehouse) / "shop.db" / REJECTS.partition(".")[2] / "bucket-0" / file).unlink()
    found = audit_fsck(settings, NAME)
    assert found.wrong == 1
    assert REJECTS in found.sentence


def test_the_command_line_shows_and_maintains_rejects(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    load(settings)
    configs = ["--configs", str(settings.folder)]
    assert main(["show", *configs]) == 0
    assert "\n  shop.orders__rejects             1 " in capsys.readouterr().out
    for step in ("expire", "sweep", "fsck"):
        assert main([step, "--table", NAME, *configs]) == 0
        assert f"{step} {REJECTS}: " in capsys.readouterr().out


def test_a_table_without_rejects_has_nothing_to_maintain(settings: Settings) -> None:
    assert rejects_upkeep.tables_beside(settings, NAME)[1] == {}
    assert [*expire_rejects(never, settings, NAME), *sweep_rejects(never, settings, NAME)] == []
