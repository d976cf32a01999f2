"""ObjectStore: the operations on one bucket that ``ObjectStorage`` uses, and the meaning of failed requests.

An adapter (``s3``, ``gcs``, ``azure``) implements each operation with as few requests as the store's protocol allows,
and raises the exceptions of its client; ``failure`` classifies these exceptions. Keys are the full names within the
bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

_UNKNOWN_STATUSES = frozenset({408, 409, 425, 429})
_NOT_IMPLEMENTED = 501


class Meaning(Enum):
    """The meaning of a failed request: the state of the object, or whether the request was executed."""

    MISSING = auto()
    """The object or the bucket does not exist."""
    EXISTS = auto()
    """The object exists already."""
    REFUSED = auto()
    """The request was certainly not executed: access denied, an invalid request, or no connection."""
    UNKNOWN = auto()
    """The outcome is unknown: the store may have executed the request, or may still execute it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request; ``status`` is the HTTP status when the store sent one."""

    meaning: Meaning
    text: str
    status: int | None = None


def meaning_of(status: int) -> Meaning:
    """Classify a failed request by its HTTP status (300 or more).

    409 is a race with another request for the same key; 429 and most of 5xx ask the client to retry later. After such a
    failure it is not known whether the request was executed; the same request may be sent again.
    """
    if status == 404:
        return Meaning.MISSING
    if status == 412:
        return Meaning.EXISTS
    if status in _UNKNOWN_STATUSES or (status >= 500 and status != _NOT_IMPLEMENTED):
        return Meaning.UNKNOWN
    return Meaning.REFUSED


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object; ``is_directory`` is True for the empty objects that represent directories, whatever their names."""

    key: str
    size: int
    modified_millis: int
    is_directory: bool = False
    version: str = ""
    """The ETag or generation of the object, which changes with its content."""
    checksum: str = ""
    """A checksum of the content; empty if the store's listing has no checksum."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing; ``token`` requests the next page, and is None for the last page."""

    objects: tuple[StoredObject, ...]
    prefixes: tuple[str, ...] = ()
    token: str | None = None


class Upload(Protocol):
    """A new object that is sent in parts and becomes visible only with ``complete``."""

    def part(self, data: bytes) -> None:
        """Send the next part."""

    def complete(self) -> None:
        """Create the object from the parts."""

    def abort(self) -> None:
        """Delete the parts that were sent."""


class ObjectStore(Protocol):
    """A connection to one bucket (or container) of one store. Several threads use it at the same time."""

    part_bytes: int
    """The size in bytes of the parts of an upload; the last part may be smaller."""

    def head(self, key: str) -> StoredObject:
        """Return the object's size and modification time."""

    def read(self, key: str, start: int = 0, end: int | None = None, version: str = "") -> bytes:
        """Return all bytes from ``start`` up to, but not including, ``end``; raises an error if bytes are missing.

        With a ``version`` the request is conditional: it fails with the meaning EXISTS when the object has another
        version.
        """

    def read_tail(self, key: str, count: int, version: str = "") -> tuple[bytes, int]:
        """Return the last ``count`` bytes (all bytes of a smaller object) and the size; ``version``: see ``read``."""

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object; the request may be sent more than once."""

    def put_new(self, key: str, data: bytes) -> None:
        """Create an object unless it exists, by one conditional request that no layer of the client repeats.

        So a failure REFUSED means that nothing was created, and EXISTS means that another request created the object.
        """

    def upload(self, key: str) -> Upload:
        """Start an upload in parts."""

    def page(self, prefix: str, *, is_flat: bool, token: str | None, limit: int | None = None) -> Page:
        """Return a page of the keys with a prefix.

        Unless ``is_flat``, a key that has another ``/`` after the prefix is not listed itself: the page has only the
        part of the key up to this ``/``.
        """

    def delete(self, keys: Sequence[str]) -> int:
        """Delete objects and return their number; missing objects are no error, but some stores count them."""

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store."""

    def mark_directory(self, key: str) -> None:
        """Create the empty object that represents a directory, as other tools do."""

    def failure(self, error: BaseException) -> Failure:
        """Return the meaning of an exception that a method of this class raised."""
