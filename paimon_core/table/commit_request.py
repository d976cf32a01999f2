"""CommitRequest: who commits, under which number, with which properties; checked before anything is written."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paimon_core.commit.abort import abort, abort_changelog
from paimon_core.commit.author import Author
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.read_set import Reads
from paimon_core.commit.snapshot_chain import in_chain
from paimon_core.commit.snapshot_history import newest_first
from paimon_core.errors import CommitConflict, InvalidRequest, TableNotFound
from paimon_core.limits import PROPERTIES_BYTES, check_limit
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import BASE, BATCH_IDENTIFIER, Snapshot
from paimon_core.metadata.table_identity import check_same_table

LONGEST_USER = 200
"""Bytes of a commit user, which Paimon also makes a part of file names."""
_NOT_IN_A_USER = re.compile(r"[/\\\x00-\x1f\x7f]")


@dataclass
class CommitRequest:
    """One commit to be; ``identifier`` is BATCH_IDENTIFIER for a commit that is not counted."""

    context: TableContext
    user: str
    identifier: int
    properties: Mapping[str, str]
    watermark: int | None = None
    named: bool = True
    """Whether the caller chose the user; otherwise it is one of its own, made up for this commit."""
    looked_at: Snapshot | None = field(default=None, compare=False)
    """The snapshot up to which ``landed`` has found none of this (user, identifier)."""

    @staticmethod
    def of(
        context: TableContext,
        user: str | None,
        identifier: int | None,
        properties: Mapping[str, str] | None,
        watermark: int | None = None,
    ) -> CommitRequest:
        """Check a caller's words; raises InvalidRequest, UnsupportedFeature for a table that is not written here."""
        context.options.check_writable(context.name)
        check_same_table(context)
        if user is not None:
            _check_user(user)
        if identifier is not None:
            if user is None:
                raise InvalidRequest("an identifier needs the user whose commits it counts", identifier=identifier)
            if not _is_whole(identifier) or not 0 <= identifier < BATCH_IDENTIFIER:
                raise InvalidRequest(
                    f"identifier {identifier!r} is not a whole number from 0 to {BATCH_IDENTIFIER - 1}",
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
            raise InvalidRequest(f"watermark {watermark!r:.60} is not a whole number of epoch milliseconds")
        prefix = context.options["commit.user-prefix"]
        random_user = (f"{prefix}_" if prefix else "") + str(uuid.uuid4())
        _check_user(random_user)
        number = BATCH_IDENTIFIER if identifier is None else identifier
        return CommitRequest(
            context, user or random_user, number, dict(properties or {}), watermark, named=user is not None
        )

    @property
    def counts(self) -> bool:
        """Whether the commit happens once for its (user, identifier)."""
        return self.identifier != BATCH_IDENTIFIER

    def landed(self, above: int = 0) -> Snapshot | None:
        """The snapshot that this (user, identifier) has made before; None for one that is still to be made.

        It is known as long as the snapshot has not expired. With ``above`` only later snapshots are looked at. Raises
        InvalidRequest when the user has gone past the identifier without making it.
        """
        if not self.counts:
            return None
        newest = self.newest(above)
        if newest is None or newest.commit_identifier < self.identifier:
            return None
        if newest.commit_identifier == self.identifier:
            return newest
        raise InvalidRequest(
            f"user {self.user!r} has committed identifier {newest.commit_identifier} to {self.context.name}: "
            f"identifier {self.identifier} comes too late, for the identifiers of a user ascend",
            user=self.user,
            identifier=self.identifier,
        )

    def newest(self, above: int = 0) -> Snapshot | None:
        """The newest snapshot of this user that has an identifier; None when none is left."""
        latest = self.context.snapshots.latest()
        if latest is None:
            return None
        for snapshot in newest_first(self.context.snapshots, latest.id, above):
            if snapshot.commit_user == self.user and snapshot.commit_identifier < BATCH_IDENTIFIER:
                if in_chain(self.context, snapshot):
                    return snapshot
                break
        self.looked_at = latest if above == 0 else None
        return None

    def commit(
        self,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        fresh: bool = False,
        reads: Reads | None = None,
    ) -> Snapshot | None:
        """Make the messages visible; the last snapshot of it, None when they change nothing.

        ``fresh``: this call has written their files. ``reads``: the rows that it made them from. A commit that fails
        deletes none of their files: the caller has the messages and may commit them later. A commit that succeeds
        deletes the files that it wrote again with higher sequence numbers. Raises CommitConflict, CommitStateUnknown,
        InvalidRequest, UnsupportedFeature, TableNotFound.
        """
        check_same_table(self.context)
        if overwrite is not None and not isinstance(overwrite, Overwrite):
            raise InvalidRequest(f"overwrite must be an Overwrite, not {overwrite!r:.60}")
        options = self.context.options
        empty_too = not options["snapshot.ignore-empty-commit"] or (
            self.counts and options["commit.force-create-snapshot"]
        )
        changes = changes_of(messages, overwrite, keep_empty=empty_too)
        author = self.author(operation)
        snapshots = commit_changes(
            changes, self.context, author, overwrite, fresh=fresh, reads=reads, looked_at=self.looked_at
        )
        if changes and not snapshots and self.counts:
            self.landed()
        return snapshots[-1] if snapshots else None

    def commit_own(
        self,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        reads: Reads | None = None,
    ) -> Snapshot | None:
        """``commit`` of messages that this very call has written and nobody else holds: a refused one deletes them.

        So does an overwrite with the changelog files that it does not take.
        """
        try:
            snapshot = self.commit(messages, overwrite, operation, fresh=True, reads=reads)
        except (CommitConflict, InvalidRequest, TableNotFound) as error:
            if "committed" not in error.facts:
                abort(messages, self.context)
            raise
        if overwrite is not None:
            abort_changelog(messages, self.context)
        return snapshot

    def author(self, operation: str | None = None) -> Author:
        """What the snapshot will say of its maker."""
        return Author(self.user, self.identifier, self.properties, self.watermark, operation)


def _check_user(user: object) -> None:
    if not isinstance(user, str) or not _is_text(user) or not user.strip():
        raise InvalidRequest(f"a commit user must be text that is not blank, not {user!r:.80}", user=user)
    if found := _NOT_IN_A_USER.search(user):
        raise InvalidRequest(
            f"a commit user must have no '/', '\\' or control character, and {user!r:.80} has one at "
            f"{found.start()}: it becomes a part of file names",
            user=user,
        )
    if len(user.encode()) > LONGEST_USER:
        raise InvalidRequest(
            f"commit user {user!r:.40} is {len(user.encode())} bytes long, {LONGEST_USER} is the most", user=user
        )


def _json_bytes(texts: Mapping[str, str]) -> int:
    return len(json.dumps(dict(texts), indent=2, ensure_ascii=False).encode()) if texts else 0


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    """Text that can be stored: a lone surrogate is none."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)
