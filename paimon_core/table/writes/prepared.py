"""Prepared: a commit whose rows are written and not yet published, so that the result can be checked first.

The data files are in their buckets, and the manifests of the next snapshot (the draft) are written. No snapshot file
references them. A view pinned to the draft reads the whole table as it will be after the publish, with an ordinary
scan. The publish creates the snapshot file. After a crash at any point, the table has either the state before or the
published state. The files of a draft that is never published are orphans.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from paimon_core.commit.assembly import Assembly, time_after
from paimon_core.commit.base import Base
from paimon_core.commit.changes import changes_of
from paimon_core.commit.draft import Draft
from paimon_core.commit.exactly_once import OwnSnapshots
from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.publishing.publish import publish
from paimon_core.commit.snapshot_chain import chain_break
from paimon_core.display import Displayed, Summary
from paimon_core.errors import CommitConflict, CommitStateUnknown, InvalidRequest, SnapshotNotFound, TableNotFound
from paimon_core.maintain.references.used_files import references
from paimon_core.metadata.abort import abort, abort_changelog
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.table_identity import check_same_table, refreshed
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.predicate import Predicate
from paimon_core.predicate import from_json as predicate_from_json
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.summaries import prepared_summary
from paimon_core.table.view import TableView
from paimon_core.table.writes.message_check import check_messages
from paimon_core.table.writes.overwrite_target import overwrite_target

Settle = Callable[[TableContext, Snapshot], Snapshot]
"""Runs callbacks and maintenance after the publish, and returns the snapshot."""
PREPARED_VERSION = 2


@dataclass(repr=False)
class Prepared(Displayed):
    """One commit that is not yet published; ``to_bytes`` and ``Table.prepared`` transfer it to another process."""

    _context: TableContext
    _settle: Settle
    messages: tuple[CommitMessage, ...]
    snapshot: Snapshot
    """The draft: the snapshot that will be published, except for its time."""
    base: Snapshot | None
    """The snapshot that the draft is built on; None for a table without snapshots."""
    overwrites: bool = False
    where: Predicate | None = None
    draft_names: tuple[str, ...] = ()
    """The names of the draft's manifests and manifest lists."""
    written: tuple[CommitMessage, ...] = ()
    """Messages whose files replace files of ``messages``: with the same rows and higher sequence numbers."""
    replaced: tuple[CommitMessage, ...] = ()
    """The files to delete after a publish by this process; a publish by another process leaves them as orphans."""
    sent: tuple[int, str] | None = None
    """The snapshot id and uuid of a publish that may still succeed (outcome unknown): the files are kept."""

    def _summary(self) -> Summary:
        return prepared_summary(self._context, self.snapshot, self.messages)

    @cached_property
    def table(self) -> TableView:
        """The table as it will be after the publish, for reads in this process only.

        The view has the schema of the draft, which may be newer than the schema of the handle. Reads raise
        SnapshotNotFound when an expiry has deleted files that the draft is built on.
        """
        context, schema_id = self._context, self.snapshot.schema_id
        if schema_id != context.schema.id:
            context = context.with_schema(context.schemas.read(schema_id))
        return TableView(context, self.snapshot)

    def publish(self, *, rebase: bool = False) -> Snapshot:
        """Publish exactly the rows that ``table`` shows; return the snapshot, even if an earlier call has published it.

        Raises CommitConflict after a concurrent commit, because the published table would differ from the draft that
        the caller has checked; ``again`` then creates a new draft to check. With ``rebase``, a commit that only adds
        rows is then published on the new latest snapshot, which the caller has not checked; for any other commit,
        InvalidRequest is raised. Also raises CommitConflict for missing files, CommitStateUnknown (nothing was deleted:
        publish again), UnsupportedFeature.
        """
        if (published := self._published_snapshot()) is not None:
            return self._settle(self._context, published)
        context = self._context
        if self._is_on_latest() and _schema_id(context) == self.snapshot.schema_id:
            self._check_files_exist()
            snapshot = replace(self.snapshot, time_millis=time_after(self.base))
            if self._publish(snapshot):
                abort(self.replaced, context)
                return self._after_publish(snapshot)
        return self._after_publish(self._rebase() if rebase else self._refuse_changed_table())

    def again(self) -> Prepared:
        """Prepare the same rows on the latest snapshot and drop this draft; raises CommitConflict for a conflict."""
        self._refuse_published("prepare it again")
        check_messages(self.messages, self._context)
        request = replace(self._request(), context=refreshed(self._context))
        prepared = prepare(request, self._settle, self.messages, overwrites=self.overwrites, where=self.where)
        assert prepared is not None
        self._drop_draft()
        return replace(prepared, sent=self.sent)

    def discard(self) -> None:
        """Delete the data files and the draft.

        Raises InvalidRequest when the commit was published, even if its snapshot has expired; CommitStateUnknown when a
        publish was sent that may still succeed; CorruptTable or PlanOutdated when it cannot be determined whether the
        files are in use.
        """
        self._refuse_published("discard it")
        if self.sent is not None and not self._context.snapshots.exists(self.sent[0]):
            raise CommitStateUnknown(
                f"table {self._context.name}: a publish of snapshot {self.sent[0]} was sent and may still arrive: "
                "nothing was deleted. Publish again, or leave the files to the removal of orphans",
                table=self._context.name,
                snapshot=self.sent[0],
                uuid=self.sent[1],
            )
        self.sent = None
        abort(self.messages, self._context)
        self._drop_draft()

    def to_bytes(self) -> bytes:
        """Return versioned JSON for ``from_bytes`` in another process; callbacks are not included."""
        return pack(
            PREPARED_VERSION,
            {
                "table": self._context.name,
                "root": self._context.paths.root,
                "branch": self._context.branch,
                "messages": [m.to_bytes().decode() for m in self.messages],
                "snapshot": self.snapshot.to_members(),
                "base": None if self.base is None else self.base.to_members(),
                "overwrites": self.overwrites,
                "where": None if self.where is None else self.where.to_json(),
                "draft_names": self.draft_names,
                "written": [m.to_bytes().decode() for m in self.written],
                "sent": self.sent,
            },
        )

    @staticmethod
    def from_bytes(data: bytes, context: TableContext, settle: Settle) -> Prepared:
        """Return the prepared commit that ``to_bytes`` encoded; see ``Table.prepared``.

        Raises InvalidRequest for invalid bytes and for another table, UnsupportedFeature for another version.
        """
        with unpacked(data, "prepared commit", PREPARED_VERSION) as value:
            found = (value["table"], value["root"], value["branch"])
            if found != (context.name, context.paths.root, context.branch):
                raise InvalidRequest(
                    f"the commit was prepared for table {found[0]} at {found[1]}, branch {found[2]}, not for table "
                    f"{context.name} at {context.paths.root}, branch {context.branch}",
                    table=context.name,
                )
            return Prepared(
                context,
                settle,
                tuple(CommitMessage.from_bytes(m.encode()) for m in value["messages"]),
                Snapshot.from_members(value["snapshot"]),
                None if value["base"] is None else Snapshot.from_members(value["base"]),
                bool(value["overwrites"]),
                None if value["where"] is None else predicate_from_json(value["where"]),
                tuple(value["draft_names"]),
                tuple(CommitMessage.from_bytes(m.encode()) for m in value["written"]),
                sent=None if value["sent"] is None else (int(value["sent"][0]), str(value["sent"][1])),
            )

    # -- steps

    def _request(self) -> CommitRequest:
        """Return the commit request of the draft; only snapshots after the base are searched for a published one."""
        draft, own = self.snapshot, OwnSnapshots(self.base)
        return CommitRequest(
            self._context, draft.commit_user, draft.commit_identifier, draft.properties, draft.watermark, own=own
        )

    def _published_snapshot(self) -> Snapshot | None:
        """Return the published snapshot, found by its uuid or by its (user, identifier); None when it is not found."""
        check_same_table(self._context)
        for snapshot_id, uuid in {(self.snapshot.id, self.snapshot.uuid), self.sent or (0, "")} - {(0, "")}:
            with contextlib.suppress(SnapshotNotFound):
                found = self._context.snapshots.read(snapshot_id)
                if found.uuid == uuid:
                    return found
        return self._request().committed_snapshot()

    def _is_on_latest(self) -> bool:
        """Whether the base is the latest snapshot and is in the snapshot chain; gaps in the ids are accepted."""
        context = self._context
        is_latest = context.snapshots.latest() == self.base
        return is_latest and (self.base is None or chain_break(context, self.base, gaps=False) is None)

    @property
    def _base_id(self) -> int:
        return 0 if self.base is None else self.base.id

    def _refuse_published(self, what: str) -> None:
        if (published := self._published_snapshot()) is not None:
            raise InvalidRequest(
                f"table {self._context.name}: the prepared commit is published as snapshot {published.id}: "
                f"cannot {what}",
                table=self._context.name,
                snapshot=published.id,
            )
        if self._may_have_expired():
            names = {*self.draft_names, *_new_files(self.messages), *_new_files(self.written)}
            if used := sorted(references(self._context, names).names & names):
                raise InvalidRequest(
                    f"table {self._context.name}: the prepared commit was published, and the table uses its file "
                    f"{used[0]}, although the snapshot has expired or was rolled back: cannot {what}",
                    table=self._context.name,
                    file=used[0],
                )

    def _may_have_expired(self) -> bool:
        """Whether the snapshot may have been published although it is not found now.

        This is possible when snapshots after the base are missing, or when the table has branches.
        """
        context = self._context
        ids = context.snapshots.ids()
        none_missing = ids[0] <= self._base_id + 1 if ids else self.base is None
        return not none_missing or bool(context.branches.names())

    def _check_files_exist(self) -> None:
        """Check that all files exist, because a removal of orphans deletes old files that no snapshot references."""
        context = self._context
        check_messages([*self.messages, *self.written], context)
        existing = {entry.name for entry in context.storage.list(context.paths.manifest_directory)}
        if missing := sorted(set(self.draft_names) - existing):
            raise CommitConflict(
                f"table {self._context.name}: manifest {missing[0]} of the draft is missing, for example after a "
                "removal of orphans. Prepare the commit with again(), check it and publish that",
                table=self._context.name,
                file=missing[0],
            )

    def _publish(self, snapshot: Snapshot) -> bool:
        with self._recording_unknown_publish():
            return publish(Base(self._context, self.base), snapshot)

    @contextlib.contextmanager
    def _recording_unknown_publish(self) -> Iterator[None]:
        try:
            yield
        except CommitStateUnknown as error:
            self.sent = (error.facts["snapshot"], error.facts["uuid"])
            raise

    def _refuse_changed_table(self) -> Snapshot:
        latest = self._context.snapshots.latest()
        by = "" if latest is None else f": snapshot {latest.id} is of user {latest.commit_user} ({latest.commit_kind})"
        raise CommitConflict(
            f"table {self._context.name} has changed since the commit was prepared on snapshot {self._base_id}{by}. "
            "The result would differ from what was checked: check again() and publish that, or use "
            "publish(rebase=True) for a commit that only adds rows",
            table=self._context.name,
            snapshot=self._base_id,
        )

    def _rebase(self) -> Snapshot:
        context = self._context
        if self.overwrites or self.snapshot.commit_kind is not CommitKind.APPEND:
            raise InvalidRequest(
                f"table {self._context.name}: a prepared {self.snapshot.commit_kind} cannot be rebased, because it "
                "replaces files of the snapshot it was prepared on: check again() and publish that",
                table=self._context.name,
            )
        check_messages(self.messages, context)
        with self._recording_unknown_publish():
            done = self._request().commit(self.messages, operation=self.snapshot.operation)
        assert done is not None
        self._drop_draft()
        return done

    def _after_publish(self, snapshot: Snapshot) -> Snapshot:
        if self.overwrites:
            abort_changelog(self.messages, self._context)
        return self._settle(self._context, snapshot)

    def _drop_draft(self) -> None:
        """Delete the draft's manifests and renumbered files, unless a publish was sent that may still succeed."""
        if self.sent is None:
            Draft(self._context, list(self.draft_names)).discard()
            abort(self.written, self._context)


