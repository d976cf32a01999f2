"""Merged schema: alters a table on the driver, before a write, so that it can store the columns of a DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from pyspark.sql.types import NullType, StructType

from paimon_core.alter.data_columns import recognised
from paimon_core.alter.merge_schema import MergeRules, MergeSchema
from paimon_core.errors import InvalidOption
from paimon_core.options.parsers import parse_bool
from paimon_core.schema import DataField
from paimon_core.table.table import Table
from paimon_core.types import read_annotations
from paimon_core.types.spark_json import from_spark_json

MERGE_OPTIONS = frozenset(
    {"mergeschema", "write.merge-schema", "write.merge-schema.type-widening", "write.merge-schema.explicit-cast"}
)
"""The options of a Spark write that merges schemas, in lower case: Spark's name ``mergeSchema``, and Paimon's names."""


def merged_for(
    table: Table, schema: StructType, merge: MergeRules | MergeSchema = None, skipped: Collection[str] = ()
) -> Table:
    """Alter the table so that it can store rows of ``schema``, and return it with its new schema.

    When ``merge`` is None, the options of the table decide. Columns in ``skipped`` that the table does not have are not
    added. The table stays altered when the write fails. Raises the errors of ``MergeRules.merged``.
    """
    rules = merge if isinstance(merge, MergeRules) else MergeRules.of(table.options, merge)
    if rules is None:
        return table
    known = table.schema.by_name
    found = [f for f in schema.fields if not isinstance(f.dataType, NullType)]
    columns = from_spark_json(StructType([f for f in found if f.name in known or f.name not in skipped]).jsonValue())
    wanted = [
        DataField(-1, column.name, recognised(read_annotations(column).type, known.get(column.name)))
        for column in columns
    ]
    return replace(table, context=rules.merged(table.context, wanted))


def merge_rules(table: Table, options: Mapping[str, str]) -> MergeRules | None:
    """Return the merge rules of a Spark write, from its options or else from the table's options; None: no merge.

    Raises InvalidOption for a value that is neither true nor false, and for type-widening or explicit-cast without a
    merge.
    """
    given = {key.lower(): parsed_bool(key, value) for key, value in options.items() if key.lower() in MERGE_OPTIONS}
    merges = given.pop("mergeschema", None)
    named = given.pop("write.merge-schema", merges)
    if None not in (merges, named) and merges != named:
        raise InvalidOption("the options mergeSchema and write.merge-schema contradict each other")
    if named is None:
        named = table.options["write.merge-schema"]
    if given and not named:
        raise InvalidOption(f"option {next(iter(given))} has no effect without write.merge-schema = true")
    widen = given.get("write.merge-schema.type-widening", table.options["write.merge-schema.type-widening"])
    explicit = given.get("write.merge-schema.explicit-cast", table.options["write.merge-schema.explicit-cast"])
    return MergeRules(widen, explicit) if named else None


def parsed_bool(key: str, value: str) -> bool:
    """Return the value of an option; raises InvalidOption unless it is true or false."""
    try:
        return parse_bool(value)
    except ValueError as error:
        raise InvalidOption(f"option {key} = {value!r:.60}: {error}", option=key) from None
