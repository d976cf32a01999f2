"""Group: several tables that change together, for readers who look at the group (an intent, then a version).

publish   1. the new data files of all tables are written, nothing is visible;
          2. ``intent-N`` is created exclusively: from here on the publish will be finished, by whoever comes by;
          3. each table commits its part under (user of the group, N), which happens once, and tags the snapshot;
          4. ``version-N`` is created exclusively: all tables change for the group's readers at this moment.

A reader of the group opens the tables at the tags of one version, so it sees all of the old state or all of the new,
also while a publish is half way or has died there. A reader who opens a table by itself sees that table's latest
snapshot as ever. Only what cannot conflict is taken: appends, upserts, overwrites. A commit that lost too many races
is no end: the intent stays, and the next publish or ``recover`` finishes it first.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

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
from paimon_core.group.record import GroupVersion, Intent, Mode, Part
from paimon_core.group.store import GroupStore
from paimon_core.group.table_commit import has_landed, land, user_of
from paimon_core.metadata import clock
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.storage import Storage
from paimon_core.table.argument_checks import at_least_one, whole
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.message_check import check_messages
from paimon_core.table.table import Table

_TRIES = 20


class Tables(Protocol):
    """What a group asks of a catalog."""

    @property
    def storage(self) -> Storage:
        """Where the warehouse lies."""

    @property
    def warehouse(self) -> str:
        """Its root directory."""

    def table(self, name: str) -> Table:
        """Open ``database.table``."""


@dataclass(frozen=True)
class Group:
    """One group of tables of a catalog, by name."""

    catalog: Tables
    name: str

    @property
    def store(self) -> GroupStore:
        """The group's records."""
        storage = confined(self.catalog.storage, self.catalog.warehouse)
        return GroupStore(storage, self.catalog.warehouse, self.name)

    @property
    def user(self) -> str:
        """The commit user of the group's snapshots."""
        return user_of(self.name)

    # -- read

    def versions(self) -> list[GroupVersion]:
        """All versions that can be read, oldest first; withdrawn ones are left out."""
        found = [self.store.version(n) for n in self.store.numbers("version")]
        gone = _withdrawn(found)
        return [v for v in found if v.number not in gone]

    def latest(self) -> GroupVersion | None:
        """The newest version, None before the first publish."""
        numbers = self.store.numbers("version")
        return self.store.version(numbers[-1]) if numbers else None

    def table(self, name: str, version: int | None = None) -> Table:
        """A table pinned to a version of the group (None: the newest).

        Raises NotFound for a version or member that is not there, InvalidRequest for a version that was withdrawn.
        """
        at = self.latest() if version is None else self.store.version(whole("version", version))
        if version is not None:
            self._check_stands(version)
        if at is None or name not in at.tables:
            known = ", ".join(at.tables) if at else "nothing was published yet"
            raise NotFound(f"group {self.name} has no table {name!r} ({known})", group=self.name, table=name)
        try:
            return self.catalog.table(name).at(tag=at.tables[name].tag)
        except TagNotFound as error:
            raise InvalidRequest(
                f"version {at.number} of group {self.name} cannot be read any more: the tag "
                f"{at.tables[name].tag!r} of table {name} is gone, with a rollback or by hand",
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
        publish happens once, however often it is repeated. Raises InvalidRequest and CommitConflict before anything
        is decided; a CommitConflict or CommitStateUnknown afterwards leaves the intent to ``recover``.
        """
        modes = _modes(overwrite)
        if not isinstance(parts, Mapping):
            raise InvalidRequest(f"publish takes messages by table, not {parts!r:.60}", group=self.name)
        if token is not None and not (isinstance(token, str) and token):
            raise InvalidRequest(f"token must be a text that is not empty, not {token!r:.60}", group=self.name)
        for name in modes.keys() - parts.keys():
            raise InvalidRequest(f"overwrite names table {name}, for which there are no messages", table=name)
        checked = {name: self._part(name, parts[name], modes.get(name, Mode.APPEND)) for name in sorted(parts)}
        if not checked:
            raise InvalidRequest(f"a publish of group {self.name} needs the messages of one table at least")
        self._check_distinct(checked)
        for name in checked:  # what a commit would refuse later would leave an intent that never lands
            CommitRequest.of(self.catalog.table(name).context, self.user, None, properties)
        return self._decide(Intent(0, token or str(uuid.uuid4()), checked, dict(properties or {})))

    def rollback(self, to: int) -> GroupVersion:
        """Bring all tables back to version ``to`` and publish that as a new version; those between are withdrawn.

        What was committed to the tables since is gone, as with ``Table.rollback``. Raises NotFound.
        """
        target = self.store.version(whole("to", to))
        if (latest := self.latest()) is not None and latest.tables.keys() != target.tables.keys():
            raise InvalidRequest(
                f"version {to} of group {self.name} has tables {sorted(target.tables)}, the latest has "
                f"{sorted(latest.tables)}: only versions of the same tables can be rolled back to",
                group=self.name,
            )
        self._check_stands(to)
        parts = {name: self._undoing(name, member.tag) for name, member in target.tables.items()}
        return self._decide(Intent(0, str(uuid.uuid4()), parts, restores=to))

    def recover(self) -> GroupVersion | None:
        """Finish what a publisher that died has decided; the version, None when nothing was left over."""
        pending = self._pending()
        return None if pending is None else self._finish(pending)

    def abandon(self) -> GroupVersion:
        """Give up a publish that can never land, as a table was dropped or files are gone.

        Its number becomes a version that changes nothing. Stop its publisher first. Raises NotFound when nothing is
        pending, InvalidRequest when a table has its part already: roll that table back, then abandon.
        """
        pending = self._pending()
        if pending is None:
            raise NotFound(f"group {self.name} has no publish that waits to be finished", group=self.name)
        for name, part in pending.parts.items():
            with contextlib.suppress(NotFound):
                if has_landed(self.catalog.table(name), part, pending, self.name):
                    raise InvalidRequest(
                        f"publish {pending.number} of group {self.name} has reached table {name} already: recover() "
                        "finishes it; to abandon it, roll that table back first",
                        group=self.name,
                        table=name,
                    )
        earlier = self.latest()
        now = clock.now_millis()
        nothing = GroupVersion(pending.number, earlier.tables if earlier else {}, now, {"group.abandoned": "true"})
        return nothing if self.store.create_version(nothing) else self.store.version(pending.number)

    def _pending(self) -> Intent | None:
        numbers = self.store.numbers("intent")
        versions = self.store.numbers("version")
        return None if not numbers or (versions and versions[-1] >= numbers[-1]) else self.store.intent(numbers[-1])

    def expire(self, keep_last: int) -> list[int]:
        """Forget all but the newest versions and delete their tags; the numbers. Tags of kept versions stay."""
        at_least_one("keep_last", keep_last, 0)
        if keep_last is None:
            raise InvalidRequest("keep_last must be a whole number from 1, not None")
        versions = [self.store.version(n) for n in self.store.numbers("version")]
        gone, kept = versions[:-keep_last], versions[-keep_last:]
        for version in gone:
            self.store.delete(version.number)
        for name in {name for v in kept for name in v.tables}:
            used = {v.tables[name].tag for v in kept if name in v.tables}
            with contextlib.suppress(NotFound):  # a table that was dropped took its tags along
                self._delete_tags(self.catalog.table(name), used, kept[-1].number)
        return [v.number for v in gone]

    def _part(self, name: str, messages: Sequence[CommitMessage], mode: Mode) -> Part:
        if mode is Mode.ROLLBACK:
            raise InvalidRequest("a publish takes no rollback: call rollback()", table=name)
        table = self.catalog.table(name)
        check_messages(messages, table.context)
        for message in messages:
            if message.deleted_files or message.compact_before or message.compact_after:
                raise InvalidRequest(
                    f"group {self.name}: messages of table {name} delete or compact files, which may conflict half way "
                    "through a publish: commit them to the table alone",
                    group=self.name,
                    table=name,
                )
        return Part(mode, tuple(messages), schema=(table.schema.id, table.schema.time_millis))

    def _decide(self, wish: Intent) -> GroupVersion:
        """Take the next number for the intent, finishing first what others decided before."""
        self.recover()
        if (done := self._published(wish.token)) is not None:
            return done
        try:
            self._refuse_committed(wish)
        except InvalidRequest:
            if (done := self._published(wish.token)) is not None:
                return done
            raise
        taken = self._taken(wish)
        for _ in range(_TRIES):
            self.recover()
            # The number is chosen before the tokens are read: an intent that comes later has this number or more.
            number = max((taken, *self.store.numbers("intent"), *self.store.numbers("version"))) + 1
            if (done := self._published(wish.token)) is not None:
                return done
            intent = Intent(number, wish.token, wish.parts, wish.properties, wish.restores)
            if self.store.create_intent(intent):
                return self._finish(intent)
        raise CommitConflict(f"group {self.name}: others won {_TRIES} races for the next version", group=self.name)

    def _check_distinct(self, parts: Mapping[str, Part]) -> None:
        """A table has one part; it might be named twice, with its branch main and without."""
        names: dict[str, str] = {}
        for name in parts:
            home = self.catalog.table(name).context.paths.home
            if (other := names.setdefault(home, name)) != name:
                raise InvalidRequest(f"{other} and {name} are the same table: give its messages once", table=name)

    def _refuse_committed(self, wish: Intent) -> None:
        """Messages that the table has or had would never land, and the group would not get past them."""
        for name, part in wish.parts.items():
            context = self.catalog.table(name).context
            entries = [e for change in changes_of(part.messages) for e in change.entries]
            added = partial(_added_before, context, entries)
            for entry in read_latest(context.snapshots, added):
                raise InvalidRequest(
                    f"group {self.name}: file {entry.file.file_name} is in table {name} already, or was: these "
                    "messages were committed before; a token makes a publish happen once while its version is kept",
                    group=self.name,
                    table=name,
                    file=entry.file.file_name,
                )

    def _taken(self, wish: Intent) -> int:
        """The highest number that a table knows of this group, also of one whose records were deleted."""
        found = [0]
        for name, part in wish.parts.items():
            if part.mode is Mode.ROLLBACK:
                continue
            table = self.catalog.table(name)
            newest = CommitRequest.of(table.context, self.user, None, None).newest()
            found += [0 if newest is None else newest.commit_identifier]
            found += [n for tag in table.tags.list() if (n := self._number_of(tag.name)) is not None]
        return max(found)

    def _number_of(self, tag: str) -> int | None:
        """The version that a tag is called after; None for a tag that is not of this group."""
        number = tag.removeprefix(f"group-{self.name}-")
        return int(number) if number != tag and re.fullmatch(r"[0-9]{1,18}", number) else None

    def _published(self, token: str) -> GroupVersion | None:
        for number in reversed(self.store.numbers("intent")):
            if self.store.intent(number).token == token:
                return self._finish(self.store.intent(number))
        return None

    def _finish(self, intent: Intent) -> GroupVersion:
        """Steps 3 and 4, by the publisher or by anybody after it; every step may have been done before."""
        if intent.number in self.store.numbers("version"):
            return self.store.version(intent.number)
        earlier = self.latest()
        members = dict(earlier.tables) if earlier else {}
        for name, part in intent.parts.items():
            try:
                members[name] = land(self.catalog.table(name), part, intent, self.name)
            except PaimonError:
                if intent.number in self.store.numbers("version"):
                    break  # others finished it while we slept, and went on
                raise
        version = GroupVersion(intent.number, members, clock.now_millis(), intent.properties, intent.restores)
        return version if self.store.create_version(version) else self.store.version(intent.number)

    def _delete_tags(self, table: Table, used: set[str], newest: int) -> None:
        """Delete the group's tags that no version uses, those that an earlier run left behind too."""
        for tag in table.tags.list():
            number = self._number_of(tag.name)
            if number is not None and number <= newest and tag.name not in used:
                with contextlib.suppress(TagNotFound):
                    table.tags.delete(tag.name)

    def _undoing(self, name: str, tag: str) -> Part:
        table = self.catalog.table(name)
        table.tags.read(tag)
        latest = table.latest_snapshot()
        undone = None if latest is None else (latest.id, latest.uuid or "")
        return Part(Mode.ROLLBACK, tag=tag, undone=undone, schema=(table.schema.id, table.schema.time_millis))

    def _check_stands(self, version: int) -> None:
        if version in _withdrawn([self.store.version(n) for n in self.store.numbers("version")]):
            raise InvalidRequest(
                f"version {version} of group {self.name} was withdrawn by a rollback", group=self.name, version=version
            )


def _added_before(
    context: TableContext, entries: Sequence[ManifestEntry], latest: Snapshot | None
) -> list[ManifestEntry]:
    """Those of the entries whose files a snapshot has, or had."""
    return [entry for entry, _ in added_before(Base(context, latest), entries)]


def _modes(overwrite: object) -> dict[str, Mode]:
    """How the tables named take their part; raises InvalidRequest for what is no mode."""
    given = {} if overwrite is None else overwrite
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"overwrite maps tables to modes, and is not {overwrite!r:.60}")
    for name, mode in given.items():
        if mode not in list(Mode):
            raise InvalidRequest(f"overwrite of table {name}: {mode!r:.40} is none of {', '.join(Mode)}", table=name)
    return {name: Mode(mode) for name, mode in given.items()}


def _withdrawn(versions: Sequence[GroupVersion]) -> set[int]:
    return {n for v in versions if v.restores is not None for n in range(v.restores + 1, v.number)}
