"""Definition: check without a warehouse whether the table of a declaration can be created.

The columns, keys and options go through the checks of ``create_table``, so that a mistake in an option is found when
the declaration is read, not when the first load creates the table.
"""

from __future__ import annotations

import re
from functools import cache

import pyarrow as pa

from paimon_core.catalog.definition import Definition
from paimon_core.catalog.definition import check_definition as check_rules
from paimon_core.catalog.names import new_name
from paimon_core.errors import InvalidRequest, PaimonError, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema
from paimon_core.storage.open import open_storage
from paimon_core.storage.storage import Storage
from paimon_core.types import STRING_ROOTS, Annotations, DataType, TypeRoot, annotated_field, parse_type
from paimon_lake.declarations.errors import Key, SettingsError, nearest
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.source import (
    EVENT_FORMATS,
    DatabaseSource,
    FilesSource,
    PostgresChangesSource,
    Source,
)
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.yaml_file import YamlFile

_NAMES = (*(root.value for root in TypeRoot if root is not TypeRoot.TIMESTAMP_LTZ), "STRING", "BYTES")
_LTZ = "TIMESTAMP(3) WITH LOCAL TIME ZONE"
_OTHER_NAMES = {
    **dict.fromkeys(("INTEGER", "INT32", "INT4"), "INT"),
    **dict.fromkeys(("LONG", "INT64", "INT8"), "BIGINT"),
    **dict.fromkeys(("TEXT", "STR", "VARCHAR2"), "STRING"),
    **dict.fromkeys(("NUMBER", "NUMERIC"), "DECIMAL"),
    **dict.fromkeys(("DATETIME", "TIMESTAMP_NTZ"), "TIMESTAMP(3)"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP_LTZ"), _LTZ),
    "BOOL": "BOOLEAN",
    "FLOAT64": "DOUBLE",
    "LIST": "ARRAY",
    "STRUCT": "ROW",
}
"""Maps the names of types in other systems to types of Paimon."""
_UNKNOWN = re.compile(r": expected a data type at position \d+, not '(\w+)")
_DAYS = frozenset((TypeRoot.DATE, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ, *STRING_ROOTS))
_BYTES = frozenset((TypeRoot.BINARY, TypeRoot.VARBINARY))
_FRAMES_ONLY = frozenset((TypeRoot.MULTISET, TypeRoot.VARIANT))
"""Types whose values a text file cannot express; queries, functions and typed files can fill them."""
_TEXT_FORMATS = ("csv", "json", "jsonl", *EVENT_FORMATS)
_FORMATS = (*_TEXT_FORMATS, "parquet", "orc", "avro")
_FITS = {"hour": _DAYS - {TypeRoot.DATE}, "day": _DAYS, "week": _DAYS, "month": _DAYS}


def check_definition(spec: TableSpec, file: YamlFile) -> None:
    """Raise SettingsError for a table that Paimon would not create, with the line of the column or option."""
    key: Key = ()
    try:
        for name, what in zip(spec.name.split("."), ("database", "table"), strict=True):
            new_name(name, what, ())
        types = {}
        for column, text in spec.columns.items():
            key = ("columns", column)
            types[column] = column_type(text)
            for loaded in load_specs(spec):
                if loaded.fills(column):
                    _check_source(loaded, column, types[column])
                    _check_bytes(loaded, column, types[column])
        key = ("partitions", "column")
        _check_partitions(spec, types)
        key = ()
        if not types:
            TableOptions.parse(spec.table_options, table=spec.name, creating=True)
            return
        check_rules(TableContext.of(spec.name, _nowhere(), "/" + spec.name, declared_schema(spec)))
    except PaimonError as error:
        key = key or _key(error, file)
        raise SettingsError(f"{file.place(key)}: {f'{key[0]}.{key[1]}: ' if len(key) == 2 else ''}{error}") from None
    except _Mismatch as error:
        raise SettingsError(f"{file.place(key)}: {error}") from None


def declared_schema(spec: TableSpec) -> TableSchema:
    """Return the schema with which a declared table is created.

    Raises InvalidRequest, InvalidOption or UnsupportedFeature for a declaration that Paimon does not accept.
    """
    asked = Definition(
        declared_columns(spec), spec.primary_key, spec.partition_by, spec.table_options, comment=spec.comment
    )
    return asked.to_schema(spec.name)


def declared_columns(spec: TableSpec) -> pa.Schema:
    """Return the columns of a declared table as an Arrow schema, whose metadata has exact types and the comments."""
    return pa.schema(
        annotated_field(column, Annotations(parse_type(text), description=spec.column_comments.get(column)))
        for column, text in spec.columns.items()
    )


def column_type(text: str) -> DataType:
    """Return the Paimon type of a declared column; raises InvalidRequest or UnsupportedFeature for no such type."""
    try:
        return parse_type(text)
    except InvalidRequest as error:
        if (found := _UNKNOWN.search(str(error))) is None:
            raise
        word = found[1].upper()
        inside = "" if word == text.strip().upper() else f": {found[1]} is no type"
        near = f"; did you mean {_OTHER_NAMES[word]}?" if word in _OTHER_NAMES else nearest(word, _NAMES)
        raise InvalidRequest(f"{str(error)[: found.start()]}{inside}{near}") from None


def _check_source(spec: TableSpec, column: str, kind: DataType) -> None:
    """Raise UnsupportedFeature when the source of the table cannot have values of the column's type."""
    found = _without_values(spec.source) if _has_root(kind, _FRAMES_ONLY) else None
    if found is not None:
        raise UnsupportedFeature(
            f"{found} has no values of the type {kind}: load the table from parquet, a query or a function",
            column=column,
        )


def _check_bytes(spec: TableSpec, column: str, kind: DataType) -> None:
    """Raise UnsupportedFeature for a column of bytes in events of Canal, because Canal writes bytes as ISO 8859-1."""
    source = spec.source
    if isinstance(source, FilesSource | KafkaSource) and source.format == "canal-json" and _has_root(kind, _BYTES):
        raise UnsupportedFeature(f"canal-json has no exact values of the type {kind}: use STRING", column=column)


def _without_values(source: Source | None) -> str | None:
    """Return what errors call a source whose values are only texts and numbers; None for other sources."""
    if isinstance(source, DatabaseSource | PostgresChangesSource):
        return "a database"
    if isinstance(source, KafkaSource):
        return source.format
    if not isinstance(source, FilesSource):
        return None
    endings = source.path.rsplit("/", 1)[-1].lower().split(".")[1:]
    named: list[str] = [source.format] if source.format else [e for e in reversed(endings) if e in _FORMATS]
    return named[0] if named and named[0] in _TEXT_FORMATS else None


def _has_root(kind: DataType, roots: frozenset[TypeRoot]) -> bool:
    return kind.root in roots or any(_has_root(child.type, roots) for child in kind.children)


class _Mismatch(ValueError):
    pass


def _check_partitions(spec: TableSpec, types: dict[str, DataType]) -> None:
    parts = spec.partitions
    if parts is None or parts.column not in types:
        return
    kind, fits = types[parts.column], _FITS.get(parts.by)
    if fits is not None and kind.root not in fits:
        must = "a timestamp or text" if parts.by == "hour" else "a date, timestamp or text"
        raise _Mismatch(f"partitions.column {parts.column} is {kind}: partitions by {parts.by} need {must}")


def _key(error: PaimonError, file: YamlFile) -> Key:
    """Return the key in the file that an error of Paimon is about; () when it names no option or column."""
    for fact, section in (("option", "options"), ("column", "columns")):
        named = error.facts.get(fact)
        if isinstance(named, str) and (section, named) in file.lines:
            return (section, named)
    return ()


@cache
def _nowhere() -> Storage:
    """Return a storage for checks that need one as an argument; it is never read or written."""
    return open_storage("memory://declarations")[0]
