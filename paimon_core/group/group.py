"""Group: several tables that change in one atomic step for readers of the group (an intent, then a version).

publish   1. the new data files of all tables are written, nothing is visible;
          2. ``intent-N`` is created exclusively: from here on any process that finds it completes the publish;
          3. each table commits its messages exactly once, as the pair (user of the group, N), and tags the snapshot;
          4. ``version-N`` is created exclusively: all tables change for the group's readers at this moment.

A reader of the group opens the tables at the tags of one version. So it sees either the old state of all tables or the
new state of all tables, even when a publish is in progress or its process ended early. A reader that opens a table
directly sees the table's latest snapshot. Only changes that cannot conflict are accepted: appends, upserts, overwrites.
When a commit fails after too many retries, the intent stays, and the next publish, or ``recover``, completes it first.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from paimon_core.argument_checks import whole
from paimon_core.commit.base import Base
from paimon_core.commit.changes import changes_of
from paimon_core.commit.duplicates import added_before
from paimon_core.errors import (
    CommitConflict,
    InvalidRequest,
    NotFound,
    PaimonError,
    TagNotFound,
)
from paimon_core.group.expiry import expire_versions
from paimon_core.group.record import ABANDONED, GroupVersion, Intent, Mode, Part
from paimon_core.group.store import GroupStore
from paimon_core.group.table_commit import check_buckets, commit_part, is_part_committed, number_of, user_of
from paimon_core.limits import TEXT_BYTES, check_limit
from paimon_core.metadata import clock
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import identifier
from paimon_core.storage.storage import Storage
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from paimon_core.table.writes.message_check import check_messages

_TRIES = 20


class Tables(Protocol):
    """The operations of the catalog that a group uses."""

    @property
    def storage(self) -> Storage:
        """The storage of the warehouse."""

    @property
    def warehouse(self) -> str:
        """The root directory of the warehouse."""

    def table(self, name: str) -> Table:
        """Open ``database.table``."""


@dataclass(frozen=True)
class Group:
    """One group of tables of a catalog, identified by its name; raises InvalidRequest for an invalid name."""

    catalog: Tables
    name: str

    def __post_init__(self) -> None:
        identifier(self.name, "group")

    @property
    def store(self) -> GroupStore:
        """The records of the group."""
        storage = confined(self.catalog.storage, self.catalog.warehouse)
        return GroupStore(storage, self.catalog.warehouse, self.name)

    @property
    def user(self) -> str:
        """The commit user of the group's snapshots."""
        return user_of(self.name)

    # -- read

    def versions(self) -> list[GroupVersion]:
        """Return all versions that can be read, oldest first; versions that a rollback has withdrawn are left out."""
        found = self.store.versions()
        withdrawn = _withdrawn(found)
        return [v for v in found if v.number not in withdrawn]

    def latest(self) -> GroupVersion | None:
        """Return the newest version; None before the first publish."""
        return self.store.newest()

    def table(self, name: str, version: int | None = None) -> TableView:
        """Return a view of a table at a version of the group (None: the newest).

        Raises NotFound for a missing version or table, InvalidRequest for a version that was withdrawn or whose tag is
        missing.
        """
        at = self.latest() if version is None else self.store.version(whole("version", version))
        if version is not None:
            self._check_not_withdrawn(version)
        if at is None or name not in at.tables:
            known = ", ".join(at.tables) if at else "nothing was published yet"
            raise NotFound(f"group {self.name} has no table {name!r} ({known})", group=self.name, table=name)
        try:
            return self.catalog.table(name).at(tag=at.tables[name].tag)
        except TagNotFound as error:
            raise InvalidRequest(
                f"version {at.number} of group {self.name} cannot be read any more: the tag "
                f"{at.tables[name].tag!r} of table {name} was deleted, by a rollback or manually",
                group=self.name,
                version=at.number,
            ) from error

    # -- publish

    def publish(
        self,
        parts: Mapping[str, Sequence[CommitMessage]],
        *,
        overwrite: Mapping[str, Mode] | None = None,
        properties: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> GroupVersion:
        """Publish the messages of several tables (by ``database.table``) as the next version.

        ``overwrite`` names the tables whose partitions, or whole content, the messages replace. With a ``token`` the
        publish happens exactly once, even when the call is repeated. When InvalidRequest or CommitConflict is raised
        before the intent exists, nothing is published. When CommitConflict or CommitStateUnknown is raised later, call
        ``recover`` to complete the publish.
        """
        modes = _modes(overwrite)
        if not isinstance(parts, Mapping):
            raise InvalidRequest(f"publish needs a mapping of messages by table, not {parts!r:.60}", group=self.name)
        if token is not None and not (isinstance(token, str) and token):
            raise InvalidRequest(f"token must be a non-empty text, not {token!r:.60}", group=self.name)
        check_limit("the token", len((token or "").encode(errors="surrogatepass")), TEXT_BYTES, "bytes")
        for name in modes.keys() - parts.keys():
            raise InvalidRequest(f"overwrite names table {name}, for which there are no messages", table=name)
        checked = {name: self._part(name, parts[name], modes.get(name, Mode.APPEND)) for name in sorted(parts)}
        if not checked:
            raise InvalidRequest(f"a publish of group {self.name} needs the messages of at least one table")
        self._check_distinct(checked)
        for name in checked:  # a later refusal by a commit would leave an intent that can never be completed
            CommitRequest.of(self.catalog.table(name).context, self.user, None, properties)
        return self._decide(Intent(0, token or str(uuid.uuid4()), checked, dict(properties or {})))

    def publish_snapshots(
        self,
        snapshots: Mapping[str, int],
        *,
        properties: Mapping[str, str] | None = None,
        token: str | None = None,
        after: int | None = None,
    ) -> GroupVersion:
        """Publish existing snapshots of tables (by ``database.table``) as the next version, with these tables only.

        With a ``token`` the publish happens exactly once, even when the call is repeated. ``after``: the number of the
        version that must still be the newest (0: none exists); otherwise CommitConflict is raised and nothing is
        published. Raises SnapshotNotFound when a snapshot does not exist; when it is removed after the publish was
        decided, call ``abandon``.
        """
        if not snapshots:
            raise InvalidRequest(f"a publish of group {self.name} needs a snapshot of at least one table")
        after = None if after is None else whole("after", after)
        parts = {name: self._shown_part(name, whole("snapshot", snapshots[name])) for name in sorted(snapshots)}
        self._check_distinct(parts)
        return self._decide(Intent(0, token or str(uuid.uuid4()), parts, dict(properties or {})), after)

    def rollback(self, to: int) -> GroupVersion:
        """Roll all tables back to version ``to`` and publish the result as a new version.

        The versions in between are withdrawn.

        Later commits to the tables are removed, as with ``Table.rollback``. Raises NotFound when version ``to`` does
        not exist, InvalidRequest when it is withdrawn or has other tables than the latest version.
        """
        target = self.store.version(whole("to", to))
        if (latest := self.latest()) is not None and latest.tables.keys() != target.tables.keys():
            raise InvalidRequest(
                f"version {to} of group {self.name} has tables {sorted(target.tables)}, the latest has "
                f"{sorted(latest.tables)}: only versions of the same tables can be rolled back to",
                group=self.name,
            )
        self._check_not_withdrawn(to)
        parts = {name: self._rollback_part(name, member.tag) for name, member in target.tables.items()}
        return self._decide(Intent(0, str(uuid.uuid4()), parts, restores=to))

    def recover(self) -> GroupVersion | None:
        """Complete a publish whose process ended early, and return its version; None when no publish is pending."""
        pending = self._pending()
        return None if pending is None else self._finish(pending)

    def abandon(self) -> GroupVersion:
        """Abandon a publish that can never succeed, because a table was dropped or files are missing.

        The number of the publish becomes a version without changes. Stop the publishing process first. Raises NotFound
        when no publish is pending, InvalidRequest when a table has already committed its part: roll that table back
        first.
        """
        pending = self._pending()
        if pending is None:
            raise NotFound(f"group {self.name} has no pending publish", group=self.name)
        for name, part in pending.parts.items():
            with contextlib.suppress(NotFound):
                if is_part_committed(self.catalog.table(name), part, pending, self.name):
                    raise InvalidRequest(
                        f"publish {pending.number} of group {self.name} is committed to table {name} already: call "
                        "recover() to complete it; to abandon it, roll that table back first",
                        group=self.name,
                        table=name,
                    )
        earlier = self.latest()
        now = clock.now_millis()
        nothing = GroupVersion(pending.number, earlier.tables if earlier else {}, now, {ABANDONED: "true"})
        return nothing if self.store.create_version(nothing) else self.store.version(pending.number)

    def _pending(self) -> Intent | None:
        numbers = self.store.numbers("intent")
        versions = self.store.numbers("version")
        return None if not numbers or (versions and versions[-1] >= numbers[-1]) else self.store.intent(numbers[-1])

    def expire(self, keep_last: int) -> list[int]:
        """Delete all except the newest ``keep_last`` versions, with their tags; return the deleted version numbers.

        Tags that a kept version uses are kept.
        """
        return expire_versions(self.store, self.catalog.table, keep_last)

    def _part(self, name: str, messages: Sequence[CommitMessage], mode: Mode) -> Part:
        if mode in (Mode.ROLLBACK, Mode.SNAPSHOT):
            instead = "rollback()" if mode is Mode.ROLLBACK else "publish_snapshots()"
            raise InvalidRequest(f"mode {mode} is not allowed in a publish: call {instead}", table=name)
        table = self.catalog.table(name)
        check_messages(messages, table.context)
        for message in messages:
            if message.deleted_files or message.compact_before or message.compact_after:
                raise InvalidRequest(
                    f"group {self.name}: messages of table {name} delete or compact files, which may conflict in the "
                    "middle of a publish: commit them to the table alone",
                    group=self.name,
                    table=name,
                )
        check_buckets(table, messages, mode, self.name)
        return Part(mode, tuple(messages), schema=(table.schema.id, table.schema.time_millis))

    def _decide(self, request: Intent, after: int | None = None) -> GroupVersion:
        """Create the intent with the next number and complete it; pending publishes are completed first.

        ``after``: see ``publish_snapshots``.
        """
        self.recover()
        if (done := self._finish_published(request.token)) is not None:
            return done
        try:
            self._refuse_committed(request)
        except InvalidRequest:
            if (done := self._finish_published(request.token)) is not None:
                return done
            raise
        highest = self._highest_known_number(request)
        for _ in range(_TRIES):
            self.recover()
            # Choose the number before the tokens are read: an intent created later has this number or a higher one.
            # Intents are listed first: one that is created meanwhile is a newer version below, or has this number.
            intents, versions = self.store.numbers("intent"), self.store.numbers("version")
            number = max((highest, *intents, *versions)) + 1
            if (done := self._finish_published(request.token)) is not None:
                return done
            if after is not None:
                newest = max(versions, default=0)
                if max(intents, default=0) > newest:
                    continue  # another publish is not complete
                if newest != after:
                    raise CommitConflict(
                        f"group {self.name}: the newest version is {newest}, not {after}: read it and retry",
                        group=self.name,
                        version=newest,
                    )
            intent = Intent(number, request.token, request.parts, request.properties, request.restores)
            if self.store.create_intent(intent):
                return self._finish(intent)
        raise CommitConflict(f"group {self.name}: other publishes were first {_TRIES} times: retry", group=self.name)

    def _check_distinct(self, parts: Mapping[str, Part]) -> None:
        """Check that no table is named twice, for example with its branch main and without a branch."""
        names: dict[str, str] = {}
        for name in parts:
            home = self.catalog.table(name).context.paths.home
            if (other := names.setdefault(home, name)) != name:
                raise InvalidRequest(f"{other} and {name} are the same table: give its messages once", table=name)

    def _refuse_committed(self, request: Intent) -> None:
        """Raise InvalidRequest when files of the messages are or were in a table: the publish would block the group."""
        for name, part in request.parts.items():
            context = self.catalog.table(name).context
            entries = [e for change in changes_of(part.messages) for e in change.entries]
            added = partial(_added_before, context, entries)
            for entry in read_latest(context.snapshots, added):
                raise InvalidRequest(
                    f"group {self.name}: file {entry.file.file_name} is or was in table {name} already: these "
                    "messages were committed before; use a token to publish exactly once while the version is kept",
                    group=self.name,
                    table=name,
                    file=entry.file.file_name,
                )

    def _highest_known_number(self, request: Intent) -> int:
        """Return the highest publish number in the tables' snapshots and tags, which outlive deleted records."""
        found = [0]
        for name, part in request.parts.items():
            if part.mode is Mode.ROLLBACK:
                continue
            table = self.catalog.table(name)
            newest = CommitRequest.of(table.context, self.user, None, None).newest()
            found += [0 if newest is None else newest.commit_identifier]
            found += [n for tag in table.tags.list() if (n := number_of(tag.name, self.name)) is not None]
        return max(found)

    def _finish_published(self, token: str) -> GroupVersion | None:
        intent = self.store.intent_of(token)
        return None if intent is None else self._finish(intent)

    def _finish(self, intent: Intent) -> GroupVersion:
        """Do steps 3 and 4 of a publish. Any process may call this; completed steps are not repeated."""
        if intent.number in self.store.numbers("version"):
            return self.store.version(intent.number)
        earlier = self.latest()
        members = dict(earlier.tables) if earlier and not intent.shows_snapshots else {}
        for name, part in intent.parts.items():
            try:
                members[name] = commit_part(self.catalog.table(name), part, intent, self.name)
            except PaimonError:
                if intent.number in self.store.numbers("version"):
                    break  # a concurrent process completed this publish, and later publishes may have followed
                raise
        version = GroupVersion(intent.number, members, clock.now_millis(), intent.properties, intent.restores)
        return version if self.store.create_version(version) else self.store.version(intent.number)

    def _rollback_part(self, name: str, tag: str) -> Part:
        table = self.catalog.table(name)
        table.tags.read(tag)
        latest = table.latest_snapshot()
        undone = None if latest is None else (latest.id, latest.uuid or "")
        return Part(Mode.ROLLBACK, tag=tag, undone=undone, schema=(table.schema.id, table.schema.time_millis))

    def _shown_part(self, name: str, number: int) -> Part:
        table = self.catalog.table(name)
        snapshot = table.context.snapshots.read(number)
        schema = table.schema.id, table.schema.time_millis
        return Part(Mode.SNAPSHOT, schema=schema, shown=(snapshot.id, snapshot.uuid or ""))

    def _check_not_withdrawn(self, version: int) -> None:
        if version in _withdrawn(self.store.versions()):
            raise InvalidRequest(
                f"version {version} of group {self.name} was withdrawn by a rollback", group=self.name, version=version
            )


def _added_before(
    context: TableContext, entries: Sequence[ManifestEntry], latest: Snapshot | None
) -> list[ManifestEntry]:
    """Return the entries whose files are, or were, in a snapshot of the table."""
    return [entry for entry, _ in added_before(Base(context, latest), entries)]


def _modes(overwrite: object) -> dict[str, Mode]:
    """Return the mode of each table in ``overwrite``; raises InvalidRequest for an invalid mode."""
    given = {} if overwrite is None else overwrite
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"overwrite must map tables to modes, not {overwrite!r:.60}")
    for name, mode in given.items():
        if mode not in list(Mode):
            allowed = ", ".join(Mode)
            raise InvalidRequest(f"overwrite of table {name}: {mode!r:.40} must be one of {allowed}", table=name)
    return {name: Mode(mode) for name, mode in given.items()}


def _withdrawn(versions: Sequence[GroupVersion]) -> set[int]:
    return {n for v in versions if v.restores is not None for n in range(v.restores + 1, v.number)}