def prepare(
    request: CommitRequest,
    settle: Settle,
    messages: Sequence[CommitMessage],
    *,
    overwrites: bool = False,
    where: Predicate | None = None,
    own: bool = False,
) -> Prepared | None:
    """Write the draft that commits the messages on the latest snapshot; None when the messages change nothing.

    ``own``: the caller has just written the messages' files; these files are deleted when this call fails. Raises
    InvalidRequest for messages that need two snapshots and for an identifier that is already committed, CommitConflict
    when a concurrent commit conflicts, TableNotFound when the table was dropped or re-created.
    """
    overwrite = overwrite_target(request.context, where) if overwrites else None

    def on(latest: Snapshot | None) -> Prepared | None:
        check_not_committed(request)  # this checks all snapshots up to the base
        return _prepare(settle, _with_identifier(request), Base(request.context, latest), messages, overwrite, where)

    try:
        return read_latest(request.context.snapshots, on)
    except (CommitConflict, InvalidRequest, TableNotFound):
        if own:
            abort(messages, request.context)
        raise


def _new_files(messages: Sequence[CommitMessage]) -> Iterator[str]:
    """Yield the names of the files that the messages add."""
    for message in messages:
        kept = {name for f in message.compact_before for name in (f.file_name, *f.extra_files)}
        yield from (n for f in message.compact_after for n in (f.file_name, *f.extra_files) if n not in kept)
        for file in (*message.new_files, *message.changelog_files, *message.compact_changelog):
            yield from (file.file_name, *file.extra_files)
        yield from (f.file_name for f in (*message.new_indexes, *message.compact_new_indexes))


