"""check: the invariants of a table at rest, on every branch, as a report; nothing is written.

Quick, it reads metadata and listings; deep, it opens every data file too. Nothing that is wrong with the table ends the
check. A table that is being written can be checked: when its snapshots, tags, consumers, changelogs, schemas or
branches changed meanwhile, the check runs again, and only findings of every run are reported.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from paimon_core.errors import BranchNotFound, PaimonError, TableNotFound
from paimon_core.fsck.branch import check_branch
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding import Finding, Level, Report
from paimon_core.fsck.finding_collector import FindingCollector, Location
from paimon_core.fsck.unreferenced_files import list_unreferenced_files
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import MAIN, TablePaths
from paimon_core.storage.storage import Storage

LOOKS = 3
"""How often a table that keeps changing is checked before the common findings are reported."""


def check(context: TableContext, *, deep: bool = False) -> Report:
    """Check the table of ``context`` on all of its branches; up to ``LOOKS`` times when others change it meanwhile.

    An expiry by Java deletes the files of a snapshot before the snapshot; a check in between may report missing files.
    """
    confirmed: set[Hashable] | None = None
    for _ in range(LOOKS):
        marks = _marks(context)
        report = _check(context, deep=deep)
        if report.is_clean or _marks(context) == marks:
            return report
        seen = {_place(f) for f in report.findings}
        confirmed = seen if confirmed is None else confirmed & seen
    kept = tuple(f for f in report.findings if f.level is Level.INFO or _place(f) in (confirmed or ()))
    return replace(report, findings=kept)


def _place(finding: Finding) -> Hashable:
    """What identifies a finding in another run of the check; its text may contain numbers that have changed."""
    return finding.invariant, finding.branch, finding.snapshot, finding.path


def _marks(context: TableContext) -> Hashable:
    """The names, sizes and times of the metadata files of every branch; None when they cannot be listed."""
    try:
        homes = [TablePaths(context.paths.root, name) for name in (MAIN, *context.branches.names())]
        directories = [
            directory
            for paths in homes
            for directory in (
                paths.snapshot_directory,
                paths.schema_directory,
                paths.tag_directory,
                paths.changelog_directory,
                paths.consumer_directory,
            )
        ]
        return tuple(tuple(context.storage.list(d)) for d in (context.paths.branch_directory, *directories))
    except PaimonError:
        return None  # the check itself reports it


def _check(context: TableContext, *, deep: bool) -> Report:
    collector = FindingCollector(context.name, deep)
    here = Location(MAIN, holder=f"table {context.name}")
    run = CheckRun(context, collector)
    names = [MAIN]
    with collector.guarding("I22", here):
        names += context.branches.names()
    for name in names:
        collector.check("I22")
        location = Location(name, holder=f"branch {name}")
        with collector.guarding("I22", location):
            if name != MAIN and context.branches.is_hidden(name):
                message = f"branch {name} is being made or deleted, or somebody died over it: delete it to end that"
                collector.find("I22", location, message, level=Level.INFO, path=context.paths.branch_mark(name))
                continue
            try:
                run.context = context.on_branch(name)
            except BranchNotFound:
                collector.incomplete = True
                collector.find("I22", location, f"branch {name} has no schema: it is half made or half deleted")
                continue
            check_branch(run)
    run.context = context
    list_unreferenced_files(run, here)
    return collector.report()


def check_root(name: str, storage: Storage, root: str, *, deep: bool = False) -> Report:
    """Check the table ``name`` at ``root``, whose latest schema may be bad: then under the newest one that is not.

    Raises TableNotFound where there is no schema, and what reading the last one raises when none can be read.
    """
    schemas = SchemaStore(confined(storage, root), TablePaths(root))
    failed: PaimonError = TableNotFound(f"no table {name} at {root}: it has no schema", table=name)
    for schema_id in reversed(schemas.ids()):
        try:
            return check(TableContext.of(name, storage, root, schemas.read(schema_id)), deep=deep)
        except PaimonError as error:
            failed = error
    raise failed
