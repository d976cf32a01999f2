"""Formats: opens and creates data files in the format that the suffix of the file name states (format 7.6)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from paimon_core.datafile.compressions import codec_of
from paimon_core.datafile.file_format import FileInput, FileOutput
from paimon_core.datafile.file_layout import FileLayout
from paimon_core.datafile.orc.timestamps import LEGACY_LTZ
from paimon_core.datafile.parquet.parquet_input import ParquetInput
from paimon_core.datafile.parquet.parquet_output import ParquetOutput
from paimon_core.errors import UnsupportedFeature


def format_of(path: str) -> str:
    """Return ``parquet``, ``orc`` or ``avro``; raises UnsupportedFeature, which names the file, for another format."""
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2]
    if suffix not in ("parquet", "orc", "avro"):
        raise UnsupportedFeature(
            f"data file {path}: format {suffix!r} is not supported; parquet, orc and avro are",
            path=path,
            format=suffix,
        )
    return suffix


def open_file(source: pa.NativeFile, path: str, options: Mapping[str, str]) -> FileInput:
    """Return the open data file at ``path``; ``options`` are the options of the file's schema."""
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
    """Return a new data file in the layout's format. ``first_rows`` help to choose the encoding; they are not written.

    ``in_memory``: ``first_rows`` are all rows of a small file, which may be built in memory. Raises UnsupportedFeature
    for a column that the format cannot store, naming the column, and for a compression that the format lacks.
    """
    fields, options, plan = layout.stored_fields, layout.options, layout.plan
    codec = codec_of(plan.format, plan.compression)
    match plan.format:
        case "orc":
            from paimon_core.datafile.orc.orc_file import OrcOutput

            return OrcOutput(sink, fields, codec, layout.stored_bounded, legacy_ltz=options[LEGACY_LTZ])
        case "avro":
            from paimon_core.datafile.avro.avro_file import AvroOutput

            return AvroOutput(sink, fields, codec, options["file.compression.zstd-level"], layout.stored_bounded)
    return ParquetOutput(sink, fields, layout.parquet, first_rows, in_memory=in_memory)