def check_not_committed(request: CommitRequest) -> None:
    """Raise InvalidRequest when the user has committed this identifier or a higher one."""
    if request.committed_snapshot() is not None:
        raise InvalidRequest(
            f"user {request.user!r} has already committed identifier {request.identifier} to {request.context.name}",
            user=request.user,
            identifier=request.identifier,
        )


def _prepare(
    settle: Settle,
    request: CommitRequest,
    base: Base,
    messages: Sequence[CommitMessage],
    overwrite: Overwrite | None,
    where: Predicate | None,
) -> Prepared | None:
    context = request.context
    changes = changes_of(messages, overwrite)
    if not changes:
        return None
    if len(changes) > 1:
        raise InvalidRequest(
            f"table {context.name}: messages with rows and a compaction need two snapshots, and only one can be "
            "prepared at a time: prepare the rows first",
            table=context.name,
        )
    draft = Draft(context)
    assembly = Assembly(context, request.author(), overwrite, upgrades=overwrite is not None)
    numbering = assembly.numbering
    try:
        snapshot = assembly.assemble(changes[0], base, draft)
    except BaseException:
        draft.discard()
        numbering.discard()
        raise
    if snapshot is None:
        return None
    return Prepared(
        context,
        settle,
        tuple(messages),
        snapshot,
        base.snapshot,
        overwrite is not None,
        where,
        tuple(draft.names),
        numbering.written,
        numbering.replaced,
    )


def _with_identifier(request: CommitRequest) -> CommitRequest:
    """Return the request; with a random user and no identifier it gets identifier 0, by which its snapshot is found."""
    return request if request.counts or request.named else replace(request, identifier=0)


def _schema_id(context: TableContext) -> int | None:
    latest = context.schemas.latest()
    return None if latest is None else latest.id
