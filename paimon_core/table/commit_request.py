"""CommitRequest: who commits, under which number, with which properties; checked before anything is written."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_core.commit.abort import abort, abort_changelog
from paimon_core.commit.committer import commit
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CommitConflict, InvalidRequest, SnapshotNotFound, TableNotFound
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.schema_store import SchemaStore
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, Snapshot


@dataclass(frozen=True)
class CommitRequest:
    """One commit to be; ``identifier`` is BATCH_IDENTIFIER for a commit that is not counted."""

    context: TableContext
    user: str
    identifier: int
    properties: Mapping[str, str]

    @staticmethod
    def of(
        context: TableContext, user: str | None, identifier: int | None, properties: Mapping[str, str] | None
    ) -> CommitRequest:
        """Check a caller's words; raises InvalidRequest, UnsupportedFeature for a table that is not written here."""
        context.options.check_writable(context.name)
        _check_schema(context)
        if user is not None and (not _is_text(user) or not user.strip()):
            raise InvalidRequest(f"a commit user must be text that is not blank, not {user!r}", user=user)
        if identifier is not None:
            if user is None:
                raise InvalidRequest("an identifier needs the user whose commits it counts", identifier=identifier)
            whole = isinstance(identifier, int) and not isinstance(identifier, bool)
            if not whole or not 0 <= identifier < BATCH_IDENTIFIER:
                raise InvalidRequest(
                    f"identifier {identifier!r} is not a whole number from 0 to {BATCH_IDENTIFIER - 1}",
                    identifier=identifier,
                )
        for key, value in (properties or {}).items():
            if not _is_text(key) or not _is_text(value):
                raise InvalidRequest(f"snapshot property {key!r} = {value!r} must be text on both sides", key=key)
        prefix = context.options["commit.user-prefix"]
        random_user = (f"{prefix}_" if prefix else "") + str(uuid.uuid4())
        number = BATCH_IDENTIFIER if identifier is None else identifier
        return CommitRequest(context, user or random_user, number, dict(properties or {}))

    def landed(self) -> Snapshot | None:
        """The snapshot that this (user, identifier) has made before; None for one that is still to be made.

        It is known as long as the snapshot has not expired. Raises InvalidRequest when the user has gone past the
        identifier without making it.
        """
        if self.identifier == BATCH_IDENTIFIER:
            return None
        snapshots = self.context.snapshots
        for snapshot_id in reversed(snapshots.ids()):
            try:
                snapshot = snapshots.read(snapshot_id)
            except SnapshotNotFound:
                break  # expired meanwhile, and all older ones with it
            if snapshot.commit_user != self.user or snapshot.commit_identifier > BATCH_IDENTIFIER - 1:
                continue
            if snapshot.commit_identifier == self.identifier:
                return snapshot
            if snapshot.commit_identifier > self.identifier:
                self._refuse_overtaken(snapshot.commit_identifier)
            break
        return None

    def _refuse_overtaken(self, newest: int) -> None:
        raise InvalidRequest(
            f"user {self.user!r} has committed identifier {newest} to {self.context.name}: identifier "
            f"{self.identifier} comes too late, for the identifiers of a user ascend",
            user=self.user,
            identifier=self.identifier,
        )

    def commit(
        self, messages: Sequence[CommitMessage], overwrite: Overwrite | None = None, operation: str | None = None
    ) -> Snapshot | None:
        """Make the messages visible; the last snapshot of it, None when they change nothing.

        No file is deleted, whatever happens: the caller holds the messages and may commit them later. Raises
        CommitConflict, CommitStateUnknown, InvalidRequest, UnsupportedFeature.
        """
        snapshots = commit(
            messages,
            context=self.context,
            user=self.user,
            identifier=self.identifier,
            properties=self.properties,
            overwrite=overwrite,
            operation=operation,
        )
        if not snapshots and self.identifier != BATCH_IDENTIFIER and any(not m.is_empty for m in messages):
            self.landed()
        return snapshots[-1] if snapshots else None

    def commit_own(
        self, messages: Sequence[CommitMessage], overwrite: Overwrite | None = None, operation: str | None = None
    ) -> Snapshot | None:
        """``commit`` of messages that this very call has written and nobody else holds: a refused one deletes them.

        So does an overwrite with the changelog files that it does not take.
        """
        try:
            snapshot = self.commit(messages, overwrite, operation)
        except (CommitConflict, InvalidRequest) as error:
            if "committed" not in error.facts:
                abort(messages, self.context)
            raise
        if overwrite is not None:
            abort_changelog(messages, self.context)
        return snapshot


def _check_schema(context: TableContext) -> None:
    """A handle outlives its table: rows must not go to another one of the same name."""
    stored = SchemaStore(context.storage, context.paths)
    latest = stored.latest()
    if latest is None:
        raise TableNotFound(f"table {context.name} was dropped", table=context.name)
    # The usual handle is at the latest schema: then nothing more is listed or read.
    if latest != context.schema and (
        context.schema.id not in stored.ids() or stored.read(context.schema.id) != context.schema
    ):
        raise InvalidRequest(f"table {context.name} was dropped and made anew: open it again", table=context.name)


def _is_text(value: object) -> bool:
    """Text that can be stored: a lone surrogate is none."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)
