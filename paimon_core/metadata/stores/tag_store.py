"""TagStore: the tags of a table; each tag file is a copy of a snapshot file under the tag's name (format 15.1).

A tag with a retention also records the local wall clock time of its creation. This module converts that time to epoch
milliseconds in this process's time zone.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from paimon_core.advice import with_advice
from paimon_core.codec.json_text import parse_json
from paimon_core.display import Displayed, Summary, time_text
from paimon_core.errors import AlreadyExists, CorruptTable, PaimonError, TagNotFound, nearest_names
from paimon_core.limits import metadata_text
from paimon_core.metadata import clock
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import parse_snapshot
from paimon_core.storage.exclusive_create import create_once
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import Storage

CREATED = "tagCreateTime"
RETAINED = "tagTimeRetained"
RENAMED_FROM = "renamedFrom"
"""A JSON member that only this library writes and reads.

A rename records in the new tag the name of the old tag and the modification time of the old tag's file.
"""
_PREFIX = "tag-"
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d{1,12})D)?(?:T(?=[-+\d])(?:([-+]?\d{1,12})H)?(?:([-+]?\d{1,12})M)?(?:([-+]?\d{1,15}(?:\.\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_LONGEST_MILLIS = 2**63 - 1


@dataclass(frozen=True, slots=True, repr=False)
class Tag(Displayed):
    """A named snapshot; the creation time and the retention are None for a tag that is kept until it is deleted."""

    name: str
    snapshot: Snapshot
    create_time_millis: int | None = None
    retained_millis: int | None = None

    def _summary(self) -> Summary:
        expires = self.expires_millis
        facts = (
            ("snapshot", str(self.snapshot.id)),
            ("committed", time_text(self.snapshot.time_millis)),
            ("expires", None if expires is None else time_text(expires)),
        )
        return Summary(self.name, facts)

    @property
    def expires_millis(self) -> int | None:
        """The time in epoch milliseconds from which an expiry may delete the tag; None: never (format 16.4)."""
        if self.create_time_millis is None or self.retained_millis is None:
            return None
        return self.create_time_millis + self.retained_millis


@dataclass(frozen=True, slots=True)
class TagStore:
    """Reads, creates and deletes the tag files of one table."""

    storage: Storage
    paths: TablePaths

    def list(self) -> list[Tag]:
        """Return all tags, sorted by name.

        Raises CorruptTable for a damaged file, because the data files that the tag references are unknown.
        """
        tags = []
        for entry in self.storage.list(self.paths.tag_directory):
            if entry.name.startswith(_PREFIX) and not entry.is_directory:
                try:
                    data = self.storage.read(entry.path)
                except FileNotFoundError:  # deleted after the listing
                    continue
                tags.append(_parsed(entry.name.removeprefix(_PREFIX), data, entry.path))
        return sorted(tags, key=lambda t: t.name)

    def names(self) -> Iterable[str]:
        """Return the sorted names of all tags, without reading the tags."""
        found = self.storage.list(self.paths.tag_directory)
        return sorted(e.name.removeprefix(_PREFIX) for e in found if e.name.startswith(_PREFIX) and not e.is_directory)

    def exists(self, name: str) -> bool:
        """Whether a tag of this name exists."""
        return self.storage.exists(self.paths.tag(name))

    def read(self, name: str) -> Tag:
        """Read one tag; raises TagNotFound when it does not exist, CorruptTable for a damaged file."""
        path = self.paths.tag(name)
        try:
            return _parsed(name, self.storage.read(path), path)
        except FileNotFoundError:
            raise self._not_found(name) from None

    def create(
        self, name: str, snapshot: Snapshot, *, retained_millis: int | None = None, now_millis: int | None = None
    ) -> Tag:
        """Create a tag that is kept for ``retained_millis``; None: until the tag is deleted.

        ``now_millis`` is the creation time, by default the current time. Raises AlreadyExists when a tag of this name
        exists, InvalidRequest for a name that is not a file name.
        """
        tag = new_tag(name, snapshot, retained_millis, now_millis)
        self.add(tag)
        return tag

    def add(self, tag: Tag, renamed_from: Mapping[str, Any] | None = None) -> None:
        """Create the file of a new tag; raises as ``create`` does.

        ``renamed_from``: for the new tag of a rename, the value that ``source`` returned for the old tag. The existence
        of the file is checked before the write: two tags of one snapshot without retention have the same content, so
        they cannot be distinguished after the write.
        """
        path = self.paths.tag(tag.name)
        if self.storage.exists(path) or not create_once(self.storage, path, _json(tag, renamed_from).encode()):
            raise AlreadyExists(f"tag {tag.name!r} exists in {self.paths.root}", tag=tag.name, path=path)

    def source(self, name: str) -> dict[str, Any]:
        """Return what a rename of this tag records in the new tag: the name and the file's modification time.

        Raises TagNotFound when the tag does not exist.
        """
        for entry in self.storage.list(self.paths.tag_directory):
            if entry.path == self.paths.tag(name) and not entry.is_directory:
                return {"name": name, "modifiedMillis": entry.modified_millis}
        raise self._not_found(name)

    def renamed_from(self, name: str) -> Any:
        """Return the ``source`` of the old tag that a rename recorded in this tag; None if no rename created it.

        Raises TagNotFound when the tag does not exist.
        """
        path = self.paths.tag(name)
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            raise self._not_found(name) from None
        parse_tag(name, data, path)
        return parse_json(data).get(RENAMED_FROM)

    def put(self, tag: Tag) -> None:
        """Write the tag and replace an existing tag of this name atomically: readers see the old tag or the new tag."""
        self.storage.overwrite(self.paths.tag(tag.name), _json(tag).encode())

    def delete(self, name: str) -> None:
        """Delete a tag's file; raises TagNotFound when the tag does not exist."""
        path = self.paths.tag(name)
        if not self.storage.delete([path]):
            raise self._not_found(name)

    def _not_found(self, name: str) -> TagNotFound:
        """Return the error for a missing tag, which names the most similar tags if they can be listed."""
        path, known = self.paths.tag(name), None
        with contextlib.suppress(PaimonError, OSError):
            known = nearest_names(name, self.names()) or "none"
        tags = "" if known is None else f" (tags: {known})"
        return TagNotFound(f"no tag {name!r}: {path} does not exist{tags}", tag=name, path=path)


