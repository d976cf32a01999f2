"""CommitRequest: the user, identifier, properties and watermark of one commit, checked before anything is written.

``Committed`` is the result of a commit, for the steps that follow it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paimon_core.commit.author import Author
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.exactly_once import NOTHING_SEARCHED, OwnSnapshots, check_ascending, find_own, newest_of
from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.read_set import Reads
from paimon_core.errors import CommitConflict, InvalidRequest, PaimonError, TableNotFound, shown
from paimon_core.limits import PROPERTIES_BYTES, USER_BYTES, check_limit
from paimon_core.metadata.abort import abort, abort_changelog
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import BASE, BATCH_IDENTIFIER, Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.write.staging import written_again

_NOT_IN_A_USER = re.compile(r"[/\\\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Committed:
    """A commit that succeeded; ``writes.after_commit`` has the steps that follow it."""

    context: TableContext
    """The table with the schema of the commit."""
    snapshot: Snapshot
    """The last snapshot of the commit."""
    written: frozenset[tuple[bytes, int]] | None = None
    """The (partition, bucket) pairs that got rows, and that may need a compaction; None: no compaction follows."""


@dataclass
class CommitRequest:
    """One requested commit; ``identifier`` is BATCH_IDENTIFIER when the caller gave no identifier."""

    context: TableContext
    user: str
    identifier: int
    properties: Mapping[str, str]
    watermark: int | None = None
    named: bool = True
    """Whether the caller chose the user; otherwise the user is a random name, created for this commit."""
    own: OwnSnapshots = field(default=NOTHING_SEARCHED, compare=False)
    """The snapshots of this (user, identifier) that ``committed_snapshot`` found; the commit searches newer snapshots
    only."""

    @staticmethod
    def of(
        context: TableContext,
        user: str | None,
        identifier: int | None,
        properties: Mapping[str, str] | None,
        watermark: int | None = None,
        *,
        ends_input: bool = True,
    ) -> CommitRequest:
        """Check the arguments and return the request.

        ``ends_input``: the call is a batch write, for which option ``end-input.watermark`` replaces a ``watermark``
        that is None. Raises InvalidRequest for a wrong argument, UnsupportedFeature for a table that this library
        cannot write.
        """
        context.options.check_writable(context.name)
        check_same_table(context)
        if user is not None:
            _check_user(user)
        if identifier is not None:
            if user is None:
                raise InvalidRequest("an identifier needs a user: pass user too", identifier=identifier)
            if not _is_whole(identifier) or not 0 <= identifier < BATCH_IDENTIFIER:
                raise InvalidRequest(
                    f"identifier {shown(identifier, 60)} is not a whole number from 0 to {BATCH_IDENTIFIER - 1}",
                    identifier=identifier,
                )
        if properties is not None and not isinstance(properties, Mapping):
            raise InvalidRequest(f"snapshot properties must map texts to texts, not {properties!r:.60}")
        for key, value in (properties or {}).items():
            if not _is_text(key) or not _is_text(value):
                raise InvalidRequest(f"snapshot property {key!r} = {value!r} must be text on both sides", key=key)
            if key == BASE:
                raise InvalidRequest(f"snapshot property {key!r} is set by the commit itself", key=key)
        check_limit("the text of the snapshot properties", _json_bytes(properties or {}), PROPERTIES_BYTES, "bytes")
        if watermark is not None and (not _is_whole(watermark) or not -(2**63) <= watermark < 2**63):
            raise InvalidRequest(f"watermark {shown(watermark, 60)} is not a whole number of epoch milliseconds")
        if watermark is None and ends_input:
            watermark = context.options["end-input.watermark"]
        prefix = context.options["commit.user-prefix"]
        random_user = (f"{prefix}_" if prefix else "") + str(uuid.uuid4())
        _check_user(random_user)
        number = BATCH_IDENTIFIER if identifier is None else identifier
        return CommitRequest(
            context, user or random_user, number, dict(properties or {}), watermark, named=user is not None
        )

    @property
    def counts(self) -> bool:
        """Whether the commit has an identifier: it then happens exactly once for its (user, identifier)."""
        return self.identifier != BATCH_IDENTIFIER

    def committed_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot that this (user, identifier) has committed before; None when there is none.

        Expired snapshots are not found. Raises InvalidRequest when the user has committed a higher identifier instead.
        """
        if not self.counts:
            return None
        self.own = find_own(self.context, self.user, self.identifier, self.context.snapshots.latest(), self.own)
        check_ascending(self.context, self.user, self.identifier, self.own)
        return self.own.found[0] if self.own.found else None

    def newest(self) -> Snapshot | None:
        """Return the newest snapshot of this user that has an identifier; None when the user has no such snapshot."""
        return newest_of(self.context, self.user)

    def commit(
        self,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        fresh: bool = False,
        reads: Reads | None = None,
    ) -> Snapshot | None:
        """Commit the messages and return the last snapshot of the commit; None when the messages change nothing.

        ``fresh``: the caller has just written the files of the messages. ``reads``: the rows that the messages were
        computed from. A commit that fails deletes no file of the messages, because the caller may commit the messages
        later. A commit that succeeds deletes the files of the messages that it had to rewrite with higher sequence
        numbers. Raises CommitConflict when a concurrent commit conflicts, CommitStateUnknown when the outcome is
        unknown, InvalidRequest and UnsupportedFeature for messages and options that do not fit, and TableNotFound when
        the table was dropped or re-created.
        """
        if overwrite is not None and not isinstance(overwrite, Overwrite):
            raise InvalidRequest(f"overwrite must be an Overwrite, not {overwrite!r:.60}")
        options = self.context.options
        empty_too = not options["snapshot.ignore-empty-commit"] or (
            self.counts and options["commit.force-create-snapshot"]
        )
        changes = changes_of(messages, overwrite, keep_empty=empty_too)
        author = self.author(operation)
        snapshots = commit_changes(changes, self.context, author, overwrite, fresh=fresh, reads=reads, own=self.own)
        if changes and not snapshots and self.counts:
            self.committed_snapshot()
        return snapshots[-1] if snapshots else None

    def commit_own(
        self,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        reads: Reads | None = None,
    ) -> Snapshot | None:
        """Do ``commit`` for messages whose files the caller has just written and that no other process knows.

        The files of the messages are deleted when the commit is refused (CommitConflict, InvalidRequest, TableNotFound)
        and none of its snapshots was committed. A successful overwrite deletes the changelog files of the messages,
        because an overwrite has no changelog.
        """
        committed = self.complete(messages, overwrite, operation, reads=reads)
        return None if committed is None else committed.snapshot

    def complete(
        self,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        reads: Reads | None = None,
    ) -> Committed | None:
        """Do ``commit_own``, and return the snapshot and the buckets that got rows; None when nothing was committed.

        In a table with ``bucket = -2``, a concurrent commit may give a partition another number of buckets. Then the
        rows are written again for the new number, unless they were computed from rows of the table (``reads``).
        """
        for left in reversed(range(1 + self.context.options["commit.max-retries"])):
            try:
                snapshot = self.commit(messages, overwrite, operation, fresh=True, reads=reads)
                break
            except (CommitConflict, InvalidRequest, TableNotFound) as error:
                if "committed" in error.facts:
                    raise
                again: Sequence[CommitMessage] | None = None
                try:
                    if left and reads is None and self._may_place_again(error, messages):
                        again = written_again(self.context, messages, overwrites=overwrite is not None)
                finally:
                    abort(messages, self.context)
                if again is None:
                    raise
                messages = again
        if overwrite is not None:
            abort_changelog(messages, self.context)
        if snapshot is None:
            return None
        return Committed(self.context, snapshot, frozenset((m.partition, m.bucket) for m in messages))

    def _may_place_again(self, error: PaimonError, messages: Sequence[CommitMessage]) -> bool:
        """Whether the number of buckets is outdated, the table has ``bucket = -2``, and no message has a compaction."""
        return (
            "buckets" in error.facts
            and self.context.is_postponed
            and not any(m.compact_before or m.compact_after for m in messages)
        )

    def author(self, operation: str | None = None) -> Author:
        """Return the values that the snapshot records about its commit: user, identifier, properties, watermark,
        operation.
        """
        return Author(self.user, self.identifier, self.properties, self.watermark, operation)


def _check_user(user: object) -> None:
    if not isinstance(user, str) or not _is_text(user) or not user.strip():
        raise InvalidRequest(f"a commit user must be text that is not blank, not {user!r:.80}", user=user)
    if found := _NOT_IN_A_USER.search(user):
        raise InvalidRequest(
            f"a commit user becomes a part of file names and must not contain '/', '\\' or a control character: "
            f"{user!r:.80} has one at position {found.start()}",
            user=user,
        )
    if len(user.encode()) > USER_BYTES:
        raise InvalidRequest(
            f"commit user {user!r:.40} is {len(user.encode())} bytes long, the limit is {USER_BYTES}", user=user
        )


def _json_bytes(texts: Mapping[str, str]) -> int:
    return len(json.dumps(dict(texts), indent=2, ensure_ascii=False).encode()) if texts else 0


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    """Whether the value is a text without lone surrogates, which can be stored as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)
