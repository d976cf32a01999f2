"""check: checks the invariants of a table on every branch and returns a report; it writes nothing.

A quick check reads metadata and listings; a deep check also reads every data file. No damage of the table ends the
check. A table can be checked while writers change it: when its snapshots, tags, consumers, changelogs, schemas or
branches change during the check, the check is repeated. If they change in every run, only the errors and warnings that
occur in all runs are reported.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from paimon_core.errors import BranchNotFound, PaimonError, TableNotFound
from paimon_core.fsck.branch import check_branch
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.files.unreferenced_files import list_unreferenced_files
from paimon_core.fsck.finding import Finding, Level, Report
from paimon_core.fsck.finding_collector import FindingCollector, Location
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import MAIN, TablePaths
from paimon_core.storage.storage import Storage

TRIES = 3
"""Maximum number of runs for a table that changes during the check."""


def check(context: TableContext, *, deep: bool = False) -> Report:
    """Check the table of ``context`` on all branches; repeat the check, up to ``TRIES`` runs, when the table changes.

    Java's expiry deletes the files of a snapshot before the snapshot file. A check that runs between the two deletions
    may report missing files.
    """
    confirmed: set[Hashable] | None = None
    for _ in range(TRIES):
        before = _metadata_listings(context)
        report = _check(context, deep=deep)
        if report.is_clean or _metadata_listings(context) == before:
            return report
        seen = {_identity(f) for f in report.findings}
        confirmed = seen if confirmed is None else confirmed & seen
    kept = tuple(f for f in report.findings if f.level is Level.INFO or _identity(f) in (confirmed or ()))
    return replace(report, findings=kept)


def _identity(finding: Finding) -> Hashable:
    """Return the identity of a finding across runs, without its text, which may contain numbers that have changed."""
    return finding.invariant, finding.branch, finding.snapshot, finding.path


def _metadata_listings(context: TableContext) -> Hashable:
    """Return the listings of the metadata directories of every branch; None when a directory cannot be listed."""
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
        return None  # the check itself reports the error


def _check(context: TableContext, *, deep: bool) -> Report:
    context = context.uncached()
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
                message = f"branch {name} is being created or deleted; if that was interrupted, delete the branch"
                collector.find("I22", location, message, level=Level.INFO, path=context.paths.branch_mark(name))
                continue
            try:
                run.context = context.on_branch(name)
            except BranchNotFound:
                collector.incomplete = True
                collector.find("I22", location, f"branch {name} has no schema: its creation or deletion is incomplete")
                continue
            check_branch(run)
    run.context = context
    list_unreferenced_files(run, here)
    return collector.report()


def check_root(name: str, storage: Storage, root: str, *, deep: bool = False) -> Report:
    """Check the table ``name`` at ``root`` with its newest schema that can be read.

    Raises TableNotFound when there is no schema, and the error of the oldest schema when none can be read.
    """
    schemas = SchemaStore(confined(storage, root), TablePaths(root))
    failed: PaimonError = TableNotFound(f"no table {name} at {root}: it has no schema", table=name)
    for schema_id in reversed(schemas.ids()):
        try:
            return check(TableContext.of(name, storage, root, schemas.read(schema_id)), deep=deep)
        except PaimonError as error:
            failed = error
    raise failed
