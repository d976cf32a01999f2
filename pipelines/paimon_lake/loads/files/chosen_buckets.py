"""Chosen buckets: the number of buckets of a new table with a key, from the files that it will be loaded from.

A table that declares the option ``bucket`` keeps the declared number. ``paimon_core.options.bucket_number`` has the
rule. The bytes of data are those of the files in a columnar format, and for text files what zstd makes of a sample.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from paimon_core.options.bucket_number import BucketNumber, bucket_number, size_of
from paimon_core.processors import usable
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.files.source_files import file_kind, source_files
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.listing import SourceFile
from paimon_lake.sources.files.sampled_file import SampledFile
from paimon_lake.sources.files.splits import plan_splits
from paimon_lake.tables import open_lake, open_table

OPTION = "bucket"
_SAMPLED_FILES = 3
_SAMPLE_BYTES = 2 << 20
"""The bytes of text that are read of each sampled file."""
_COLUMNAR = ("parquet", "orc", "avro")
_LEAST = 64 << 20
"""Files of fewer bytes are not sampled: however they are encoded, they are one bucket."""


def opened(settings: Settings, name: str) -> tuple[Table, str]:
    """Open a table, or create it from its declaration; return it with a sentence about its number of buckets.

    The sentence is "" unless the table was created with more buckets than one because of its files. Raises the errors
    of ``open_table``.
    """
    spec = settings.table(name)
    if open_lake(settings).table_exists(name) or not spec.columns:
        return open_table(settings, name, create=True), ""
    chosen = chosen_buckets(settings, spec)
    if chosen is None or chosen.buckets == 1:
        return open_table(settings, name, create=True), ""
    table = open_table(settings, name, create=True, options={OPTION: str(chosen.buckets)})
    is_ours = table.options[OPTION] == chosen.buckets  # another process may have created it
    return table, chosen.sentence() if is_ours else ""


def chosen_buckets(settings: Settings, spec: TableSpec) -> BucketNumber | None:
    """Return the number of buckets for the present files of a table; None when nothing is chosen.

    Nothing is chosen for a table without a key or with parts, for a declared number, for other sources than files, and
    when files cannot be listed or read: a load reports the reason.
    """
    source = spec.source
    if not spec.primary_key or OPTION in spec.options or not isinstance(source, FilesSource):
        return None
    try:
        files = source_files(settings, source, None)
        return _proposed(files, file_kind(source), settings.storage_for(source.path), spec, processors(settings))
    except (PipelineError, OSError, pa.ArrowException):  # such as a damaged gzip file
        return None


def _proposed(
    files: Sequence[SourceFile], kind: FileFormat, options: Mapping[str, str], spec: TableSpec, cores: int
) -> BucketNumber | None:
    if not files:
        return None
    stored = sum(file.size for file in files)
    encoded = stored if stored < _LEAST or kind.kind in _COLUMNAR else int(stored * _ratio(files, kind, options))
    parts = len({file.partition for file in files} - {None})
    is_known = parts and spec.partitions is not None and spec.partitions.column in spec.partition_by
    if spec.partition_by and not is_known:
        return BucketNumber(1, "the files do not tell how many partitions the table will have")
    count = parts if spec.partition_by else 1
    found = bucket_number(encoded // count, cores)
    each = f"; {size_of(encoded)} of data in {count} partitions" if count > 1 else ""
    of = f" ({size_of(stored)} in {len(files)} {'file' if len(files) == 1 else 'files'}{each})"
    return BucketNumber(found.buckets, found.reason + of)


def _ratio(files: Sequence[SourceFile], kind: FileFormat, options: Mapping[str, str]) -> float:
    """Return the bytes of data for each stored byte of text files, from the beginnings of some files.

    Zstd, the default compression of data files, makes of a text about what it makes of its columns.
    """
    read = encoded = 0
    with_rows = [file for file in files if file.size]
    for file in with_rows[:: max(1, len(with_rows) // _SAMPLED_FILES)][:_SAMPLED_FILES]:
        split = plan_splits([file], kind)[0]
        sampled = SampledFile(split, kind, options, _SAMPLE_BYTES)
        with sampled.open() as stream:
            text = stream.read(_SAMPLE_BYTES)
        read += len(text) if sampled.compression is None else sampled.reached
        encoded += len(pa.compress(text, codec="zstd", asbytes=True))
    return encoded / read if read else 1.0


def processors(settings: Settings) -> int:
    """Return how many tasks Spark runs at once, as far as the settings tell; 1 for a cluster, which may grow."""
    found = re.fullmatch(r"local(?:\[(\d{1,9}|\*)(?:,\s*\d+)?\])?", settings.spark.master)
    if found is None:
        return 1
    return usable() if found[1] == "*" else int(found[1] or 1)
