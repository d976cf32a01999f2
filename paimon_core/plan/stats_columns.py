"""Statistics of many files as columns: tests a filter without decoding the statistics of each file (format 4.5).

Only the columns that the filter uses are decoded, each column for all files at once. Some statistics cannot be decoded
as columns, for example statistics of wide decimals and damaged statistics. Files with such statistics are tested one by
one, by the tests of ``prune``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paimon_core.metadata.manifests.recorded_bounds import recorded_bounds
from paimon_core.plan.entry_table import EntryTable, Mask, Numbers, StatsBytes
from paimon_core.plan.prune import Bounds, KeyPruner, StatsRow, ValuePruner
from paimon_core.types import STRING_ROOTS, DataType

Triple = tuple[Any, Any, int | None]
"""Minimum, maximum and null count; None: unknown."""

_UNKNOWN: Triple = (None, None, None)


def key_matches(key: KeyPruner, table: EntryTable, at: Numbers) -> Mask:
    """Return one boolean per file at the given positions: whether it may contain a selected key.

    Raises CorruptTable for statistics that do not decode.
    """
    found = _columns(table.key_stats(at), key.row)
    if found is None:
        return np.fromiter((key.keeps(e.file) for e in table.entries(at)), bool, len(at))
    rows = table.row_count[at].tolist()
    return _tested(key, list(found), [{}] * len(at), list(found.values()), rows)


def value_matches(value: ValuePruner, table: EntryTable) -> Mask:
    """Return one boolean per file: whether a row may match, by statistics and indexes.

    Raises CorruptTable for statistics, partitions or indexes that do not decode.
    """
    out = np.zeros(len(table), bool)
    for number, (schema_id, names) in enumerate(table.covers):
        at = np.flatnonzero(table.cover == number)
        if len(at):
            out[at] = _of_cover(value, table, at, schema_id, names)
    if value.index is not None:
        indexed = np.flatnonzero(out & table.indexed)
        out[indexed] = [value.index.may_match(e.file) for e in table.entries(indexed)]
    return out


def _of_cover(
    value: ValuePruner, table: EntryTable, at: Numbers, schema_id: int, names: tuple[str, ...] | None
) -> Mask:
    cover = value.cover(schema_id, names)
    columns = _columns(table.value_stats(at), cover.row)
    keys = _columns(table.key_stats(at), value.key)
    if columns is None or keys is None or value.schema.is_tracked:
        return np.fromiter((value.keeps(e.partition, e.file) for e in table.entries(at)), bool, len(at))
    rows = table.row_count[at].tolist()
    columns |= {name: [(None, None, count) for count in rows] for name in cover.absent}
    for name, found in keys.items():
        known = columns.get(name, [_UNKNOWN] * len(at))
        columns[name] = [k if k is not _UNKNOWN else v for k, v in zip(found, known, strict=True)]
    codes = table.partition[at].tolist()
    file = table.entries(at[:1])[0].file.file_name  # the name of any of the files, for error texts
    constant: dict[int, Bounds] = {
        code: value.partition.constant(table.partitions[code], 1, file) for code in set(codes)
    }
    nulls = {code for code, bounds in constant.items() if any(count for _, _, count in bounds.values())}
    fixed = [
        constant[code]
        if code not in nulls
        else {name: (low, high, count and rows[i]) for name, (low, high, count) in constant[code].items()}
        for i, code in enumerate(codes)
    ]
    return _tested(value, list(columns), fixed, list(columns.values()), rows)


def _tested(
    pruner: KeyPruner | ValuePruner,
    names: Sequence[str],
    fixed: Sequence[Bounds],
    columns: Sequence[Sequence[Triple]],
    rows: Sequence[int],
) -> Mask:
    may_match = pruner.where.may_match
    each = zip(*columns, strict=True) if columns else iter([()] * len(rows))
    return np.fromiter(
        (
            may_match({**dict(zip(names, triples, strict=True)), **bounds}, count)
            for triples, bounds, count in zip(each, fixed, rows, strict=True)
        ),
        bool,
        len(rows),
    )


def _columns(stats: StatsBytes, row: StatsRow) -> dict[str, list[Triple]] | None:
    """Return, for each column that a filter uses, the bounds of all files.

    Return None when only the row decoder can decode the statistics.
    """
    if not row.names:
        return {}
    present = stats.present()
    low, high = stats.rows(stats.low, present, row.arity), stats.rows(stats.high, present, row.arity)
    if not low.are_complete() or not high.are_complete():
        return None
    counts = [stats.null_counts[i] for i in np.flatnonzero(present).tolist()]
    out: dict[str, list[Triple]] = {}
    for at, name, dtype in row.names:
        lows, highs = low.values(at, dtype), high.values(at, dtype)
        if lows is None or highs is None:
            return None
        nulls = [found[at] if len(found) == row.arity else None for found in counts]
        triples = _triples(lows, highs, nulls, dtype)
        if len(triples) < len(present):
            whole = [_UNKNOWN] * len(present)
            for i, triple in zip(np.flatnonzero(present).tolist(), triples, strict=True):
                whole[i] = triple
            triples = whole
        out[name] = triples
    return out


def _triples(lows: list[Any], highs: list[Any], nulls: list[int | None], dtype: DataType) -> list[Triple]:
    each = zip(lows, highs, nulls, strict=True)
    if dtype.root not in STRING_ROOTS and not any(n is not None and n < 0 for n in nulls):
        return list(each)
    return [recorded_bounds(low, high, count, dtype) for low, high, count in each]
