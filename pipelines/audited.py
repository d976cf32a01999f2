"""Audited writes: write and prepare rows, audit the table as readers would see it, and only then publish.

When the audit fails, the table does not change, and the files and the draft of the write are deleted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame

from paimon_core.errors import CommitConflict, InvalidRequest, PaimonError
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.spark.writer import write_messages
from paimon_core.table.prepared import Prepared
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from pipelines.protocol import AuditFailed

Audit = Callable[[TableView], Sequence[str]]
"""Returns the problems of a prepared table, one sentence each; an empty sequence when it may be published."""
_TRIES = 3


def write_audited(
    frame: DataFrame, table: Table, audit: Audit, *, user: str, identifier: int, properties: Mapping[str, str]
) -> Snapshot | None:
    """Replace the partitions of the rows by the rows, exactly once per (user, identifier), if the audit passes.

    After a concurrent commit the audit is repeated. Raises AuditFailed, and CommitConflict when concurrent commits
    prevent every retry.
    """
    messages = write_messages(frame, table, overwrites=True)
    try:
        prepared = table.prepare_messages(
            messages, overwrite=True, user=user, identifier=identifier, properties=properties
        )
        return None if prepared is None else audit_and_publish(prepared, table.name, audit)
    except InvalidRequest:
        # Another process has committed the same load; the files written here are orphans.
        if (committed := table.committed(user, identifier)) is None:
            raise
        return committed


def audit_and_publish(prepared: Prepared, name: str, audit: Audit) -> Snapshot:
    """Publish a prepared commit if the audit passes, which is repeated after a concurrent commit.

    Otherwise the prepared commit is discarded: raises AuditFailed, and CommitConflict after several conflicts.
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
