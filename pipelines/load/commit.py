"""Commit of a load: publish its files under the next number of its table, after the checks that block it.

Two loads of one table that run at the same time choose the same number. The commit of the second finds that the number
is taken and publishes nothing; its files are deleted, and ``NumberTaken`` asks the caller to read the ledger again.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from paimon_core.commit.abort import abort
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CommitConflict, InvalidRequest, PaimonError
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.prepared import Prepared
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from pipelines.load.ledger import ATTEMPT, loads_of, user_of
from pipelines.load.replacement import Replace
from pipelines.protocol import AuditFailed, PipelineError

Audit = Callable[[TableView], Sequence[str]]
"""Returns the problems of the table as it would be published, one sentence each."""
_TRIES = 3


class NumberTaken(Exception):
    """Another load has committed this number: nothing was published."""


@dataclass(frozen=True)
class LoadCommit:
    """One load to publish: its number, its snapshot properties, and what its rows replace (None: nothing)."""

    number: int
    properties: Mapping[str, str]
    replace: Replace | None = None
    audit: Audit | None = None
    """Sees the table as it would be published; nothing is published when it finds a problem."""


def commit_load(table: Table, messages: Sequence[CommitMessage], load: LoadCommit) -> Snapshot:
    """Publish the messages, which this process has just had written, as one load of the table.

    Raises NumberTaken, AuditFailed, and CommitConflict when concurrent commits prevent every try. The files of the
    messages are deleted then; after CommitStateUnknown they stay.
    """
    attempt = str(uuid.uuid4())
    request = CommitRequest.of(table.context, user_of(table.name), load.number, {**load.properties, ATTEMPT: attempt})
    try:
        if load.audit is None:
            snapshot = _complete(table, messages, request, load)
        else:
            snapshot = _audit_and_publish(table, messages, request, load, load.audit)
    except InvalidRequest:
        if not _is_taken(table, load.number):
            raise
        snapshot = None
    if snapshot is not None and (snapshot.properties or {}).get(ATTEMPT) == attempt:
        return snapshot
    if snapshot is None and not _is_taken(table, load.number):
        raise PipelineError(
            f"{table.name}: a load without rows cannot be recorded, because the table does not have the option "
            "commit.force-create-snapshot = true"
        )
    abort(messages, table.context)
    raise NumberTaken


def _audit_and_publish(
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
    if prepared is None:  # a load without rows, which replaces none: the table stays as it is
        _refuse(audit(table), table.name)
        return _complete(table, messages, request, load)
    for tries_left in reversed(range(_TRIES)):
        _check(prepared, table.name, audit)
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
        problems = audit(prepared.table)
    except BaseException:
        _discard(prepared)
        raise
    if problems:
        _discard(prepared)
    _refuse(problems, name)


def _refuse(problems: Sequence[str], name: str) -> None:
    if problems:
        raise AuditFailed(f"{name} was not changed, because a check of the new content failed: {'; '.join(problems)}")


def _complete(
    table: Table, messages: Sequence[CommitMessage], request: CommitRequest, load: LoadCommit
) -> Snapshot | None:
    """Commit the messages; an overwrite that neither adds nor removes a file is recorded by an empty append."""
    snapshot = table.complete(request, messages, _overwrite(table, load.replace))
    if snapshot is None and load.replace is not None and not _is_taken(table, load.number):
        snapshot = table.complete(request, [])
    return snapshot


def _discard(prepared: Prepared) -> None:
    with contextlib.suppress(PaimonError):  # files that remain are orphans
        prepared.discard()


def _overwrite(table: Table, replace: Replace | None) -> Overwrite | None:
    return None if replace is None else table.overwrite_spec(replace.predicate(table))


def _is_taken(table: Table, number: int) -> bool:
    newest = max((load.number for load in loads_of(table)), default=0)
    return newest >= number
