"""Definition: the arguments that define a new table, the same for all kinds of catalogs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core.alter.definition_rules import check_definition as check_definition
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.options import OptionValue, TableOptions, option_texts
from paimon_core.schema import TableSchema, new_schema
from paimon_core.types import Annotations, Child, DataType, annotated_field, parse_columns, parse_type
from paimon_core.types.spark_json import from_spark_json


@dataclass(frozen=True)
class Definition:
    """The arguments of ``create_table`` that define the table."""

    schema: Any
    primary_key: str | Sequence[str] = ()
    """The name of a column, or the names of several."""
    partition_by: str | Sequence[str] = ()
    options: Mapping[str, OptionValue] | None = None
    types: Mapping[str, str] | None = None
    comment: str | None = None

    def to_schema(self, name: str) -> TableSchema:
        """Return the first schema of the table ``name``.

        Raises InvalidRequest (or its subclass InvalidOption or UnsupportedFeature), which names the wrong column or
        option.
        """
        primary_key = _names("primary_key", self.primary_key)
        partition_by = _names("partition_by", self.partition_by)
        if self.comment is not None and not isinstance(self.comment, str):
            raise InvalidRequest(f"comment must be text, not {self.comment!r:.60}")
        if self.types is not None and not isinstance(self.types, Mapping):
            raise InvalidRequest(f"types must map column names to type texts, not be {self.types!r:.60}")
        schema = new_schema(
            _arrow_schema(self.schema),
            primary_key=primary_key,
            partition_by=partition_by,
            options=option_texts(self.options or {}),
            types=self.types,
            comment=self.comment,
        )
        TableOptions.parse(schema.options, table=name, creating=True)
        return schema


def is_same_definition(one: TableSchema, other: TableSchema) -> bool:
    """Whether two first schemas result from the same ``create_table`` arguments; creation times are not compared."""
    return (one.fields, one.partition_keys, one.primary_keys, dict(one.options), one.comment, one.id) == (
        other.fields,
        other.partition_keys,
        other.primary_keys,
        dict(other.options),
        other.comment,
        other.id,
    )


def _names(role: str, names: Any) -> Sequence[str]:
    names = (names,) if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InvalidRequest(f"{role} must be a column name or a list of column names, not {names!r:.60}")
    return names


def _arrow_schema(schema: Any) -> pa.Schema:
    try:
        return _converted(schema)
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"a column name or comment contains {error.object!r:.80}, not valid Unicode text"
        ) from None


def _converted(schema: Any) -> pa.Schema:
    if isinstance(schema, pa.Schema):
        return schema
    if isinstance(schema, str):
        return pa.schema([annotated_field(c.name, _annotations(c)) for c in parse_columns(schema)])
    if isinstance(schema, Mapping):
        return pa.schema([annotated_field(*_column(name, text)) for name, text in schema.items()])
    if hasattr(schema, "jsonValue"):  # a StructType of Spark
        return from_spark_json(schema.jsonValue())
    if hasattr(schema, "collect_batches"):  # a LazyFrame: no row is computed
        schema = schema.head(0).collect()
    try:
        if hasattr(schema, "__arrow_c_schema__"):
            return pa.schema(schema)
        if hasattr(schema, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(schema).schema
    except (
        pa.ArrowException,
        TypeError,
        OverflowError,
    ) as error:  # such as a column with values of two types
        raise InvalidRequest(f"the {type(schema).__name__} has no Arrow schema: {error}") from error
    raise InvalidRequest(
        "schema must be a pyarrow.Schema or an object that exports one, a dict of names to type texts, "
        f"columns as SQL text, or a StructType, not {type(schema).__name__}"
    )


def _annotations(column: Child) -> Annotations:
    return Annotations(column.type, None, column.description, column.default)


def _column(name: Any, kind: Any) -> tuple[str, Annotations]:
    if not isinstance(name, str) or not isinstance(kind, str | DataType):
        raise InvalidRequest(f"schema must map column names to type texts, not {name!r:.60} to {kind!r:.60}")
    try:
        return name, Annotations(parse_type(kind) if isinstance(kind, str) else kind)
    except PaimonError as error:
        raise type(error)(f"column {name!r}: {error.message}", **{**error.facts, "column": name}) from None
