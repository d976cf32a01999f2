"""check: the invariants of a table at rest, on every branch, as a report; nothing is written.

Quick, it reads metadata and listings; deep, it opens every data file too. A table that is being written can be checked:
what expires meanwhile is no finding. Nothing that is wrong with the table ends the check.
"""

from __future__ import annotations

from paimon_core.errors import BranchNotFound, PaimonError, TableNotFound
from paimon_core.fsck.branch import check_branch
from paimon_core.fsck.finding import Level, Report
from paimon_core.fsck.garbage import list_garbage
from paimon_core.fsck.notes import Notes, Spot
from paimon_core.fsck.survey import Survey
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.schema_store import SchemaStore
from paimon_core.storage.paths import MAIN, TablePaths
from paimon_core.storage.storage import Storage


def check(context: TableContext, *, deep: bool = False) -> Report:
    """Check the table of ``context`` on all of its branches."""
    notes = Notes(context.name, deep)
    here = Spot(MAIN, holder=f"table {context.name}")
    survey = Survey(context, notes)
    names = [MAIN]
    with notes.guarding("I22", here):
        names += context.branches.names()
    for name in names:
        notes.check("I22")
        spot = Spot(name, holder=f"branch {name}")
        with notes.guarding("I22", spot):
            if name != MAIN and context.branches.is_hidden(name):
                message = f"branch {name} is being made or deleted, or somebody died over it: delete it to end that"
                notes.find("I22", spot, message, level=Level.INFO, path=context.paths.branch_mark(name))
                continue
            try:
                survey.context = context.on_branch(name)
            except BranchNotFound:
                notes.incomplete = True
                notes.find("I22", spot, f"branch {name} has no schema: it is half made or half deleted")
                continue
            check_branch(survey)
    survey.context = context
    list_garbage(survey, here)
    return notes.report()


def check_root(name: str, storage: Storage, root: str, *, deep: bool = False) -> Report:
    """Check the table ``name`` at ``root``, whose latest schema may be bad: then under the newest one that is not.

    Raises TableNotFound where there is no schema, and what reading the last one raises when none can be read.
    """
    schemas = SchemaStore(storage, TablePaths(root))
    failed: PaimonError = TableNotFound(f"no table {name} at {root}: it has no schema", table=name)
    for schema_id in reversed(schemas.ids()):
        try:
            return check(TableContext.of(name, storage, root, schemas.read(schema_id)), deep=deep)
        except PaimonError as error:
            failed = error
    raise failed
