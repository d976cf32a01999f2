"""Audits before publishing: audit a table with a prepared commit, and publish the commit only if the audit passes.

When the audit fails, the table does not change, and the files and the draft of the commit are deleted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from paimon_core.errors import CommitConflict, PaimonError
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.view import TableView
from paimon_core.table.writes.prepared import Prepared
from paimon_lake.protocol import AuditFailed

Audit = Callable[[TableView], Sequence[str]]
"""Returns the problems of a prepared table, one sentence each; an empty sequence when it may be published."""
_TRIES = 3


def audit_and_publish(prepared: Prepared, name: str, audit: Audit) -> Snapshot:
    """Publish a prepared commit if the audit passes; after a concurrent commit, audit again on the new base.

    Raises AuditFailed when the audit finds problems, and CommitConflict after several conflicts; both discard the
    prepared commit.
    """
    for tries_left in reversed(range(_TRIES)):
        _check(prepared, name, audit)
        try:
            return prepared.publish()
        except CommitConflict:
            if not tries_left:
                _discard(prepared)
                raise
            prepared = prepared.again()
    raise AssertionError


def _check(prepared: Prepared, name: str, audit: Audit) -> None:
    try:
        refuse(audit(prepared.table), name)
    except BaseException:
        _discard(prepared)
        raise


def refuse(problems: Sequence[str], name: str) -> None:
    """Raise AuditFailed when the audit of a table found problems."""
    if problems:
        raise AuditFailed(f"{name} was not changed, because the audit of the new content failed: {'; '.join(problems)}")


def _discard(prepared: Prepared) -> None:
    with contextlib.suppress(PaimonError):  # files that remain are orphans
        prepared.discard()
