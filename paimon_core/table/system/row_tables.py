"""The system tables of rows: ``audit_log``, ``binlog``, ``ro`` and ``row_tracking``.

They are planned as an ordinary read, and so honour the pinned snapshot, the options ``scan.*`` and partition filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.levels import num_levels
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.read.kept_deletes import ROW_KIND, read_kinds
from paimon_core.read.split_reader import read_split
from paimon_core.scan.split import Split
from paimon_core.schema import SEQUENCE_FIELD, DataField
from paimon_core.table.query import Scan, new_scan
from paimon_core.table.system.system_table import Rows, SystemTable
from paimon_core.types import STRING, array_of

ROW_TABLES = ("audit_log", "binlog", "ro", "row_tracking")
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
    """Return the split with fewer files, or None."""

    def parts(self) -> Iterator[bytes]:
        """Yield the splits of one plan."""
        for split in self.scan().splits():
            chosen = self.select(self.context, split)
            if chosen is not None:
                yield chosen.to_bytes()

    def read(self, part: bytes) -> Iterator[pa.Table]:
        """Yield the rows of one split."""
        return self.read_rows(self.context, Split.from_bytes(part), self.columns)


def row_table(context: TableContext, pinned: Snapshot | None, kind: str, name: str) -> SystemTable:
    """Return the system table ``kind``, one of ``ROW_TABLES``; ``name`` is its full name.

    Raises UnsupportedFeature for a table that has no such system table.
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
        scan = SplitRows(
            context,
            lambda: new_scan(context, _latest(context, pinned), names, kept, None, pinned=pinned is not None),
            columns if kind in ("audit_log", "binlog") else tuple(names),
            _READS[kind],
        )
        return replace(scan, select=_top_level) if kind == "ro" and context.is_keyed else scan

    return SystemTable(name, fields, rows)


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
    """Return the files of the last level, each of which is read on its own; None when there are none."""
    top = num_levels(context.options) - 1
    files = tuple(f for f in split.files if f.level == top)
    if not files:
        return None
    raw = all(f.delete_row_count == 0 for f in files)
    layout = () if raw else tuple(((at,),) for at in range(len(files)))
    vectors = {name: v for name, v in split.vectors.items() if name in {f.file_name for f in files}}
    return replace(split, files=files, raw=raw, layout=layout, vectors=vectors)


def _in_arrays(context: TableContext, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield rows whose values are arrays of one element, as a batch read of Java's binlog has them."""
    for table in read_kinds(context, split, columns):
        offsets = pa.array(np.arange(len(table) + 1), pa.int32())
        arrays = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in (ROW_KIND, SEQUENCE_FIELD.name):
                arrays.append(column)
            else:
                values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
                arrays.append(pa.ListArray.from_arrays(offsets, values))
        yield pa.Table.from_arrays(arrays, names=table.column_names)


_READS = {"audit_log": read_kinds, "binlog": _in_arrays, "ro": read_split, "row_tracking": read_split}
