"""ORC data files (format 7.9): reads and writes them with Arrow, in bounded memory and with a checksum.

The module ``timestamps`` refuses timestamps that Arrow reads or writes wrongly. Timestamps in years out of Arrow's
range are refused when they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.orc as orc

from paimon_core.arrow.byte_budget import rows_for
from paimon_core.codec.orc.length_checks import CHECKED_BYTES, rows_within
from paimon_core.codec.orc.map_keys import column_with_null_key
from paimon_core.codec.orc.metadata_checks import check_metadata
from paimon_core.codec.orc.writer_zone import writer_zones
from paimon_core.datafile.evolution.nested_arrays import assembled, parts, whole, with_inherited_nulls
from paimon_core.datafile.field_ids import numbered_schema
from paimon_core.datafile.file_format import UNPACKED_BYTES, Arrays, ColumnRange, counted_batches
from paimon_core.datafile.orc.decoded_sizes import row_bytes
from paimon_core.datafile.orc.file_checksum import ChecksumSink, verified
from paimon_core.datafile.orc.timestamps import as_java_reads, check_columns, check_values, leaves, offset_of
from paimon_core.datafile.readable_rows import TEXT_BYTES
from paimon_core.datafile.readable_rows import check_values as check_readable
from paimon_core.datafile.statistics.column_bounds import ColumnBounds
from paimon_core.datafile.statistics.column_statistics import Bounds
from paimon_core.errors import UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import DataType, TypeRoot

FIELD_ID = b"paimon.id"
STRIPE_BYTES = 16 << 20
"""The target size in bytes of a stripe's encoded columns, after which the stripe is written to the file."""

_MAGIC = b"ORC"
_PACKING_RATIO = 3
"""The approximate ratio of bytes in memory to bytes in a file."""
_VALUE_BYTES = 8
"""The approximate minimum size of a value in memory."""
_BUFFER_BYTES = 1 << 20
"""Bytes that are buffered before they are written to the sink; the encoder writes many small pieces."""
_BOUND_BYTES = 1024
"""The largest size in bytes of a text that ORC records as a minimum or maximum."""
_OUT_OF_RANGE = "out of range for nanosecond"
_NO_ZONE = "Time zone file "


class OrcOutput:
    """The FileOutput for ORC."""

    def __init__(
        self,
        sink: pa.NativeFile,
        fields: Sequence[DataField],
        compression: str,
        bounded: Sequence[bool],
        *,
        legacy_ltz: bool,
    ) -> None:
        check_columns(fields, legacy_ltz=legacy_ltz)
        self._sink = sink
        self._fields = tuple(fields)
        self._compression = compression
        # ORC has no time type: a TIME is stored as an integer.
        self._schema = numbered_schema(
            fields, FIELD_ID, lambda t: pa.int32() if t.root is TypeRoot.TIME else t.to_arrow()
        )
        self._seal = ChecksumSink(sink)
        self._buffer = pa.BufferedOutputStream(pa.PythonFile(self._seal, mode="w"), _BUFFER_BYTES)
        self._is_sealed = False
        self._writer = orc.ORCWriter(self._buffer, compression=compression, stripe_size=STRIPE_BYTES)
        self._bounds = ColumnBounds(fields, bounded)
        self._unflushed = 0

    def _as_read(self, rows: pa.Table) -> pa.Table:
        """Return the rows without the trailing blanks of CHAR values, which readers of ORC files remove."""
        for at, field in enumerate(self._fields):
            if field.type.root is TypeRoot.CHAR:
                rows = rows.set_column(at, rows.schema.field(at), pc.utf8_rtrim(rows.column(at), " "))
        return rows

    @property
    def written_bytes(self) -> int:
        """The bytes in the file and an estimate for the unfinished stripe; the exact size after ``finish``."""
        return int(self._sink.tell() if self._is_sealed else self._buffer.tell()) + self._unflushed // _PACKING_RATIO

    def write(self, rows: pa.Table) -> None:
        """Add rows; raises InvalidRequest, which names the column, for a value that cannot be read back."""
        check_readable(rows, self._compression, TEXT_BYTES)
        for field, column in zip(self._fields, rows.columns, strict=True):
            for chunk in column.chunks:
                check_values(chunk, field.name)
        self._bounds.add(self._as_read(rows))
        before = max(self._buffer.tell(), len(_MAGIC))
        self._writer.write(_with_inherited_nulls(rows.cast(self._schema)))
        self._unflushed = 0 if self._buffer.tell() > before else self._unflushed + rows.nbytes

    def finish(self) -> None:
        """Write the last stripe and the footer, with the checksum of the file."""
        self._writer.close()
        self._buffer.flush()
        self._seal.seal()
        self._is_sealed = True
        self._unflushed = 0

    def bounds(self, null_counts: list[int], without: list[bool]) -> list[Bounds]:
        """Return the bounds of each column; unknown bounds if ``without`` is true and, as in Java, for long texts."""
        found = self._bounds.bounds(null_counts, without)
        return [Bounds(_short(b.low), _short(b.high), b.null_count) for b in found]

    def discard(self) -> None:
        """Free the unfinished stripe; nothing more is written to the sink."""
        self._seal.drop()
        try:
            self._writer.close()
        finally:
            self._writer.is_open = False  # otherwise a garbage collection would close the file again


