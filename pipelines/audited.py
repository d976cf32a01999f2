"""Audited writes: rows are written and prepared, audited as readers would see them, and only then published.

A failing audit leaves the table as it was: the rows and their draft are taken back.
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
"""What is wrong with a table as it is about to be, a sentence each; nothing when it may be published."""
_TRIES = 3


def write_audited(
    frame: DataFrame, table: Table, audit: Audit, *, user: str, identifier: int, properties: Mapping[str, str]
) -> Snapshot | None:
    """Replace the partitions of the rows by them, once for (user, identifier), if the audit finds nothing wrong.

    When others commit meanwhile the audit is made again. Raises AuditFailed, CommitConflict when others win every race.
    """
    messages = write_messages(frame, table, overwrites=True)
    try:
        prepared = table.prepare_messages(
            messages, overwrite=True, user=user, identifier=identifier, properties=properties
        )
        return None if prepared is None else _published(prepared, table.name, audit)
    except InvalidRequest:
        # The same load, elsewhere, was faster; the files written here are orphans.
        if (landed := table.committed(user, identifier)) is None:
            raise
        return landed


def _published(prepared: Prepared, name: str, audit: Audit) -> Snapshot:
    for tries_left in reversed(range(_TRIES)):
        _refuse(prepared, name, audit)
        try:
            return prepared.publish()
        except CommitConflict:
            if not tries_left:
                _take_back(prepared)
                raise
            prepared = prepared.again()
    raise AssertionError


def _refuse(prepared: Prepared, name: str, audit: Audit) -> None:
    try:
        wrong = audit(prepared.table)
    except BaseException:
        _take_back(prepared)
        raise
    if wrong:
        _take_back(prepared)
        raise AuditFailed(f"{name} stays as it was, the audit of what was to be published failed: {'; '.join(wrong)}")


def _take_back(prepared: Prepared) -> None:
    with contextlib.suppress(PaimonError):  # what stays is an orphan
        prepared.discard()
