"""Format rules: checks a new table's columns and options against the formats of its files (format 7.9, 7.10)."""

from __future__ import annotations

import json

from paimon_core.datafile.avro.avro_schema import avro_schema
from paimon_core.datafile.compressions import codec_of
from paimon_core.datafile.file_plan import FilePlan
from paimon_core.datafile.orc.timestamps import LEGACY_LTZ, check_columns
from paimon_core.errors import UnsupportedFeature
from paimon_core.limits import AVRO_HEADER_BYTES, check_limit
from paimon_core.metadata.data_file import FileSource
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema
from paimon_core.storage.paths import POSTPONE_BUCKET


def check_formats(schema: TableSchema, options: TableOptions) -> None:
    """Check each file format that the options select.

    Raises UnsupportedFeature, which names the format, and the column or option that the format does not support. Raises
    InvalidRequest for columns whose schema is too long for the header of an Avro file.
    """
    named = {*options["file.format.per.level"], *options["file.compression.per.level"]}
    # Levels without an entry in these options all have the defaults, so one of them is checked for all: the level
    # above the highest level with an entry.
    for level in (*sorted(named), max(named, default=-1) + 1):
        for plan in (FilePlan.data(options, level, FileSource.APPEND), FilePlan.changelog(options, level)):
            _check_plan(schema, options, plan)
    if schema.primary_keys and options["bucket"] == POSTPONE_BUCKET:
        _check_plan(schema, options, FilePlan.postponed(options, avro=fits_avro(schema)))


def fits_avro(schema: TableSchema) -> bool:
    """Whether files in the format avro can store the rows of a table."""
    try:
        return len(json.dumps(avro_schema(schema.file_fields))) <= AVRO_HEADER_BYTES // 2
    except UnsupportedFeature:
        return False


def _check_plan(schema: TableSchema, options: TableOptions, plan: FilePlan) -> None:
    try:
        if plan.format == "avro":
            header = json.dumps(avro_schema(schema.file_fields))
            check_limit("the schema in a file in the format avro", len(header), AVRO_HEADER_BYTES // 2, "bytes")
        if plan.format == "orc":
            check_columns(schema.file_fields, legacy_ltz=options[LEGACY_LTZ])
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"files in the format {plan.format}: {error.message}", **error.facts) from None
    codec_of(plan.format, plan.compression)
    if plan.format == "orc" and plan.compression == "zstd" and options["file.compression.zstd-level"] != 1:
        raise UnsupportedFeature(
            "option file.compression.zstd-level: files in the format orc can be written only with level 1",
            option="file.compression.zstd-level",
        )
