"""Net changes: the last change of each row of one table in some transactions, found by operations on whole columns.

When the log does not repeat a value, a row depends on its earlier changes. Tables with such rows are decoded message by
message (``pgoutput``), with the same result.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.change_rows import batch_of_changes
from paimon_lake.sources.postgres.pgoutput import Decoder, LaterColumns, described
from paimon_lake.sources.postgres.transactions import (
    BEGIN,
    DELETE,
    INSERT,
    RELATION,
    TRUNCATE,
    UPDATE,
    MessageColumns,
    Transactions,
    big_endian,
    cut_off,
)

_NULL, _TEXT, _SAME = b"ntu"
_LACKS = -1
"""The place of a column that the description does not have."""
_LARGE = 4096
"""Values of more bytes than this are copied one by one."""
_GATHER_BYTES = 1 << 20
"""How many bytes of short values are copied at once; a copy takes eight times this memory."""


@dataclass(frozen=True)
class NetBatch:
    """The changes of a table in some transactions: a batch as ``batch_of_changes`` returns it, and counts."""

    batch: pa.RecordBatch
    changes: int = 0
    """The number of changes in the log, where each version of a row counts."""
    transactions: int = 0
    is_truncated: bool = False
    """Whether a TRUNCATE removed all earlier rows."""


class _Undecided(Exception):
    """Raised when the columns alone do not show the last changes."""


@dataclass(frozen=True)
class _Values:
    """The positions of the values of some rows: arrays of columns by rows; a null has the length -1."""

    starts: np.ndarray
    lengths: np.ndarray
    ends: np.ndarray
    """The position at which each row ends."""


def net_changes(transactions: Transactions, decoder: Decoder, after: int, before: int = sys.maxsize) -> NetBatch:
    """Return the last change of each row of the decoder's table in some transactions.

    These are the transactions whose commit begins at ``after`` or later, and before ``before``. Raises PipelineError
    for invalid messages, and LaterColumns as ``Decoder.check`` does.
    """
    try:
        return _by_columns(transactions, decoder, after, before)
    except (IndexError, ValueError, struct.error):
        raise cut_off() from None
    except _Undecided:
        pass
    found, _ = decoder.read(transactions.messages, after, rows=sys.maxsize, size_bytes=sys.maxsize, before=before)
    places = [decoder.columns.index(name) for name in decoder.key]
    batch = batch_of_changes(found.rows, len(decoder.columns), places)
    return NetBatch(batch, found.changes, found.transactions, found.is_truncated)


def _by_columns(transactions: Transactions, decoder: Decoder, after: int, before: int) -> NetBatch:
    messages, found = transactions.messages, transactions.columns
    ours, seen = found.tables == decoder.relation, (found.lsns >= after) & (found.lsns < before)
    is_row = ours & seen & np.isin(found.kinds, (INSERT, UPDATE, DELETE))
    count = int((seen & (found.kinds == BEGIN)).sum())
    rows = np.flatnonzero(is_row)
    truncations = []
    for at in np.flatnonzero(seen & (found.kinds == TRUNCATE)).tolist():
        tables = struct.unpack_from("!I", messages[at], 1)[0]
        if decoder.relation in struct.unpack_from(f"!{tables}I", messages[at], 6):
            truncations.append(at)
    changes = np.concatenate([rows, np.array(truncations, np.int64)])
    names = _names(messages, found, np.flatnonzero(ours & (found.kinds == RELATION)), rows, changes, decoder)
    rows = rows[rows > truncations[-1]] if truncations else rows
    batch = _last(found, rows, names, decoder) if len(rows) else batch_of_changes({}, len(decoder.columns), ())
    return NetBatch(batch, len(changes), count, bool(truncations))


def _names(
    messages: list[bytes],
    found: MessageColumns,
    descriptions: np.ndarray,
    rows: np.ndarray,
    changes: np.ndarray,
    decoder: Decoder,
) -> list[str]:
    """Check each description that rows use, in their order; return the names of the columns that all descriptions have.

    ``descriptions``, ``rows`` and ``changes`` are the positions of messages; ``changes`` includes the truncations.
    """
    relations = [described(messages[at]) for at in descriptions.tolist()]
    used = np.searchsorted(descriptions, rows) - 1
    if len(used) and used[0] < 0:
        raise PipelineError("the log has a row that does not fit the description of its table")
    names: list[list[str]] = []
    used, first = np.unique(used, return_index=True)
    for at, row in zip(used.tolist(), rows[first].tolist(), strict=True):
        try:
            decoder.check(relations[at])
        except LaterColumns as later:
            later.lsn = int(found.lsns[row])
            later.follows = bool((found.lsns[changes] < later.lsn).any())
            raise
        names.append([name for name, *_ in relations[at].columns])
    if any(one != names[0] for one in names):
        raise _Undecided
    return names[0] if names else []


def _last(found: MessageColumns, rows: np.ndarray, names: list[str], decoder: Decoder) -> pa.RecordBatch:
    """Return the last change of each row; an update with an old row counts as a deletion of the old key and then the
    new row."""
    width, by_name = len(names), {name: place for place, name in enumerate(names)}
    places = [by_name.get(name, _LACKS) if name in decoder.may_lack else by_name[name] for name in decoder.columns]
    kinds, marks = found.kinds[rows], found.data[found.starts[rows] + 5]
    first, ends = found.starts[rows] + 6, found.ends[rows]
    has_old = (kinds == DELETE) | ((kinds == UPDATE) & np.isin(marks, list(b"KO")))
    old = _values(found.data, first[has_old], ends[has_old], places, width)
    begin = first.copy()
    begin[has_old] = old.ends + 1
    has_new = kinds != DELETE
    new = _values(found.data, begin[has_new], ends[has_new], places, width)
    keys = [decoder.columns.index(name) for name in decoder.key]
    order = np.concatenate([2 * np.flatnonzero(has_old), 2 * np.flatnonzero(has_new) + 1])
    in_order = np.argsort(order, kind="stable")
    starts = np.concatenate([old.starts, new.starts], axis=1)[:, in_order]
    lengths = np.concatenate([old.lengths, new.lengths], axis=1)[:, in_order]
    deleted = in_order < old.starts.shape[1]
    codes = np.zeros(len(order), np.int64)
    for place in keys:
        column = _binary(found.data, starts[place], lengths[place]).dictionary_encode(null_encoding="encode")
        codes = codes * len(column.dictionary) + column.indices.to_numpy()
        if len(keys) > 1:
            codes = np.unique(codes, return_inverse=True)[1]
    newest = np.full(int(codes.max(initial=-1)) + 1, -1)
    newest[codes] = np.arange(len(order))
    last = np.sort(newest[newest >= 0])
    starts, lengths, deleted = starts[:, last], lengths[:, last], deleted[last]
    lengths[np.ix_([at for at in range(len(places)) if at not in keys], deleted)] = -1
    lsns = found.lsns[rows][order[in_order][last] // 2]
    columns = {f"v{at}": _binary(found.data, starts[at], lengths[at]) for at in range(len(places))}
    return pa.RecordBatch.from_pydict({"lsn": pa.array(lsns), "deleted": pa.array(deleted), **columns})


def _values(data: np.ndarray, at: np.ndarray, ends: np.ndarray, places: list[int], width: int) -> _Values:
    """Return the positions of the values of the columns ``places`` in the rows at ``at``; null for ``_LACKS``."""
    if (big_endian(data, at, 2) != width).any():
        raise PipelineError("the log has a row that does not fit the description of its table")
    at = at + 2
    starts, lengths = np.zeros((len(places), len(at)), np.int64), np.full((len(places), len(at)), -1)
    targets = {place: index for index, place in enumerate(places)}
    for place in range(width):
        if (at >= ends).any():
            raise cut_off()
        kinds = data[at]
        is_text = kinds == _TEXT
        if not np.isin(kinds, (_NULL, _TEXT, _SAME)).all():
            unknown = kinds[~np.isin(kinds, (_NULL, _TEXT, _SAME))][0]
            raise PipelineError(f"the log has a value of the unknown kind {bytes([unknown])!r}")
        if place in targets and (kinds == _SAME).any():
            raise _Undecided
        length = np.where(is_text, big_endian(data, at + 1, 4), -1)
        if place in targets:
            starts[targets[place]], lengths[targets[place]] = at + 5, length
        at = np.where(is_text, at + 5 + length, at + 1)
        if (at > ends).any():
            raise cut_off()
    return _Values(starts, lengths, at)


def _binary(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """Return the bytes of ``lengths`` that begin at ``starts`` as one array; the length -1 means null."""
    sizes = np.maximum(lengths, 0)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    found = np.empty(int(offsets[-1]), np.uint8)
    large = np.flatnonzero(sizes > _LARGE)
    for at in large.tolist():
        found[offsets[at] : offsets[at + 1]] = data[starts[at] : starts[at] + sizes[at]]
    cuts = np.searchsorted(offsets, np.arange(_GATHER_BYTES, int(offsets[-1]), _GATHER_BYTES))
    bounds = np.unique(np.concatenate([[0], cuts, [len(starts)]]))
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        short = np.where(sizes[low:high] > _LARGE, 0, sizes[low:high])
        ends = np.cumsum(short)
        steps = np.arange(int(ends[-1])) - np.repeat(ends - short, short)
        found[np.repeat(offsets[low:high], short) + steps] = data[np.repeat(starts[low:high], short) + steps]
    valid = pa.array(lengths >= 0).buffers()[1]
    if int(offsets[-1]) >= 1 << 31:
        raise PipelineError("the changes have more than 2 GB in one column: lower batch_bytes and transaction_bytes")
    return pa.Array.from_buffers(
        pa.binary(), len(starts), [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(found)]
    )
