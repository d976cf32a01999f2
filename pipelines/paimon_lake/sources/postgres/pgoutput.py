"""pgoutput: decode the messages of PostgreSQL's logical replication into the last change of each row.

The messages have the format of protocol version 1, which the manual of PostgreSQL describes under "Logical Replication
Message Formats". Only this framing is decoded message by message: values stay texts, which ``ChangeRows`` converts as
whole columns. Memory: the last values of each changed row.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from struct import Struct
from typing import Any

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.lsn import lsn_text

UNCHANGED: Any = type("Unchanged", (), {"__repr__": lambda self: "UNCHANGED"})()
"""The value of a column that an update did not change and that the log does not repeat, because it is large."""
Key = tuple[Any, ...]
_BEGIN, _COMMIT, _RELATION, _INSERT, _UPDATE, _DELETE, _TRUNCATE = b"BCRIUDT"
_ROWS = b"IUD"
_IGNORED = b"YO"
"""The skipped messages: names of types, and the origin of a transaction that another server replicated."""
_OLD = b"KO"
_NULL, _TEXT, _SAME = b"ntu"
_UINT, _USHORT, _LSN = Struct("!I").unpack_from, Struct("!H").unpack_from, Struct("!Q").unpack_from


@dataclass(frozen=True)
class Relation:
    """How the log describes a table: its replica identity and its columns.

    A column is described by name, type, type modifier, and whether it is in the key.
    """

    identity: str
    columns: Sequence[tuple[str, int, int, bool]]


class LaterColumns(Exception):
    """A change whose table has columns or types for which the table of the lake must be altered first."""

    def __init__(self, relation: Relation) -> None:
        super().__init__("the columns of the table changed")
        self.relation = relation
        self.lsn = 0
        """The LSN at which the commit of the transaction with the change begins."""
        self.follows = False
        """Whether earlier transactions have changes of the table that are not loaded yet."""


@dataclass(frozen=True)
class LastChange:
    """The last change of a row in some transactions: its values, binary texts in the order of the declared columns."""

    values: tuple[Any, ...]
    lsn: int
    """The LSN at which the commit of the transaction with the change begins."""
    root: Key | None = None
    """The key that the row had before these transactions, if some values are ``UNCHANGED``; otherwise None."""
    is_delete: bool = False
    """Whether the row was deleted; a deleted row has values only in the key."""


@dataclass
class NetChanges:
    """The changes that some whole transactions made to a table."""

    rows: dict[Key, LastChange] = field(default_factory=dict)
    """The last change of each row by its key, in the order of the changes."""
    end: int = 0
    """The LSN at which the commit of the last transaction ends; 0 without transactions."""
    is_truncated: bool = False
    """Whether a TRUNCATE removed all earlier rows."""
    changes: int = 0
    """The number of changes in the log, where each version of a row counts."""
    transactions: int = 0
    messages: int = 0
    size_bytes: int = 0


@dataclass
class Decoder:
    """Decodes the changes of one table; ``check`` raises PipelineError for a description that does not fit.

    ``check`` is called before the first change with a description, and may raise LaterColumns.
    """

    relation: int
    columns: Sequence[str]
    key: Sequence[str]
    check: Callable[[Relation], object]
    most_bytes: int
    """The largest size of the changes of the table in one transaction."""
    may_lack: frozenset[str] = frozenset()
    """The columns that are null in changes whose description does not have them."""
    _unchecked: Relation | None = None
    _lacks: bool = False
    _project: Callable[[Sequence[Any]], Key] | None = None
    _width: int = 0
    _key_places: tuple[int, ...] = ()

    def read(
        self, messages: Iterable[bytes], after: int, *, rows: int, size_bytes: int, before: int | None = None
    ) -> tuple[NetChanges, bool]:
        """Return the changes of the transactions whose commit begins at ``after`` or later, and before ``before``.

        Stops after the transaction with which ``rows`` changes or ``size_bytes`` are reached; returns whether all
        messages were read. Raises PipelineError for invalid messages and for a transaction that is too large, and
        LaterColumns as ``check`` does.
        """
        found = NetChanges()
        try:
            return found, self._read(found, messages, after, rows, size_bytes, before)
        except (IndexError, ValueError, struct.error):
            raise PipelineError("the log has a message that is cut off") from None

    def _read(
        self, found: NetChanges, messages: Iterable[bytes], after: int, rows: int, size_bytes: int, before: int | None
    ) -> bool:
        lsn, skips, size, earlier = 0, False, 0, 0
        self._key_places = tuple(self.columns.index(name) for name in self.key)
        for data in messages:
            kind = data[0]
            found.messages += 1
            found.size_bytes += len(data)
            if kind in _ROWS:
                if not skips and _UINT(data, 1)[0] == self.relation:
                    if self._unchecked is not None:
                        self._accept(self._unchecked, lsn, earlier > 0)
                    found.changes += 1
                    self._change(found, kind, data, lsn)
                    size += len(data)
                    if size > self.most_bytes:
                        raise self._too_large(lsn)
            elif kind == _BEGIN:
                (lsn,), size, earlier = _LSN(data, 1), 0, found.changes
                skips = lsn < after
                if before is not None and lsn >= before:
                    return False
            elif kind == _COMMIT:
                if not skips:
                    (found.end,) = _LSN(data, 10)
                    found.transactions += 1
                if found.changes >= rows or found.size_bytes >= size_bytes:
                    return False
            elif kind == _RELATION:
                self._describe(data)
            elif kind == _TRUNCATE:
                count = _UINT(data, 1)[0]
                if not skips and self.relation in Struct(f"!{count}I").unpack_from(data, 6):
                    found.changes += 1
                    found.is_truncated = True
                    found.rows.clear()
            elif kind not in _IGNORED:
                raise PipelineError(f"the log has a message of the unknown type {bytes([kind])!r}")
        return True

    def _too_large(self, lsn: int) -> PipelineError:
        return PipelineError(
            f"the transaction that is committed at {lsn_text(lsn)} has more than {self.most_bytes:,} bytes: raise "
            "source.transaction_bytes, or load the table with reload"
        )

    def _describe(self, data: bytes) -> None:
        if _UINT(data, 1)[0] != self.relation:
            return
        self._unchecked = described(data)

    def _accept(self, relation: Relation, lsn: int, follows: bool) -> None:
        try:
            self.check(relation)
        except LaterColumns as later:
            later.lsn, later.follows = lsn, follows
            raise
        self._unchecked, self._width = None, len(relation.columns)
        places = {name: place for place, (name, *_) in enumerate(relation.columns)}
        places = {**dict.fromkeys(self.may_lack, self._width), **places}
        chosen = [places[name] for name in self.columns]
        self._lacks = self._width in chosen
        self._project = itemgetter(*chosen) if len(chosen) > 1 else lambda values: (values[chosen[0]],)

    def _change(self, found: NetChanges, kind: int, data: bytes, lsn: int) -> None:
        rows, old, at = found.rows, None, 6
        if kind == _DELETE:
            self._delete(rows, self._key(self._values(data, at)[0]), lsn)
            return
        if kind == _UPDATE and data[5] in _OLD:
            old, at = self._values(data, at)
            at += 1
        new, _ = self._values(data, at)
        if old is not None and UNCHANGED in new:
            new = tuple(was if is_ is UNCHANGED and was is not None else is_ for is_, was in zip(new, old, strict=True))
        key, root = self._key(new), None
        old_key = key if old is None else self._key(old)
        if UNCHANGED in new:
            new, root = _filled(found, new, old_key)
        if old_key != key:
            self._delete(rows, old_key, lsn)
        rows.pop(key, None)  # the rows are in the order of their last changes
        rows[key] = LastChange(new, lsn, root)

    def _key(self, values: Key) -> Key:
        key = tuple([values[place] for place in self._key_places])
        if UNCHANGED in key:
            raise PipelineError(
                "an update does not have the values of the key, because they are large: set REPLICA IDENTITY FULL, and "
                "load the table with reload"
            )
        return key

    def _delete(self, rows: dict[Key, LastChange], key: Key, lsn: int) -> None:
        values: list[Any] = [None] * len(self.columns)
        for place, value in zip(self._key_places, key, strict=True):
            values[place] = value
        rows.pop(key, None)
        rows[key] = LastChange(tuple(values), lsn, is_delete=True)

    def _values(self, data: bytes, at: int) -> tuple[Key, int]:
        """Return the values of the declared columns in the row that begins at ``at``, and where the row ends."""
        if self._project is None or _USHORT(data, at)[0] != self._width:
            raise PipelineError("the log has a row that does not fit the description of its table")
        at += 2
        values: list[Any] = []
        for _ in range(self._width):
            kind = data[at]
            if kind == _TEXT:
                end = at + 5 + _UINT(data, at + 1)[0]
                values.append(data[at + 5 : end])
                at = end
            elif kind == _NULL:
                values.append(None)
                at += 1
            elif kind == _SAME:
                values.append(UNCHANGED)
                at += 1
            else:
                raise PipelineError(f"the log has a value of the unknown kind {bytes([kind])!r}")
        if at > len(data):
            raise IndexError
        if self._lacks:
            values.append(None)
        return self._project(values), at


def described(data: bytes) -> Relation:
    """Return the description in a message of the type Relation.

    Raises ValueError, IndexError or struct.error for a message that is cut off.
    """
    at = data.index(b"\0", data.index(b"\0", 5) + 1) + 1
    identity, (count,), at = chr(data[at]), _USHORT(data, at + 1), at + 3
    columns = []
    for _ in range(count):
        end = data.index(b"\0", at + 1)
        (type_oid,), (modifier,) = _UINT(data, end + 1), Struct("!i").unpack_from(data, end + 5)
        columns.append((data[at + 1 : end].decode(), type_oid, modifier, bool(data[at] & 1)))
        at = end + 9
    return Relation(identity, columns)


def _filled(found: NetChanges, new: Key, old_key: Key) -> tuple[Key, Key | None]:
    """Return the values of an update, completed from the row's last change; and ``root`` if some are still missing."""
    before = found.rows.get(old_key)
    if before is None and not found.is_truncated:
        return new, old_key
    if before is None or before.is_delete:
        raise PipelineError("the log changes a row that it has deleted before")
    new = tuple(was if is_ is UNCHANGED else is_ for is_, was in zip(new, before.values, strict=True))
    return new, before.root if UNCHANGED in new else None
