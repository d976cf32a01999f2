"""Transactions: read whole transactions of the log once, for all tables that share a slot.

Memory: the messages of the tables, up to ``size_bytes`` and the remaining messages of one transaction.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.lsn import lsn_text

BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE = b"BCRIUDT"
_ROWS = b"IUD"
_KNOWN = b"BCRIUDTYO"
_UINT, _LSN = struct.Struct("!I").unpack_from, struct.Struct("!Q").unpack_from
_SHORTEST = 8
"""The bytes before the values of a row: the type of the message, the table, the kind and the number of values."""


@dataclass
class Transactions:
    """Whole transactions, in the order of their commits, with the changes of some tables."""

    messages: list[bytes] = field(default_factory=list)
    """The messages of pgoutput, without the rows of other tables and without transactions before the position."""
    end: int = 0
    """The LSN at which the commit of the last transaction ends; 0 without transactions."""
    read: int = 0
    """The number of messages of the slot that were read."""
    is_full: bool = False
    """Whether reading stopped because the bounds are reached: later transactions were not read."""
    is_at_end: bool = False
    """Whether reading stopped at a transaction whose commit begins at ``before`` or later."""

    @cached_property
    def columns(self) -> MessageColumns:
        """The beginnings of the messages as columns; raises PipelineError for a message that is cut off."""
        return _columns(self.messages)


@dataclass(frozen=True)
class MessageColumns:
    """The bytes of all messages, and arrays with one value for each message."""

    data: np.ndarray
    """The bytes of all messages, followed by some zeros."""
    starts: np.ndarray
    ends: np.ndarray
    kinds: np.ndarray
    tables: np.ndarray
    """The object identifiers of the tables of rows and descriptions."""
    lsns: np.ndarray
    """The LSN at which the commit of each message's transaction begins."""


def read_transactions(
    messages: Iterable[bytes],
    tables: Collection[int],
    after: int,
    before: int,
    *,
    rows: int,
    size_bytes: int,
    most_bytes: int,
) -> Transactions:
    """Return the transactions whose commit begins at ``after`` or later, and before ``before``, with changes of
    ``tables``.

    Stops after the transaction with which ``rows`` changes or ``size_bytes`` are reached. Raises PipelineError for a
    transaction with more than ``most_bytes`` of changes, and for messages that are not valid.
    """
    try:
        return _read(messages, tables, (after, before), rows, size_bytes, most_bytes)
    except (IndexError, struct.error):
        raise cut_off() from None


def _read(
    messages: Iterable[bytes],
    tables: Collection[int],
    window: tuple[int, int],
    rows: int,
    size_bytes: int,
    most_bytes: int,
) -> Transactions:
    found = Transactions()
    kept, ours = found.messages, {table.to_bytes(4, "big") for table in tables}
    lsn, skips, size, changes, total = 0, False, 0, 0, 0
    for data in messages:
        kind = data[0]
        found.read += 1
        if kind in _ROWS:
            if skips or data[1:5] not in ours:
                continue
            size += len(data)
            changes += 1
            if size > most_bytes:
                raise PipelineError(
                    f"the transaction that is committed at {lsn_text(lsn)} has more than {most_bytes:,} bytes: raise "
                    "source.transaction_bytes, or load the table with reload"
                )
        elif kind == BEGIN:
            (lsn,), size = _LSN(data, 1), 0
            skips = lsn < window[0]
            if lsn >= window[1]:
                found.is_at_end = True
                break
            if skips:
                continue
        elif kind == COMMIT:
            if skips:
                continue
            kept.append(data)
            (found.end,) = _LSN(data, 10)
            if changes >= rows or total >= size_bytes:
                found.is_full = True
                break
            continue
        elif kind == RELATION:
            if data[1:5] not in ours:
                continue
        elif kind not in _KNOWN:
            raise PipelineError(f"the log has a message of the unknown type {bytes([kind])!r}")
        elif skips or kind != TRUNCATE:
            continue
        else:
            changes += 1
        kept.append(data)
        total += len(data)
    return found


def _columns(messages: list[bytes]) -> MessageColumns:
    data = np.frombuffer(b"".join(messages) + bytes(32), np.uint8)
    ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(ends) else ends
    kinds = data[starts]
    if (ends - starts < _SHORTEST).any():
        raise cut_off()
    begins = np.flatnonzero(kinds == BEGIN)
    lsns = np.zeros(len(messages), np.int64)
    if len(begins):
        of_each = np.cumsum(kinds == BEGIN) - 1
        lsns = np.where(of_each < 0, 0, big_endian(data, starts[begins] + 1, 8)[of_each])
    return MessageColumns(data, starts, ends, kinds, big_endian(data, starts + 1, 4), lsns)


def big_endian(data: np.ndarray, at: np.ndarray, width: int) -> np.ndarray:
    """Return the whole numbers of ``width`` bytes that begin at the places ``at``."""
    found = np.zeros(len(at), np.int64)
    for offset in range(width):
        found = (found << 8) | data[at + offset]
    return found


def cut_off() -> PipelineError:
    """Return the error for a message that ends too early."""
    return PipelineError("the log has a message that is cut off")
