"""ObjectStore: what ``ObjectStorage`` needs of one bucket, and what the failures of its client mean.

An adapter (``s3``, ``gcs``, ``azure``) does each of these with as few requests as the store's protocol allows, and
raises whatever its client raises; ``failure`` then says what that means. Keys are the full names within the bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

_UNDECIDED = frozenset({408, 409, 425, 429})
_NOT_BUILT = 501


class Meaning(Enum):
    """What a failed request says about what was asked for."""

    MISSING = auto()
    """There is no such object, or no such bucket."""
    EXISTS = auto()
    """The object is there already."""
    REFUSED = auto()
    """Nothing was done, for sure: access denied, a wrong request, no connection to send it by."""
    UNKNOWN = auto()
    """It was sent and may have been done, or may be done yet."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request; ``status`` is the HTTP status, when the store gave one."""

    meaning: Meaning
    text: str
    status: int | None = None


def meaning_of(status: int) -> Meaning:
    """What an HTTP status of 300 or more says.

    409 is a race with another request for the key, and 429 and most of 5xx say "later": whether anything was done is
    open, and the same request may be sent again.
    """
    if status == 404:
        return Meaning.MISSING
    if status == 412:
        return Meaning.EXISTS
    if status in _UNDECIDED or (status >= 500 and status != _NOT_BUILT):
        return Meaning.UNKNOWN
    return Meaning.REFUSED


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object; ``is_directory`` marks the empty objects that stand for directories, whatever they are called."""

    key: str
    size: int
    modified_millis: int
    is_directory: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing; ``token`` asks for the next, None after the last."""

    objects: tuple[StoredObject, ...]
    prefixes: tuple[str, ...] = ()
    token: str | None = None


class Upload(Protocol):
    """A new object that is sent in parts, of which nobody sees anything before ``complete``."""

    def part(self, data: bytes) -> None:
        """Send the next part."""

    def complete(self) -> None:
        """Make the object of the parts."""

    def abort(self) -> None:
        """Drop the parts."""


class ObjectStore(Protocol):
    """One bucket (or container) of one store, open in this process. Used from many threads."""

    part_bytes: int
    """The size of the parts of an upload; the last one may be smaller."""

    def head(self, key: str) -> StoredObject:
        """The object's size and time."""

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from ``start`` to before ``end``, all of them or an error."""

    def read_tail(self, key: str, count: int) -> tuple[bytes, int]:
        """The last bytes, up to ``count``, and the size of the object."""

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object; may be sent more than once."""

    def put_new(self, key: str, data: bytes) -> None:
        """Create an object unless there is one, by one conditional request that no layer repeats by itself.

        So "refused" means that nothing was created, and "exists" that another request was first.
        """

    def upload(self, key: str) -> Upload:
        """Begin an object of many parts."""

    def page(self, prefix: str, *, is_flat: bool, token: str | None, limit: int | None = None) -> Page:
        """A page of the keys with a prefix; unless ``is_flat``, those below a further ``/`` as their prefixes."""

    def delete(self, keys: Sequence[str]) -> int:
        """Delete objects; missing ones are no error. The number deleted, see ``Storage.delete``."""

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store."""

    def mark_directory(self, key: str) -> None:
        """Make the empty object that stands for a directory, as other tools do."""

    def failure(self, error: BaseException) -> Failure:
        """What an exception of any of these methods means."""
