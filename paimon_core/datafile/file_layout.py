"""FileLayout: the common settings of all files of one kind in a table, computed once for thousands of small files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from paimon_core.codec.binary_row.rows import row_encoder, storage_values
from paimon_core.datafile.compressions import codec_of
from paimon_core.datafile.evolution.nested_arrays import has_required
from paimon_core.datafile.file_format import FileOutput
from paimon_core.datafile.file_plan import FilePlan
from paimon_core.datafile.parquet.parquet_schema import ParquetShape
from paimon_core.datafile.statistics.column_statistics import Bounds, StatsEncoder, ValueStats
from paimon_core.datafile.statistics.stats_modes import has_bounds, key_modes, value_modes
from paimon_core.errors import SchemaMismatch
from paimon_core.fileindex.builder import indexed_fields
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema


class FileLayout:
    """The columns of the files of one ``plan`` in a table, and the settings to check, encode and summarize rows."""

    def __init__(self, schema: TableSchema, options: TableOptions, plan: FilePlan) -> None:
        self.schema = schema
        self.options = options
        self.plan = plan
        self.target_bytes = options.target_file_bytes(keyed=bool(schema.primary_keys))
        self.fields: tuple[DataField, ...] = schema.file_fields
        self.names = [f.name for f in self.fields]
        self.types = [f.type.to_arrow() for f in self.fields]
        self.floating = [at for at, t in enumerate(self.types) if pa.types.is_floating(t)]
        """The positions of the floating-point columns, which may contain NaN."""
        self.required_members = [at for at, t in enumerate(self.types) if has_required(t)]
        """The positions of the nested columns that have NOT NULL members."""
        key = schema.key_fields
        self.key_fields = self.fields[: len(key)]
        self.tracked = not key and schema.is_tracked
        """Whether the rows have their ids and sequence numbers in the file (format 17)."""
        of_keys, of_values = key_modes(schema, options, plan), value_modes(schema, options, plan)
        self.key_stats = StatsEncoder(self.key_fields, of_keys)
        self.value_stats = ValueStats(schema.fields, of_values, dense=options["metadata.stats-dense-store"])
        between = len(self.fields) - len(key) - len(schema.fields)
        self.bounded = [*map(has_bounds, of_keys), *[False] * between, *map(has_bounds, of_values)]
        """For each column, whether a manifest stores its bounds."""
        self._left_out = len(key) if options["data-file.thin-mode"] else 0
        self.stored_fields = self.fields[self._left_out :]
        """The columns that the files store: all columns, or with option data-file.thin-mode all except ``_KEY_*``."""
        self._key_places = [self.names.index(f.name) for f in key] if self._left_out else []
        self.indexed = indexed_fields(options.file_indexes, schema.by_name) if plan.indexed else ()
        """The file indexes of the value columns."""
        self._encode_key = row_encoder(tuple(f.type for f in self.key_fields))
        self._required = [at for at, f in enumerate(self.fields) if not f.type.nullable]

    @cached_property
    def parquet(self) -> ParquetShape:
        """The schema and writer settings of a Parquet file with these columns."""
        return ParquetShape.of(self.stored_fields, self.options, codec_of("parquet", self.plan.compression))

    @cached_property
    def stored_bounded(self) -> list[bool]:
        """For each stored column: whether a manifest stores its bounds, or the bounds of the equal key column."""
        bounded = list(self.bounded)
        for at, place in enumerate(self._key_places):
            bounded[place] = bounded[place] or bounded[at]
        return bounded[self._left_out :]

    def stored(self, rows: pa.Table) -> pa.Table:
        """Return ``rows``, which have all columns, with only the columns that the files store."""
        return rows.select(range(self._left_out, len(self.fields))) if self._left_out else rows

    def bounds(self, output: FileOutput, null_counts: list[int], has_nan: list[bool]) -> list[Bounds]:
        """Return the bounds of all columns from a finished file.

        A key column that is not stored gets the bounds of the value column with the same values.
        """
        # NaN is not ordered, so a column with NaN has no bounds.
        left = self._left_out
        without = [nan or not bounded for nan, bounded in zip(has_nan[left:], self.stored_bounded, strict=True)]
        found = output.bounds(null_counts[left:], without)
        if not left:
            return found
        keys = [found[place - left] for place in self._key_places]
        return [
            b if bounded else Bounds(None, None, b.null_count)
            for b, bounded in zip([*keys, *found], self.bounded, strict=True)
        ]

    def check(self, table: pa.Table) -> None:
        """Raise SchemaMismatch unless the table has exactly the file's columns and types, and no forbidden null."""
        found = table.schema
        if found.names != self.names:
            raise SchemaMismatch(
                f"a data file must have the columns {', '.join(self.names)}, not {', '.join(table.column_names)}",
                columns=table.column_names,
            )
        if found.types != self.types:
            for field, kind, held in zip(self.fields, self.types, found.types, strict=True):
                if held != kind:
                    raise SchemaMismatch(
                        f"column {field.name!r} must be {field.type} ({kind} in Arrow), not {held}", column=field.name
                    )
        for at in self._required:
            nulls = table.column(at).null_count
            if nulls:
                name = self.names[at]
                raise SchemaMismatch(f"column {name!r} is NOT NULL but {nulls} values are null", column=name)

    def key_at(self, columns: Sequence[pa.ChunkedArray], row: int) -> bytes:
        """Return the serialized key of the row number ``row``; ``columns`` begin with the key columns."""
        keys = zip(columns, self.key_fields, strict=False)
        values: list[Any] = [storage_values(column.slice(row, 1), field.type)[0] for column, field in keys]
        return self._encode_key(values)
