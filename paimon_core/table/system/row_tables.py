"""The system tables of rows: ``audit_log``, ``binlog``, ``ro`` and ``row_tracking``.

These tables are planned like an ordinary read: the pinned snapshot, the options ``scan.*`` and partition filters apply.
Under the options ``incremental-*``, ``audit_log`` and ``binlog`` have the changes between two versions: the rows as
they were written, with their kinds, or in mode "diff" the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.levels import num_levels
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.known_deletes import has_no_deletes
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options.scan_position import scan_position, selects_changes
from paimon_core.plan.split import Split
from paimon_core.predicate import Predicate
from paimon_core.query.scan import Scan, new_scan
from paimon_core.read.kept_deletes import ROW_KIND, read_kinds
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.schema import SEQUENCE_FIELD, DataField
from paimon_core.table.changes.incremental import DifferenceRows, incremental_scan
from paimon_core.table.system.system_table import Rows, SystemTable
from paimon_core.types import STRING, array_of

ROW_TABLES = ("audit_log", "binlog", "ro", "row_tracking")
_WITH_KINDS = ("audit_log", "binlog")
_COMPUTED = b"\0arrow"
"""The first bytes of a part that contains rows instead of a split."""
_SEQUENCE_OPTION = "table-read.sequence-number.enabled"
_KIND = DataField(SEQUENCE_FIELD.id - 2, ROW_KIND, STRING.with_nullable(False))


@dataclass(frozen=True)
class SplitRows:
    """Rows that are read split by split; a part is a serialized split."""

    context: TableContext
    scan: Callable[[], Scan]
    columns: tuple[str, ...]
    read_rows: Callable[[TableContext, Split, Sequence[str]], Iterator[pa.Table]]
    select: Callable[[TableContext, Split], Split | None] = lambda context, split: split
    """Returns the split to read, possibly with fewer files; None to leave it out."""

    def parts(self) -> Iterator[bytes]:
        """Yield the serialized splits of one plan; for a difference of versions, yield parts that contain the rows."""
        scan = self.scan()
        if isinstance(scan.source, DifferenceRows):
            yield from self._differences(scan, scan.source)
            return
        for split in scan.splits():
            chosen = self.select(self.context, split)
            if chosen is not None:
                yield chosen.to_bytes()

    def read(self, part: bytes) -> Iterator[pa.Table]:
        """Yield the rows of one part."""
        if part.startswith(_COMPUTED):
            return iter([pa.ipc.open_stream(part[len(_COMPUTED) :]).read_all()])
        return self.read_rows(self.context, Split.from_bytes(part), self.columns)

    def _differences(self, scan: Scan, source: DifferenceRows) -> Iterator[bytes]:
        if SEQUENCE_FIELD.name in self.columns:
            raise UnsupportedFeature(
                f"table {self.context.name}: a difference of versions has no sequence numbers: leave the column out",
                option=_SEQUENCE_OPTION,
            )
        rows = source.changes(scan, self.columns)
        for table in as_pairs(rows) if self.read_rows is _in_pairs else rows:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            yield _COMPUTED + sink.getvalue().to_pybytes()


def row_table(context: TableContext, pinned: Snapshot | None, kind: str, name: str) -> SystemTable:
    """Return the system table ``kind``, one of ``ROW_TABLES``; ``name`` is its full name.

    Raises UnsupportedFeature for a table that does not have this system table.
    """
    if kind == "row_tracking":
        if not context.tracks_rows:
            raise UnsupportedFeature(
                f"{name}: table {context.name} has no row ids (option row-tracking.enabled)", table=context.name
            )
        context = context if context.schema.is_tracked else context.tracked()
    data = context.schema.fields
    fields = data if kind in ("ro", "row_tracking") else (*_kind_fields(context, name), *data)
    if kind == "binlog":
        fields = tuple(_as_array(f) if f in data else f for f in fields)

    def rows(wanted: tuple[DataField, ...], where: Predicate | None) -> Rows:
        columns = tuple(f.name for f in wanted if f.name != ROW_KIND)
        names = [c for c in columns if c in context.schema.by_name] or context.schema.names[:1]
        kept = None if where is None or kind == "binlog" else where.only(context.schema.names)
        asked = changes_asked(context, pinned, kind)
        scan = SplitRows(
            context,
            lambda: (
                new_scan(context, _latest(context, pinned), names, kept, None, pinned=pinned is not None)
                if asked is None
                else incremental_scan(context, *asked, names, kept, None)
            ),
            columns if kind in _WITH_KINDS else tuple(names),
            _in_pairs if asked is not None and kind == "binlog" else _READS[kind],
        )
        return replace(scan, select=_top_level) if kind == "ro" and context.is_keyed else scan

    return SystemTable(name, fields, rows)


def changes_asked(context: TableContext, pinned: Snapshot | None, kind: str) -> tuple[str, Any] | None:
    """Return the option that selects changes, and its value.

    None without such an option, and for a ``kind`` that cannot show changes.
    """
    asked = scan_position(context.options) if pinned is None and kind in _WITH_KINDS else None
    return asked if asked is not None and selects_changes(*asked) else None


def _latest(context: TableContext, pinned: Snapshot | None) -> Snapshot | None:
    return pinned or context.snapshots.latest()


def _kind_fields(context: TableContext, name: str) -> tuple[DataField, ...]:
    if not context.options[_SEQUENCE_OPTION]:
        return (_KIND,)
    if not context.is_keyed:
        raise UnsupportedFeature(
            f"{name}: rows of the append table {context.name} have no sequence numbers (option {_SEQUENCE_OPTION})",
            option=_SEQUENCE_OPTION,
        )
    return _KIND, SEQUENCE_FIELD


def _as_array(f: DataField) -> DataField:
    return replace(f, type=array_of(f.type.with_nullable(True)))


def _top_level(context: TableContext, split: Split) -> Split | None:
    """Return the split with only the files of the last level, which are not merged; None when there is no such file."""
    top = num_levels(context.options) - 1
    files = tuple(f for f in split.files if f.level == top)
    if not files:
        return None
    raw = all(has_no_deletes(f, context.options) for f in files)
    layout = () if raw else tuple(((at,),) for at in range(len(files)))
    vectors = {name: v for name, v in split.vectors.items() if name in {f.file_name for f in files}}
    return replace(split, files=files, raw=raw, layout=layout, vectors=vectors)


def _visible(context: TableContext, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
    return read_split(context, split, ReadRequest(columns))


def _in_arrays(context: TableContext, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield rows whose values are arrays of one element, as in a batch read of Java's binlog."""
    for table in read_kinds(context, split, columns):
        yield _grouped(table, np.arange(len(table)))


