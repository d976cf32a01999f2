"""The choice among the formats of data files, by the last part of a file's name (format 7.6)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from paimon_core.datafile.file_format import FileInput, FileOutput
from paimon_core.datafile.file_layout import FileLayout
from paimon_core.datafile.orc.timestamps import LEGACY_LTZ
from paimon_core.datafile.parquet.parquet_file import ParquetInput, ParquetOutput
from paimon_core.errors import UnsupportedFeature


def format_of(path: str) -> str:
    """``parquet``, ``orc`` or ``avro``. Raises UnsupportedFeature naming a file of another format."""
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2]
    if suffix not in ("parquet", "orc", "avro"):
        raise UnsupportedFeature(f"data file {path}: format {suffix!r} is not supported", path=path, format=suffix)
    return suffix


def open_file(source: pa.NativeFile, path: str, options: Mapping[str, str]) -> FileInput:
    """The open data file at ``path``; ``options`` are those of the schema that it was written with."""
    match format_of(path):
        case "orc":
            from paimon_core.datafile.orc.orc_file import OrcInput

            return OrcInput(source, path, legacy_ltz=options.get(LEGACY_LTZ, "true").strip().lower() != "false")
        case "avro":
            from paimon_core.datafile.avro.avro_file import AvroInput

            return AvroInput(source, path)
    return ParquetInput(source)


def create_file(
    layout: FileLayout, sink: pa.NativeFile, first_rows: pa.Table, *, in_memory: bool = False
) -> FileOutput:
    """A new data file of the layout's format; ``first_rows`` may guide its encoding, but are not written yet.

    ``in_memory``: they are all rows of a small file, which may be put together in memory.
    Raises UnsupportedFeature naming a column that the format does not hold.
    """
    fields, options, plan = layout.fields, layout.options, layout.plan
    match plan.format:
        case "orc":
            from paimon_core.datafile.orc.orc_file import OrcOutput

            return OrcOutput(sink, fields, plan.compression, legacy_ltz=options[LEGACY_LTZ])
        case "avro":
            from paimon_core.datafile.avro.avro_file import AvroOutput

            return AvroOutput(sink, fields, plan.compression, options["file.compression.zstd-level"])
    return ParquetOutput(sink, fields, layout.parquet, first_rows, in_memory=in_memory)
