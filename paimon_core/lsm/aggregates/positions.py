"""Positions: the row of each group that provides a value (format 9.5); groups may be empty and need not be compact.

A position is a row of the table, or -1 for none. Functions first choose positions, then take the values in one call, so
that the time depends little on the column's type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.gather import Flags, Positions, Rows, contiguous, scratch, take, taken
from paimon_core.lsm.key_groups import Groups


def valid_rows(column: pa.ChunkedArray) -> Flags | None:
    """Return one boolean per row: whether its value is not null. Return None when no value is null."""
    if not column.null_count:
        return None
    return np.concatenate([_valid(chunk) for chunk in column.chunks])


def _valid(chunk: pa.Array) -> Flags:
    if not chunk.null_count:
        return np.ones(len(chunk), np.bool_)
    bits = np.frombuffer(chunk.buffers()[0], np.uint8)  # numpy unpacks bits several times faster than Arrow
    first, end = chunk.offset // 8, (chunk.offset + len(chunk) + 7) // 8
    flags = np.unpackbits(bits[first:end], bitorder="little")[chunk.offset % 8 :][: len(chunk)]
    return flags.view(np.bool_)


def by_nulls(rows: pa.Table, columns: Iterable[str]) -> Iterator[tuple[Flags, list[str]]]:
    """Yield groups of ``columns`` with nulls in the same rows: one boolean per row, false for null, and the columns.

    Columns without nulls are left out. Columns that one source writes often have their values in the same rows, so that
    positions need to be computed once for all of them.
    """
    found: dict[bytes, list[str]] = {}
    for name in columns:
        if (valid := valid_rows(rows[name])) is not None:
            found.setdefault(np.packbits(valid).tobytes(), []).append(name)
    for same in found.values():
        if (valid := valid_rows(rows[same[0]])) is not None:
            yield valid, same


def last_where(rows: Flags | None, groups: Groups) -> Positions:
    """Return the last row of each group for which ``rows`` is true, or -1; ``rows`` None: true for all rows."""
    if groups.has_empty:
        filled = groups.lengths > 0
        found = np.full(len(groups), -1, np.int64)
        found[filled] = last_where(rows, groups.keep(filled))
        return found
    if rows is None:
        return groups.last
    versions = groups.versions
    found = np.where(taken(rows, versions.first), versions.first, -1)
    for numbers, later in (*versions.steps, versions.rest):
        chosen = np.flatnonzero(taken(rows, later))
        found[taken(numbers, chosen)] = taken(later, chosen)  # of several rows of a group, the last one is kept
    return found


def last_valid(valid: Flags, last: Rows, previous: Rows) -> Positions:
    """Return for each key its last row for which ``valid`` is true, or -1.

    ``last``: the last row of each key. ``previous``: for each row, the position plus 1 of the row of its key before it,
    or 0.
    """
    found = scratch(len(last), np.int64)
    found[:] = last
    wrong = np.flatnonzero(~taken(valid, found))
    rows = found.take(wrong)
    while len(wrong):
        rows = previous.take(rows).astype(np.int64) - 1
        found[wrong] = rows
        left = np.flatnonzero((rows >= 0) & ~valid.take(rows, mode="wrap"))
        wrong, rows = wrong.take(left), rows.take(left)
    return found


def first_where(rows: Flags | None, groups: Groups) -> Positions:
    """Return the first row of each group for which ``rows`` is true, or -1; ``rows`` None: true for all rows."""
    if rows is None and not groups.has_empty:
        return groups.first
    places = groups.starts
    if rows is not None and len(groups):
        chosen = rows[groups.order]
        none = len(chosen)
        nearest = np.minimum.accumulate(np.where(chosen, np.arange(none), none)[::-1])[::-1]
        places = np.append(nearest, none)[places]
    return _rows(places, places < groups.ends, groups)


def take_or_null(column: pa.ChunkedArray, positions: Positions) -> pa.ChunkedArray:
    """Return the values at ``positions``, in that order; null at -1."""
    missing = positions < 0
    if not missing.any():
        return take(column, positions)
    if not len(column) or not pa.types.is_primitive(column.type) or pa.types.is_boolean(column.type):
        return take(column, pa.array(positions, mask=missing))
    # Arrow takes numbers several times slower if the values or the positions have nulls.
    rows = np.maximum(positions, 0, out=scratch(len(positions), positions.dtype))
    valid = valid_rows(column)
    known = ~missing if valid is None else taken(valid, rows) & ~missing
    array = contiguous(column)
    bare = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], 0, array.offset)
    values = pc.take(bare, pa.array(rows), boundscheck=False)
    nulls = pa.array(known).buffers()[1]
    return pa.chunked_array([pa.Array.from_buffers(values.type, len(values), [nulls, values.buffers()[1]])])


def _rows(places: Positions, found: Flags, groups: Groups) -> Positions:
    """Return one row per group: the row at its place in the groups' order if ``found`` is true, otherwise -1."""
    if found.all():
        return groups.order[places]
    rows = np.full(len(groups), -1, np.int64)
    rows[found] = groups.order[places[found]]
    return rows