def _in_pairs(context: TableContext, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
    return as_pairs(read_kinds(context, split, columns))


def as_pairs(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield rows whose values are arrays: a row of kind -U and the row after it become one row, as in Java's binlog."""
    held: pa.Table | None = None
    for table in tables:
        rows = table if held is None else pa.concat_tables([held, table])
        before = pc.equal(rows[ROW_KIND], "-U").to_numpy()
        cut = len(rows) - bool(len(rows) and before[-1])
        held = rows.slice(cut) if cut < len(rows) else None
        is_second = np.zeros(cut, bool)
        is_second[1:] = before[: max(0, cut - 1)]
        yield _grouped(rows.slice(0, cut), np.flatnonzero(~is_second))
    if held is not None:
        yield _grouped(held, np.arange(1))


def _grouped(table: pa.Table, starts: np.ndarray[Any, Any]) -> pa.Table:
    """Return one row per group of rows: arrays of their values, the last row kind, and the first sequence number."""
    bounds = np.append(starts, len(table))
    offsets = pa.array(bounds, pa.int32())
    arrays = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if name == ROW_KIND:
            arrays.append(values.take(pa.array(bounds[1:] - 1)))
        elif name == SEQUENCE_FIELD.name:
            arrays.append(values.take(pa.array(starts)))
        else:
            arrays.append(pa.ListArray.from_arrays(offsets, values))
    return pa.Table.from_arrays(arrays, names=table.column_names)


_READS = {"audit_log": read_kinds, "binlog": _in_arrays, "ro": _visible, "row_tracking": _visible}