class OrcInput:
    """The FileInput for ORC; it reads stripes in parts and supports one pass.

    When the file is opened, its checksum is verified. If the file is short or has no checksum, its metadata is checked,
    and the checked metadata limits the number of rows of a batch.
    """

    reads_members = False

    def __init__(self, source: pa.NativeFile, path: str, *, legacy_ltz: bool) -> None:
        source, is_sealed = verified(source)
        is_short = source.size() <= CHECKED_BYTES
        self._metadata = check_metadata(source) if is_short or not is_sealed else None
        file = orc.ORCFile(source)
        self.schema: pa.Schema = file.schema
        self.row_count: int | None = file.nrows
        self._source = source
        self._path = path
        self._legacy_ltz = legacy_ltz
        self._offset: int | None = None

    @property
    def row_group_rows(self) -> Sequence[int]:
        """An empty sequence: ``batches`` reads the whole file."""
        return ()

    def bounds(self, column: str, dtype: DataType) -> Sequence[ColumnRange]:
        """Return (): Arrow does not expose the statistics of ORC files."""
        return ()

    def near_batches(self, *_: Any, **__: Any) -> None:
        """None: all rows of a row group are decoded."""

    def batches(
        self,
        wanted: Mapping[str, DataType],
        row_groups: list[int] | None,
        *,
        batch_rows: int,
        batch_bytes: int,
        use_threads: bool,
    ) -> Iterator[tuple[int, Arrays]]:
        """Yield all rows; a checksum was verified when the file was opened.

        Raises UnsupportedFeature for a column with timestamps that Arrow cannot read, or may read wrongly, and for a
        map with a null key.
        """
        if not wanted:
            yield from counted_batches(self.row_count or 0, batch_rows)
            return
        check_columns([DataField(-1, name, dtype) for name, dtype in wanted.items()], legacy_ltz=self._legacy_ltz)
        self._check_map_keys(wanted)
        sizes = row_bytes(self._source)
        width = sum(max(_VALUE_BYTES, sizes.get(name, 0)) for name in wanted)
        some = rows_for(batch_bytes, width, batch_rows)
        if self._metadata is not None:
            some = min(some, rows_within(self._source, self._metadata, wanted, UNPACKED_BYTES))
        scanner = (
            ds.OrcFileFormat()
            .make_fragment(self._source)
            .scanner(columns=list(wanted), batch_size=some, use_threads=False, batch_readahead=1)
        )
        try:
            for batch in scanner.to_batches():
                yield len(batch), {name: self._column(batch[name], dtype) for name, dtype in wanted.items()}
        except pa.ArrowException as error:
            if _NO_ZONE in str(error):
                raise UnsupportedFeature(
                    f"{self._path}: the time zone of its writer is not known here: {error}", path=self._path
                ) from error
            if _OUT_OF_RANGE in str(error):
                raise UnsupportedFeature(
                    f"{self._path}: years before 1678 and after 2261 in ORC files are not supported: {error}",
                    path=self._path,
                ) from error
            raise

    def _check_map_keys(self, wanted: Mapping[str, DataType]) -> None:
        maps = [name for name, dtype in wanted.items() if _has_map(dtype)]
        if not maps:
            return
        metadata = self._metadata or check_metadata(self._source)
        if metadata is None:
            raise UnsupportedFeature(f"{self._path}: maps in files packed with LZO are not supported", path=self._path)
        if column := column_with_null_key(self._source, metadata, maps):
            raise UnsupportedFeature(
                f"{self._path}: column {column!r} contains a map with a null key, which Arrow cannot represent: "
                "read the other columns",
                path=self._path,
                column=column,
            )

    def _column(self, array: pa.Array, dtype: DataType) -> pa.Array:
        return as_java_reads(_without_padding(array, dtype), dtype, self._writer_offset)

    def _writer_offset(self) -> int:
        if self._offset is None:
            try:
                self._offset = offset_of(writer_zones(self._source))
            except ValueError as error:
                raise UnsupportedFeature(
                    f"{self._path}: its timestamps near 1970 need the time zone of its writer: {error}", path=self._path
                ) from error
        return self._offset


def _with_inherited_nulls(rows: pa.Table) -> pa.Table:
    for at, field in enumerate(rows.schema):
        if pa.types.is_nested(field.type):
            chunks = [with_inherited_nulls(chunk) for chunk in rows.column(at).chunks]
            rows = rows.set_column(at, field, pa.chunked_array(chunks, field.type))
    return rows


def _has_map(dtype: DataType) -> bool:
    return dtype.root in (TypeRoot.MAP, TypeRoot.MULTISET) or any(_has_map(child.type) for child in dtype.children)


def _short(bound: Any) -> Any:
    return None if isinstance(bound, str) and len(bound.encode()) > _BOUND_BYTES else bound


def _without_padding(array: pa.Array, dtype: DataType) -> pa.Array:
    """Return the array without the trailing blanks that pad CHAR values."""
    if all(leaf.root is not TypeRoot.CHAR for leaf in leaves(dtype)):
        return array
    if dtype.root is TypeRoot.CHAR:
        return pc.utf8_rtrim(array, " ")
    array = whole(array)
    inner = zip(parts(array, array.type), dtype.children, strict=True)
    return assembled(array, [_without_padding(part, child.type) for part, child in inner], array.type)
