"""Keyed difference: finds how the row of each key differs between two versions of one place, by key windows.

A place is a bucket, or a whole partition. A file that both versions have is read only if its key range overlaps with a
file that only one version has. No file is read twice: the rows of all files in one range of keys (a window) are merged
once to the rows of the earlier version, and once to the rows of the later version. The comparison needs the memory of a
merge (``lsm.key_windows``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from paimon_core.lsm.changelog import Changes, told
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.equality import equal_values, same_rows
from paimon_core.lsm.key_groups import key_codes
from paimon_core.lsm.key_order import KeyOrder, SortKey, key_order
from paimon_core.lsm.key_windows import WINDOW_ROWS, windows
from paimon_core.lsm.lookup import holds_states, with_level
from paimon_core.lsm.merge import merge_runs
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.metadata.context import TableContext
from paimon_core.plan.changed_places import ChangedPlace, Part
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import KIND_FIELD, SEQUENCE_FIELD, VALUE_KIND

_COMMON, _BEFORE, _AFTER = range(3)
_Owned = tuple[int, Part]
"""The owner of a part, and the part, which is a file with its deletion vector. The owner states the versions that have
the part: _COMMON (both), _BEFORE or _AFTER."""


def keyed_difference(context: TableContext, group: ChangedPlace) -> Iterator[pa.Table]:
    """Yield the changed rows of one bucket or partition in key order, with all columns and ``_VALUE_KIND``.

    A new key gives a row +I, a removed key a row -D, and a key whose row differs gives a row -U and then a row +U. NaN
    equals NaN, -0.0 equals 0.0, and the order of the entries of a map does not matter.
    """
    merging = _Merging.of(context, group.place[0])
    parts: list[_Owned] = [
        *((_COMMON, part) for part in group.common),
        *((_BEFORE, part) for part in group.before),
        *((_AFTER, part) for part in group.after),
    ]
    for section in _sections(parts, merging.order):
        if any(owner != _COMMON for owner, _ in section):
            yield from merging.differences(section)


@dataclass(frozen=True, slots=True)
class _Merging:
    """The settings of the merges of one partition, such as the merge engine and the key order."""

    context: TableContext
    partition: bytes
    engine: MergeEngine
    order: KeyOrder
    leveled: bool

    @staticmethod
    def of(context: TableContext, partition: bytes) -> _Merging:
        schema, options = context.schema, context.options
        order = key_order([f.type for f in schema.key_fields])
        return _Merging(context, partition, merge_engine(schema, options), order, holds_states(options))

    def differences(self, section: Sequence[_Owned]) -> Iterator[pa.Table]:
        runs = sorted(_runs(section, self.order), key=_age)
        rows = [self._rows(run, len(runs)) for _, run in runs]
        owners = [owner for owner, _ in runs]
        key = self.context.schema.trimmed_primary_keys
        tagged = [map(partial(_tagged, number), run) for number, run in enumerate(rows)]
        for window in windows(tagged, key, WINDOW_ROWS):
            pieces = [(owners[piece[_RUN][0].as_py()], piece.drop_columns([_RUN])) for piece in window if len(piece)]
            pieces = _with_changed_keys(pieces, key)
            before = self._merged([piece for owner, piece in pieces if owner != _AFTER])
            after = self._merged([piece for owner, piece in pieces if owner != _BEFORE])
            told = _difference(before, after, key, [f.name for f in self.context.schema.fields])
            if len(told):
                yield told

    def _rows(self, run: Sequence[Part], beside: int) -> Iterator[pa.RecordBatch]:
        fields = (*self.context.schema.fields, SEQUENCE_FIELD, KIND_FIELD)

        def read(part: Part) -> Iterator[pa.RecordBatch]:
            reader = BucketReader(self.context, self.partition, part.bucket, vectors=part.vectors)
            batches = reader.file(part.file, fields, beside=beside)
            return (with_level(batch, part.file.level) for batch in batches) if self.leveled else batches

        return chain.from_iterable(map(read, run))

    def _merged(self, pieces: Sequence[pa.Table]) -> pa.Table:
        """Return the merged rows of one version in a window, without deleted rows."""
        schema = self.context.schema
        names = [*schema.names, VALUE_KIND]
        merged = merge_runs(
            [iter(piece.combine_chunks().to_batches()) for piece in pieces],
            key=schema.trimmed_primary_keys,
            order=MergeOrder.of(self.context.options),
            engine=self.engine,
            drop_deletes=True,
            window_rows=1 << 62,
            columns=names,
        )
        result = pa.schema([*(f.arrow for f in schema.fields), KIND_FIELD.arrow])
        found = [pa.Table.from_arrays(table.columns, schema=result) for table in merged] if pieces else []
        return pa.concat_tables(found) if found else result.empty_table()


_RUN = "\x00run"


def _tagged(number: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(_RUN, pa.array(np.full(len(batch), number, np.int32)))


def _with_changed_keys(pieces: list[tuple[int, pa.Table]], key: Sequence[str]) -> list[tuple[int, pa.Table]]:
    """Return the rows of a window without rows that are certainly unchanged.

    A row of a common file is unchanged if all files with its key are common to both versions.
    """
    if all(owner != _COMMON for owner, _ in pieces):
        return pieces
    if all(owner == _COMMON for owner, _ in pieces):
        return []
    codes = key_codes(pa.concat_tables([rows.select(key) for _, rows in pieces]), key)
    ends = np.cumsum([len(rows) for _, rows in pieces])
    by_piece = np.split(codes, ends[:-1])
    changed = np.unique(np.concatenate([c for c, (owner, _) in zip(by_piece, pieces, strict=True) if owner != _COMMON]))
    found = []
    for own, (owner, rows) in zip(by_piece, pieces, strict=True):
        if owner == _COMMON:
            at = np.minimum(np.searchsorted(changed, own), len(changed) - 1)
            rows = rows.filter(pa.array(changed[at] == own))
        if len(rows):
            found.append((owner, rows))
    return found


def _sections(parts: Sequence[_Owned], order: KeyOrder) -> Iterator[list[_Owned]]:
    """Yield the files in sections; the key ranges of two sections do not overlap."""
    section: list[_Owned] = []
    bound: SortKey = ()
    for owned in sorted(parts, key=lambda p: order(p[1].file.min_key)):
        file = owned[1].file
        if section and order(file.min_key) > bound:
            yield section
            section = []
        last = order(file.max_key)
        bound = max(bound, last) if section else last
        section.append(owned)
    if section:
        yield section


def _runs(section: Sequence[_Owned], order: KeyOrder) -> list[tuple[int, list[Part]]]:
    """Return the files of a section as sorted runs; all files of a run belong to the same versions."""
    runs: list[tuple[int, list[Part]]] = []
    for owner, part in section:
        for known, run in runs:
            if known == owner and order(run[-1].file.max_key) < order(part.file.min_key):
                run.append(part)
                break
        else:
            runs.append((owner, [part]))
    return runs


def _age(run: tuple[int, list[Part]]) -> tuple[int, int, int]:
    files = [part.file for part in run[1]]
    return (
        -max(f.level for f in files),
        max(f.max_sequence_number for f in files),
        min(f.min_sequence_number for f in files),
    )


def _difference(before: pa.Table, after: pa.Table, key: Sequence[str], names: Sequence[str]) -> pa.Table:
    """Return the changes between two tables with one row per key, sorted by key."""
    codes = key_codes(pa.concat_tables([before.select(key), after.select(key)]), key)
    left, right = codes[: len(before)], codes[len(before) :]
    keys = np.union1d(left, right)
    old, new = _places(left, keys), _places(right, keys)
    both = np.flatnonzero((old >= 0) & (new >= 0))
    pairs = before.take(pa.array(old[both])), after.take(pa.array(new[both]))
    touched = np.ones(len(keys), np.bool_)
    touched[both] = ~same_rows(*pairs, [name for name in names if name not in key], equal_values)
    changes = Changes.of(before, old[touched], after, new[touched], None)
    return told(before, after, changes, after.column_names)


def _places(codes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return for each of ``keys`` its position in ``codes``, or -1 if ``codes`` lacks it; both arrays ascend."""
    out = np.full(len(keys), -1, np.int64)
    out[np.searchsorted(keys, codes)] = np.arange(len(codes))
    return out
