"""Commit of a load: publish its files under the next load number of its table, after the blocking checks.

Two loads of one table that run at the same time choose the same number. The commit of the second finds that the number
is taken and publishes nothing; its files are deleted, and ``NumberTaken`` asks the caller to read the ledger again.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_lake.checks.prepared_audit import Audit, audit_and_publish, refuse
from paimon_lake.loads.ledger.load_properties import load_user
from paimon_lake.loads.ledger.load_snapshot import ATTEMPT, loads_of
from paimon_lake.loads.replacement import Replace
from paimon_lake.protocol import PipelineError


class NumberTaken(Exception):
    """Nothing was published, because another load has committed the number, the newest load is not the expected one, or
    a concurrent commit conflicts with the buckets that the load chose.
    """


@dataclass(frozen=True)
class LoadCommit:
    """One load to publish: its number, the properties of its snapshot, and the rows that it replaces (``replace``;
    None: no rows).
    """

    number: int
    properties: Mapping[str, str]
    replace: Replace | None = None
    audit: Audit | None = None
    """Checks the table as it will be after the commit; the load is published only if the audit returns no problem."""
    loaded: str = ""
    """The load name of the table, or of a part of it; "" stands for the table."""
    after: int | None = None
    """The number of the load that must still be the newest when this load commits, because this load continues where
    that load ended; None: any load may be the newest.
    """
    listed: Snapshot | None = None
    """A snapshot at which ``after`` was the newest load. While it is the latest snapshot, the snapshots need not be
    listed.
    """


def commit_load(table: Table, messages: Sequence[CommitMessage], load: LoadCommit) -> Snapshot:
    """Publish the messages of files that were written for this load as one commit.

    Raises NumberTaken, AuditFailed when the audit finds a problem, and CommitConflict when concurrent commits prevent
    every attempt; then the files of the messages are deleted. After CommitStateUnknown the files stay.
    """
    user = load_user(load.loaded or table.name)
    if load.after is not None and not _is_newest(table, load):  # after a rollback, or after a concurrent load
        abort(messages, table.context)
        raise NumberTaken
    attempt = str(uuid.uuid4())
    request = CommitRequest.of(table.context, user, load.number, {**load.properties, ATTEMPT: attempt})
    try:
        if load.audit is None:
            snapshot = _complete(table, messages, request, load)
        else:
            snapshot = _audited(table, messages, request, load, load.audit)
    except InvalidRequest:
        if not _is_taken(table, load):
            raise
        snapshot = None
    if snapshot is not None and (snapshot.properties or {}).get(ATTEMPT) == attempt:
        return snapshot
    if snapshot is None and not _is_taken(table, load):
        raise PipelineError(
            f"{table.name}: a load without rows cannot be recorded, because the table does not have the option "
            "commit.force-create-snapshot = true"
        )
    abort(messages, table.context)
    raise NumberTaken


def _audited(
    table: Table, messages: Sequence[CommitMessage], request: CommitRequest, load: LoadCommit, audit: Audit
) -> Snapshot | None:
    replaces = load.replace is not None
    where = None if load.replace is None else load.replace.predicate(table)
    prepared = table.prepare_messages(
        messages,
        overwrite=replaces,
        where=where,
        user=request.user,
        identifier=request.identifier,
        properties=request.properties,
    )
    if prepared is None:  # the load adds and replaces no rows
        refuse(audit(table), table.name)
        return _complete(table, messages, request, load)
    return audit_and_publish(prepared, table.name, audit)


def _complete(
    table: Table, messages: Sequence[CommitMessage], request: CommitRequest, load: LoadCommit
) -> Snapshot | None:
    """Commit the messages; for an overwrite that adds and removes no file, commit an empty append instead."""
    snapshot = table.complete(request, messages, _overwrite(table, load.replace))
    if snapshot is None and load.replace is not None and not _is_taken(table, load):
        snapshot = table.complete(request, [])
    return snapshot


def _overwrite(table: Table, replace: Replace | None) -> Overwrite | None:
    return None if replace is None else table.overwrite_spec(replace.predicate(table))


def _is_taken(table: Table, load: LoadCommit) -> bool:
    return newest_load(table, load.loaded) >= load.number


def _is_newest(table: Table, load: LoadCommit) -> bool:
    is_unchanged = load.listed is not None and table.latest_snapshot() == load.listed
    return is_unchanged or newest_load(table, load.loaded) == load.after


def newest_load(table: Table, loaded: str = "") -> int:
    """Return the number of the newest load of the table, or of the part ``loaded``; 0 before the first load."""
    return max((load.number for load in loads_of(table, loaded)), default=0)
