"""Columnar: reads the row groups of Parquet files and the stripes of ORC files that belong to a split.

A footer, page or length that is invalid, or that would unpack to far too many bytes, is refused before Arrow decodes
it. A batch of Parquet has about BATCH_BYTES, and its reader also holds one page of each column. A batch of ORC is a
whole stripe.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from paimon_core.codec.orc import length_checks
from paimon_core.codec.orc.metadata_checks import check_metadata
from paimon_core.codec.parquet.page_checks import rows_within
from paimon_core.codec.parquet.raw_footer import check_raw_footer, read_raw_footer
from paimon_core.errors import UnsupportedFeature
from paimon_core.files.columns import Select
from paimon_core.files.splits import FileSplit

Rows = tuple[int, pa.RecordBatch]
"""A batch and the number of its first row in the file, from 0."""
BATCH_BYTES = 8 << 20
_BATCH_ROWS = 1 << 17
_UNPACKED_BYTES = 64 << 20
"""The largest size of a batch of Parquet, as computed from its pages: the sizes in a footer may be wrong."""
_STRIPE_BYTES = 512 << 20
"""The largest ORC stripe that is read; Arrow decodes a stripe as a whole."""


def read_parquet(stream: pa.NativeFile, split: FileSplit, select: Select) -> Iterator[Rows]:
    """Yield the rows of the row groups of a split; raises ValueError or ArrowInvalid for an invalid file."""
    import pyarrow.parquet as pq

    # Check the footer first: Arrow crashes on some invalid footers.
    _, checked = check_raw_footer(*read_raw_footer(stream), statistics=False)
    opened = pq.ParquetFile(stream, pre_buffer=False)
    names = select(opened.schema_arrow.names)
    rows = [opened.metadata.row_group(at).num_rows for at in range(opened.metadata.num_row_groups)]
    groups = [at for at in range(len(rows)) if split.holds(at, len(rows))]
    if not groups:
        return
    first = sum(rows[: groups[0]])
    width = max(opened.metadata.row_group(at).total_byte_size // max(1, rows[at]) for at in groups)
    most = min(_BATCH_ROWS, max(1, BATCH_BYTES // max(1, width)))
    most = min(most, rows_within(stream, [checked[at] for at in groups], names, _UNPACKED_BYTES))
    for batch in opened.iter_batches(batch_size=most, row_groups=groups, columns=list(names), use_threads=False):
        yield first, batch
        first += len(batch)


def row_count(stream: pa.NativeFile, kind: str) -> int:
    """Return the number of rows of a Parquet or ORC file; raises ValueError or ArrowInvalid for an invalid file."""
    if kind == "parquet":
        import pyarrow.parquet as pq

        check_raw_footer(*read_raw_footer(stream), statistics=False)
        return int(pq.ParquetFile(stream).metadata.num_rows)
    from pyarrow import orc

    check_metadata(stream)
    return int(orc.ORCFile(stream).nrows)


def read_orc(stream: pa.NativeFile, split: FileSplit, select: Select) -> Iterator[Rows]:
    """Yield the rows of the stripes of a split.

    Raises ValueError or ArrowInvalid for an invalid file, UnsupportedFeature for stripes with more than _STRIPE_BYTES.
    """
    from pyarrow import orc

    metadata = check_metadata(stream)
    opened = orc.ORCFile(stream)
    names = select(opened.schema.names)
    if metadata is not None and opened.nstripes:
        most = max(stripe.rows for stripe in metadata.stripes)
        if length_checks.rows_within(stream, metadata, names, _STRIPE_BYTES) < most:
            raise UnsupportedFeature(
                f"file {split.file.path}: its stripes unpack to more than {_STRIPE_BYTES >> 20} MiB: write it with "
                "smaller stripes"
            )
    first = 0
    for number in range(opened.nstripes):
        if not split.holds(number, opened.nstripes):
            if number + 1 < opened.nstripes:
                first += opened.read_stripe(number, columns=[]).num_rows
            continue
        batch = opened.read_stripe(number, columns=list(names))
        yield first, batch.select(list(names))
        first += batch.num_rows