def new_tag(name: str, snapshot: Snapshot, retained_millis: int | None, now_millis: int | None = None) -> Tag:
    """Return a new tag; the tag has a creation time only if it has a retention (format 15.1)."""
    now = clock.now_millis(now_millis)
    return Tag(name, snapshot, None if retained_millis is None else now, retained_millis)


def _json(tag: Tag, renamed_from: Mapping[str, Any] | None = None) -> str:
    members = tag.snapshot.to_members()
    if tag.create_time_millis is not None and tag.retained_millis is not None:
        seconds, millis = divmod(tag.create_time_millis, 1000)
        at = datetime.datetime.fromtimestamp(seconds)
        members[CREATED] = [at.year, at.month, at.day, at.hour, at.minute, at.second, millis * 1_000_000]
        members[RETAINED] = tag.retained_millis / 1000
    if renamed_from is not None:
        members[RENAMED_FROM] = dict(renamed_from)
    return metadata_text(json.dumps(members, indent=2, ensure_ascii=False), f"tag {tag.name!r}")


def _parsed(name: str, data: bytes, path: str) -> Tag:
    try:
        return parse_tag(name, data, path)
    except CorruptTable as error:
        raise with_advice(error, "Only this tag is lost: snapshots and other tags have their own files") from error


def parse_tag(name: str, data: bytes, path: str) -> Tag:
    """Return the tag in ``data``, the bytes of the file ``path``; raises CorruptTable or UnsupportedFeature."""
    snapshot = parse_snapshot(data, path)
    members = parse_json(data, Decimal)
    try:
        created = None if members.get(CREATED) is None else _local_millis(members[CREATED])
        retained = None if members.get(RETAINED) is None else _duration_millis(members[RETAINED])
    except (ValueError, TypeError, OverflowError, OSError, InvalidOperation) as error:
        raise CorruptTable(
            f"{path}: the member {CREATED} or {RETAINED} of the tag does not decode: {error}", path=path
        ) from error
    return Tag(name, snapshot, created, retained)


def _local_millis(value: Any) -> int:
    """Convert local time, ``[year, month, day, hour, minute(, second(, nanosecond))]`` or ISO text, to epoch millis."""
    if isinstance(value, str):
        at, nanos = datetime.datetime.fromisoformat(value), None
    elif isinstance(value, list) and 5 <= len(value) <= 7 and all(type(part) is int for part in value):
        at, nanos = datetime.datetime(*value[:6]), value[6] if len(value) == 7 else 0
    else:
        raise ValueError(f"{CREATED} is {value!r:.80}")
    millis = at.microsecond // 1000 if nanos is None else nanos // 1_000_000
    if not 0 <= millis < 1000:
        raise ValueError(f"{CREATED} is {value!r:.80}")
    return int(at.replace(microsecond=0).timestamp()) * 1000 + millis


def _duration_millis(value: Any) -> int:
    """Convert seconds as a number, or an ISO-8601 duration such as ``PT72H5M``, to milliseconds."""
    if isinstance(value, str):
        found = _DURATION.fullmatch(value)
        if found is None or not any(found.groups()[1:]):
            raise ValueError(f"{RETAINED} is {value!r:.80}")
        sign, *parts = found.groups()
        seconds = sum((Decimal(p or 0) * u for p, u in zip(parts, (86400, 3600, 60, 1), strict=True)), Decimal())
        seconds = -seconds if sign == "-" else seconds
    elif type(value) is int or (isinstance(value, Decimal) and value.is_finite()):
        seconds = Decimal(value)
    else:
        raise ValueError(f"{RETAINED} is {value!r:.80}")
    if abs(seconds) > _LONGEST_MILLIS:
        raise ValueError(f"{RETAINED} is {value!r:.80}")
    return int(seconds * 1000)
