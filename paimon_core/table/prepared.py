"""Prepared: rows that are written and not yet published; what they will look like can be checked first.

The files lie in their buckets, and real manifests make a draft of the next snapshot, but no snapshot file names them.
A view pinned to that draft reads them through the ordinary scan, so a check sees exactly what will be published: not
the rows alone but the table with them in it. Publishing creates that one file. A crash anywhere leaves the table as it
was, or with the published state; what nobody publishes is removed as orphans are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from paimon_core.commit.abort import abort, abort_changelog
from paimon_core.commit.assembly import Assembly, time_after
from paimon_core.commit.base import Base
from paimon_core.commit.chain import misfit
from paimon_core.commit.changes import changes_of
from paimon_core.commit.draft import Draft
from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.publish import publish
from paimon_core.errors import (
    CommitConflict,
    CommitStateUnknown,
    InvalidRequest,
    SnapshotNotFound,
    TableNotFound,
)
from paimon_core.maintain.references import references
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest import LOOKS, of_latest
from paimon_core.metadata.presence import check_same_table
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.wire import pack, unpacked
from paimon_core.predicate import Predicate
from paimon_core.predicate import from_json as predicate_from_json
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.message_check import check_messages
from paimon_core.table.view import TableView

if TYPE_CHECKING:
    from paimon_core.table.writing import TableWrites

PREPARED_VERSION = 2


@dataclass
class Prepared:
    """One commit, all but published; travels to other processes by ``to_bytes`` and ``Table.prepared``."""

    _table: TableWrites
    messages: tuple[CommitMessage, ...]
    snapshot: Snapshot
    """The draft: what will be published, but for its time."""
    base: Snapshot | None
    """What it was made on, and what a check of the draft was made against; None for a table never written."""
    overwrites: bool = False
    where: Predicate | None = None
    draft_names: tuple[str, ...] = ()
    """The manifests and lists of the draft."""
    written: tuple[CommitMessage, ...] = ()
    """Files of the draft that hold rows of ``messages`` under higher sequence numbers, see ``commit.numbering``."""
    replaced: tuple[CommitMessage, ...] = ()
    """The files to delete after the publish, see ``Numbering.replaced``. Bytes do not carry them: then the removal of
    orphans takes those files."""
    sent: tuple[int, str] | None = None
    """The id and uuid of a publish whose outcome is not known: nothing of it may be deleted while it may arrive."""

    @cached_property
    def table(self) -> TableView:
        """The table as it will be once this is published: every read works, none is seen by others.

        Reads fail with SnapshotNotFound once others have expired files that the draft is built on.
        """
        return TableView(self._table.context, self.snapshot)

    def publish(self, *, rebase: bool = False) -> Snapshot:
        """Make visible exactly what ``table`` shows; the snapshot, also of a publish that was found to have happened.

        When others committed meanwhile, what was checked is not what would come out: CommitConflict, and ``again``
        makes a new draft to check. With ``rebase`` rows that are only added are committed on top of the others'
        instead, with the checks of any commit, and unchecked by you. Raises CommitStateUnknown (nothing was deleted:
        publish again), CommitConflict also when files are gone, UnsupportedFeature.
        """
        if (landed := self._landed()) is not None:
            return self._table.settle(landed)
        context = self._table.context
        if self._is_on_latest() and _schema_id(context) == self.snapshot.schema_id:
            self._check_whole()
            snapshot = replace(self.snapshot, time_millis=time_after(self.base))
            if self._offer(snapshot):
                abort(self.replaced, context)
                return self._done(snapshot)
        return self._done(self._rebased() if rebase else self._refuse_moved())

    def again(self) -> Prepared:
        """The same rows on the table's latest snapshot, as a new draft; raises CommitConflict where they cannot be."""
        self._refuse_published("prepare it again")
        check_messages(self.messages, self._table.context)
        table = replace(self._table, context=self._table.refresh().context)
        made = prepare(table, self._request(), self.messages, overwrites=self.overwrites, where=self.where)
        assert made is not None
        self._drop_draft()
        return replace(made, sent=self.sent)

    def discard(self) -> None:
        """Delete the rows' files and the draft.

        Raises InvalidRequest once it is published, also when that snapshot has expired since; CommitStateUnknown while
        a publish may still arrive; CorruptTable, PlanOutdated when it cannot be known whether the files are in use.
        """
        self._refuse_published("discard it")
        if self.sent is not None and not self._table.context.snapshots.exists(self.sent[0]):
            raise CommitStateUnknown(
                f"table {self._table.name}: a publish of snapshot {self.sent[0]} was sent and may still arrive: "
                "nothing was deleted; publish again, or leave the files to the removal of orphans",
                table=self._table.name,
                snapshot=self.sent[0],
                uuid=self.sent[1],
            )
        self.sent = None
        abort(self.messages, self._table.context)
        self._drop_draft()

    def to_bytes(self) -> bytes:
        """Versioned JSON, for another process to check and publish; callbacks stay behind."""
        return pack(
            PREPARED_VERSION,
            {
                "table": self._table.name,
                "root": self._table.location,
                "branch": self._table.context.branch,
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
    def from_bytes(data: bytes, table: TableWrites) -> Prepared:
        """The inverse of ``to_bytes``, see ``Table.prepared``.

        Raises InvalidRequest for other bytes and for those of another table, UnsupportedFeature for a newer version.
        """
        with unpacked(data, "prepared commit", PREPARED_VERSION) as value:
            found = (value["table"], value["root"], value["branch"])
            if found != (table.name, table.location, table.context.branch):
                raise InvalidRequest(
                    f"what was prepared for table {found[0]} at {found[1]}, branch {found[2]}, is not of table "
                    f"{table.name} at {table.location}, branch {table.context.branch}",
                    table=table.name,
                )
            return Prepared(
                table,
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
        made = self.snapshot
        return CommitRequest(
            self._table.context, made.commit_user, made.commit_identifier, made.properties, made.watermark
        )

    def _landed(self) -> Snapshot | None:
        """Our snapshot, wherever it was published: by its uuid, or by its (user, identifier)."""
        check_same_table(self._table.context)
        for snapshot_id, uuid in {(self.snapshot.id, self.snapshot.uuid), self.sent or (0, "")} - {(0, "")}:
            with contextlib.suppress(SnapshotNotFound):
                there = self._table.context.snapshots.read(snapshot_id)
                if there.uuid == uuid:
                    return there
        return self._request().landed(above=self._base_id)

    def _is_on_latest(self) -> bool:
        """Whether the base is the latest snapshot, and nothing but a gap in the ids speaks against building on it."""
        context = self._table.context
        is_latest = context.snapshots.latest() == self.base
        return is_latest and (self.base is None or misfit(context, self.base, tried=LOOKS) is None)

    @property
    def _base_id(self) -> int:
        return 0 if self.base is None else self.base.id

    def _refuse_published(self, what: str) -> None:
        if (landed := self._landed()) is not None:
            raise InvalidRequest(
                f"table {self._table.name}: this is published as snapshot {landed.id}: cannot {what}",
                table=self._table.name,
                snapshot=landed.id,
            )
        if self._may_have_expired():
            names = {*self.draft_names, *_new_files(self.messages), *_new_files(self.written)}
            if used := sorted(references(self._table.context, names).names & names):
                raise InvalidRequest(
                    f"table {self._table.name}: this was published, and the table uses its file {used[0]}, although "
                    f"the snapshot has expired or was rolled back: cannot {what}",
                    table=self._table.name,
                    file=used[0],
                )

    def _may_have_expired(self) -> bool:
        """Whether our snapshot may have come and gone: not all after the base are there, or branches have some."""
        context = self._table.context
        ids = context.snapshots.ids()
        all_there = ids[0] <= self._base_id + 1 if ids else self.base is None
        return not all_there or bool(context.branches.names())

    def _check_whole(self) -> None:
        """A removal of orphans takes old files that nothing names: all must still be there to be named."""
        context = self._table.context
        check_messages([*self.messages, *self.written], context)
        there = {entry.name for entry in context.storage.list(context.paths.manifest_directory)}
        if gone := sorted(set(self.draft_names) - there):
            raise CommitConflict(
                f"table {self._table.name}: manifest {gone[0]} of the draft is gone, as after a removal of orphans: "
                "prepare it again and check that",
                table=self._table.name,
                file=gone[0],
            )

    def _offer(self, snapshot: Snapshot) -> bool:
        with self._noting_what_is_sent():
            return publish(Base(self._table.context, self.base), snapshot)

    @contextlib.contextmanager
    def _noting_what_is_sent(self) -> Iterator[None]:
        try:
            yield
        except CommitStateUnknown as error:
            self.sent = (error.facts["snapshot"], error.facts["uuid"])
            raise

    def _refuse_moved(self) -> Snapshot:
        latest = self._table.context.snapshots.latest()
        by = "" if latest is None else f": snapshot {latest.id} is of user {latest.commit_user} ({latest.commit_kind})"
        raise CommitConflict(
            f"table {self._table.name} moved since this was prepared on snapshot {self._base_id}{by}; what you checked "
            "is not what would come out: check again() and publish that, or publish(rebase=True) rows that only add",
            table=self._table.name,
            snapshot=self._base_id,
        )

    def _rebased(self) -> Snapshot:
        context = self._table.context
        if self.overwrites or self.snapshot.commit_kind is not CommitKind.APPEND:
            raise InvalidRequest(
                f"table {self._table.name}: a prepared {self.snapshot.commit_kind} is not rebased, for it replaces "
                "what it has read: check again() and publish that",
                table=self._table.name,
            )
        check_messages(self.messages, context)
        with self._noting_what_is_sent():
            done = self._request().commit(self.messages, operation=self.snapshot.operation)
        assert done is not None
        self._drop_draft()
        return done

    def _done(self, snapshot: Snapshot) -> Snapshot:
        if self.overwrites:
            abort_changelog(self.messages, self._table.context)
        return self._table.settle(snapshot)

    def _drop_draft(self) -> None:
        """Delete the draft's manifests and files, unless a publish of it may still arrive."""
        if self.sent is None:
            Draft(self._table.context, list(self.draft_names)).discard()
            abort(self.written, self._table.context)


def prepare(
    table: TableWrites,
    request: CommitRequest,
    messages: Sequence[CommitMessage],
    *,
    overwrites: bool = False,
    where: Predicate | None = None,
    own: bool = False,
) -> Prepared | None:
    """Write the draft of the snapshot that the messages make on the latest one; None when they change nothing.

    ``own``: the caller has just written the messages' files, which are deleted when this fails. Raises InvalidRequest
    for messages that make two snapshots and for an identifier that has been committed, CommitConflict, TableNotFound.
    """
    overwrite = table.overwrite_spec(where) if overwrites else None

    def on(latest: Snapshot | None) -> Prepared | None:
        refuse_landed(request)  # with all up to the base looked at
        return _prepare(table, _counted(request), Base(request.context, latest), messages, overwrite, where)

    try:
        return of_latest(request.context.snapshots, on)
    except (CommitConflict, InvalidRequest, TableNotFound):
        if own:
            abort(messages, request.context)
        raise


def _new_files(messages: Sequence[CommitMessage]) -> Iterator[str]:
    """The names of the files that the messages bring."""
    for message in messages:
        kept = {f.file_name for f in message.compact_before}
        yield from (f.file_name for f in message.compact_after if f.file_name not in kept)
        for file in (*message.new_files, *message.changelog_files, *message.compact_changelog):
            yield file.file_name


def refuse_landed(request: CommitRequest) -> None:
    """Raises InvalidRequest when the (user, identifier) has been committed, or a higher one has."""
    if request.landed() is not None:
        raise InvalidRequest(
            f"user {request.user!r} has committed identifier {request.identifier} to {request.context.name} already",
            user=request.user,
            identifier=request.identifier,
        )


def _prepare(
    table: TableWrites,
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
            f"table {context.name}: messages with rows and a compaction make two snapshots, and one is prepared at a "
            "time: prepare the rows first",
            table=context.name,
        )
    draft = Draft(context)
    assembly = Assembly(context, request.author(), overwrite)
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
        table,
        tuple(messages),
        snapshot,
        base.snapshot,
        overwrite is not None,
        where,
        tuple(draft.names),
        numbering.written,
        numbering.replaced,
    )


def _counted(request: CommitRequest) -> CommitRequest:
    """A commit by nobody in particular gets a number, so that it can be found again and happens once."""
    return request if request.counts or request.named else replace(request, identifier=0)


def _schema_id(context: TableContext) -> int | None:
    latest = context.schemas.latest()
    return None if latest is None else latest.id
