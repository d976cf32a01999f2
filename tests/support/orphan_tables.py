"""Orphans for tests: uncommitted files, a clean-up that treats every file as old, and checks after it."""

from __future__ import annotations

import time
import uuid

from paimon_core.maintain.orphans.quarantine import quarantines
from paimon_core.maintain.orphans.removal import DAY_MILLIS, OrphanReport, apply_orphan_removal, plan_orphan_removal
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.references.used_files import used_names
from paimon_core.maintain.roots import all_roots, contexts_of_branches
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from tests.support.fake_tables import check_whole, fake_file


def token() -> str:
    return f"{uuid.uuid4()}-0"


def three_days_on() -> int:
    """Return a time at which every existing file is old enough to be removed."""
    return time.time_ns() // 1_000_000 + 3 * DAY_MILLIS


def plan(context: TableContext, **kwargs) -> Plan:
    return plan_orphan_removal(context, now_millis=three_days_on(), **kwargs)


def clean(context: TableContext, **kwargs) -> OrphanReport:
    return apply_orphan_removal(context, plan(context, **kwargs))


def stray(context: TableContext, **kwargs) -> DataFile:
    """Write a data file without committing it."""
    return fake_file(context, **kwargs)


def path_of(context: TableContext, file: DataFile, of: str = "a", bucket: int = 0) -> str:
    return context.paths.data_file(f"p={of}", bucket, file.file_name)


def planned(plan: Plan) -> set[str]:
    return {f.path.rsplit("/", 1)[1] for f in plan.files}


def everything(context: TableContext) -> dict[str, bytes]:
    """Return all files of the table with their bytes, without those in quarantine."""
    found = {f.path: context.storage.read(f.path) for f in context.storage.walk(context.paths.root)}
    return {path: data for path, data in found.items() if not path.startswith(context.paths.quarantine_directory)}


def make_branch(context: TableContext, name: str, snapshot_id: int | None = None) -> TableContext:
    """Create a branch only by its files: the schemas and one snapshot."""
    home = context.paths.branch_home(name)
    for schema_id in context.schemas.ids():
        data = context.storage.read(context.paths.schema(schema_id))
        context.storage.write(f"{home}/schema/schema-{schema_id}", data)
    if snapshot_id is not None:
        data = context.storage.read(context.paths.snapshot(snapshot_id))
        context.storage.write(f"{home}/snapshot/snapshot-{snapshot_id}", data)
    return context.on_branch(name)


def check_live(context: TableContext) -> None:
    """Check that no branch has a missing file, and that no file used by a root is in quarantine."""
    for branch in contexts_of_branches(context):
        check_whole(branch, contiguous=False)
    held = {f.path.rsplit("/", 1)[-1] for q in quarantines(context) for f in q.files}
    there = {f.name for f in context.storage.walk(context.paths.root) if "/quarantine/" not in f.path}
    assert not (used_names(context, all_roots(context)) & held) - there
