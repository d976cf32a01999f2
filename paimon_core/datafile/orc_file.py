"""ORC data files (format 7.8), read and written through Arrow in bounded memory.

Arrow holds every ORC timestamp as nanoseconds, so years before 1678 and after 2261 are refused: on the way in by
``check_timestamps``, on the way out by Arrow.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.orc as orc

from paimon_core.datafile.casts import rescale
from paimon_core.datafile.column_bounds import ColumnBounds
from paimon_core.datafile.file_format import LEAST_BATCH_ROWS, Arrays
from paimon_core.datafile.nested_arrays import assembled, parts, whole
from paimon_core.datafile.statistics import Bounds
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

LEGACY_LTZ = "orc.timestamp-ltz.legacy.type"
STRIPE_BYTES = 16 << 20
"""What the encoded columns of a stripe take at most before it goes to the file."""

_CODECS = {"gzip": "zlib", "none": "uncompressed"}
_PACKED = 3
"""By how much columns shrink in a file, about."""
_OUT_OF_RANGE = "out of range for nanosecond"


class OrcOutput:
    """A FileOutput."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField], compression: str, *, legacy_ltz: bool) -> None:
        check_columns(fields, legacy_ltz=legacy_ltz)
        self._sink = sink
        self._fields = tuple(fields)
        self._schema = pa.schema([pa.field(f.name, _stored(f.type.to_arrow())) for f in fields])
        codec = _CODECS.get(compression, compression)
        self._writer = orc.ORCWriter(sink, compression=codec, stripe_size=STRIPE_BYTES)
        self._bounds = ColumnBounds(fields)
        self._unflushed = 0

    @property
    def written_bytes(self) -> int:
        """Those in the file and a guess at those of the stripe that is being made."""
        return int(self._sink.tell()) + self._unflushed // _PACKED

    def write(self, rows: pa.Table) -> None:
        """Add rows. Raises InvalidRequest naming the column for a timestamp that would not be read again."""
        for field, column in zip(self._fields, rows.columns, strict=True):
            for chunk in column.chunks:
                _check_timestamps(chunk, field.name)
        self._bounds.add(rows)
        before = self._sink.tell()
        self._writer.write(rows.cast(self._schema))
        self._unflushed = 0 if self._sink.tell() > before else self._unflushed + rows.nbytes

    def finish(self) -> None:
        """Write the last stripe and the footer."""
        self._writer.close()
        self._unflushed = 0

    def bounds(self, null_counts: list[int], has_nan: list[bool]) -> list[Bounds]:
        """The bounds of each column."""
        return self._bounds.bounds(null_counts, has_nan)

    def discard(self) -> None:
        """Free the stripe that is held."""
        self._writer.close()


def _stored(dtype: pa.DataType) -> pa.DataType:
    """The Arrow type that becomes the ORC type: a TIME is an integer."""
    if pa.types.is_struct(dtype):
        return pa.struct([f.with_type(_stored(f.type)) for f in dtype])
    if pa.types.is_map(dtype):
        return pa.map_(_stored(dtype.key_type), dtype.item_field.with_type(_stored(dtype.item_type)))
    if pa.types.is_list(dtype):
        return pa.list_(dtype.value_field.with_type(_stored(dtype.value_type)))
    return pa.int32() if pa.types.is_time(dtype) else dtype


def _check_timestamps(array: pa.Array, column: str) -> None:
    """Raises InvalidRequest for a timestamp that is none in nanoseconds."""
    dtype = array.type
    if pa.types.is_struct(dtype):
        inner = array.flatten()
    elif pa.types.is_map(dtype):
        inner = [array.keys, array.items]
    else:
        inner = [array.flatten()] if pa.types.is_list(dtype) else []
    for child in inner:
        _check_timestamps(child, column)
    if pa.types.is_timestamp(dtype) and dtype.unit != "ns":
        try:
            rescale(array, pa.timestamp("ns", dtype.tz))
        except pa.ArrowInvalid:
            ends = pc.min_max(array.cast(pa.timestamp(dtype.unit)).cast(pa.string()))
            raise InvalidRequest(
                f"column {column!r}: timestamps of ORC files lie in the years 1678 to 2261 here, not from "
                f"{ends['min']} to {ends['max']}: another file.format takes them",
                column=column,
            ) from None


class OrcInput:
    """A FileInput; it reads stripes piece by piece and is good for one pass."""

    def __init__(self, source: pa.NativeFile, path: str, *, legacy_ltz: bool) -> None:
        file = orc.ORCFile(source)
        self.schema: pa.Schema = file.schema
        self.row_count: int | None = file.nrows
        self._source = source
        self._path = path
        self._row_bytes = _PACKED * source.size() // max(1, file.nrows)
        self._legacy_ltz = legacy_ltz

    def rows_of(self, size: int, columns: Collection[str]) -> int:
        """By the size of the file, of which each column has the same share."""
        row: int = max(8 * len(columns), self._row_bytes * len(columns) // max(1, len(self.schema)))
        return max(LEAST_BATCH_ROWS, size // max(1, row))

    def matching(self, filters: pc.Expression) -> list[int] | None:
        """There is no telling: Arrow keeps the statistics of ORC files to itself."""
        return None

    def batches(
        self,
        wanted: Mapping[str, DataType],
        row_groups: list[int] | None,
        *,
        batch_rows: int,
        use_threads: bool,
        verify_checksums: bool,
    ) -> Iterator[tuple[int, Arrays]]:
        """All rows; ORC has no checksums.

        Raises UnsupportedFeature naming a column with timestamps that Arrow does not take, or not safely.
        """
        if not wanted:
            rows = self.row_count or 0
            yield from ((min(batch_rows, rows - at), {}) for at in range(0, rows, batch_rows))
            return
        for name, dtype in wanted.items():
            _check_column(name, dtype, legacy_ltz=self._legacy_ltz)
        scanner = (
            ds.OrcFileFormat()
            .make_fragment(self._source)
            .scanner(columns=list(wanted), batch_size=batch_rows, use_threads=False, batch_readahead=1)
        )
        try:
            for batch in scanner.to_batches():
                yield len(batch), {name: _unpadded(batch[name], dtype) for name, dtype in wanted.items()}
        except pa.ArrowInvalid as error:
            if _OUT_OF_RANGE in str(error):
                raise UnsupportedFeature(
                    f"{self._path}: years before 1678 and after 2261 in ORC files are not supported: {error}",
                    path=self._path,
                ) from error
            raise


def _leaves(dtype: DataType) -> Iterator[DataType]:
    if dtype.root not in NESTED_ROOTS:
        yield dtype
    for child in dtype.children:
        yield from _leaves(child.type)


def check_columns(fields: Sequence[DataField], *, legacy_ltz: bool) -> None:
    """Raises UnsupportedFeature naming a column with timestamps that could not be written here and read again."""
    for field in fields:
        _check_column(field.name, field.type, legacy_ltz=legacy_ltz)


def _check_column(column: str, dtype: DataType, *, legacy_ltz: bool) -> None:
    roots = {leaf.root for leaf in _leaves(dtype)}
    if roots & TIMESTAMP_ROOTS and not _refuses_far_timestamps():
        raise UnsupportedFeature(
            f"column {column!r}: this pyarrow ({pa.__version__}) reads wrong timestamps of far years from ORC files; "
            "pyarrow 26 does not",
            column=column,
        )
    if TypeRoot.TIMESTAMP_LTZ in roots and legacy_ltz and (time.timezone or time.daylight):
        raise UnsupportedFeature(
            f"column {column!r}: under {LEGACY_LTZ} = true, ORC files hold TIMESTAMP WITH LOCAL TIME ZONE as local "
            f"times, which is supported in the time zone UTC only, not in {time.tzname[0]}",
            column=column,
        )


@cache
def _refuses_far_timestamps() -> bool:
    """Whether this pyarrow refuses what is no timestamp in nanoseconds; older ones give another instead."""
    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"t": pa.array([2**62], pa.timestamp("us"))}), sink)
    try:
        orc.read_table(pa.BufferReader(sink.getvalue()))
    except pa.ArrowInvalid:
        return True
    return False


def _unpadded(array: pa.Array, dtype: DataType) -> pa.Array:
    """Without the blanks that fill a CHAR, which are no part of it."""
    if all(leaf.root is not TypeRoot.CHAR for leaf in _leaves(dtype)):
        return array
    if dtype.root is TypeRoot.CHAR:
        return pc.utf8_rtrim(array, " ")
    array = whole(array)
    inner = zip(parts(array, array.type), dtype.children, strict=True)
    return assembled(array, [_unpadded(part, child.type) for part, child in inner], array.type)
