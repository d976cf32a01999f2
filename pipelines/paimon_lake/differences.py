"""Differences: how the tables of a lake differ from their declarations, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.advice import advised
from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import CorruptTable, StorageError
from paimon_core.table.table import Table
from paimon_core.types import DataType, parse_type
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.sources.schema_changes import altered_columns, as_loaded, is_wider
from paimon_lake.tables import open_lake

DAMAGES = (CorruptTable, StorageError)
"""Errors that concern only the table that cannot be opened: all other tables are still compared or altered."""


def differences(settings: Settings, names: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return for each table of ``names`` (None: all declared tables) its differences from its declaration, as
    sentences; [] for a table that agrees.

    For a table that cannot be opened, the only sentence is the error; all other tables are compared.
    """
    catalog = open_lake(settings)
    chosen = list(settings.tables) if names is None else names
    return {name: _differences(catalog, settings.table(name)) for name in chosen}


def _differences(catalog: Catalog, spec: TableSpec) -> list[str]:
    try:
        if catalog.table_exists(spec.name):
            return differences_of(spec, catalog.table(spec.name))
    except DAMAGES as error:
        return [damage_text(error, spec.name)]
    return ["is not in the lake: apply creates it" if spec.columns else "has no columns: infer writes them down"]


def damage_text(error: CorruptTable | StorageError, name: str) -> str:
    """Return why a table cannot be opened, and what the user can do."""
    return f"cannot be opened: {error.kind}: {advised(error, name)}"


def differences_of(spec: TableSpec, table: Table) -> list[str]:
    """Return how a table differs from its declaration: columns, keys, options and comment."""
    found = column_differences(spec, table)
    for role, declared_names, names in (
        ("primary key", spec.primary_key, table.schema.primary_keys),
        ("partition columns", spec.partition_by, table.schema.partition_keys),
    ):
        if tuple(declared_names) != tuple(names):
            found.append(f"has the {role} ({', '.join(names)}), and ({', '.join(declared_names)}) is declared")
    for field in table.schema.fields:
        declared, there = spec.column_comments.get(field.name, ""), field.description or ""
        if field.name in spec.columns and declared != there:
            found.append(f"has the comment {there!r:.80} of column {field.name}, and {declared!r:.80} is declared")
    for option, value in as_loaded(spec, table.schema).table_options.items():
        if (present := table.schema.options.get(option)) != value:
            found.append(f"has option {option} = {present}, and {value} is declared")
    if (comment := table.schema.comment or "") != spec.comment:
        found.append(f"has the comment {comment!r:.80}, and {spec.comment!r:.80} is declared")
    return found


def column_differences(spec: TableSpec, table: Table) -> list[str]:
    """Return how the columns of a table differ from the declared columns; [] for a declaration without columns."""
    found = []
    have = {field.name: field.type for field in table.schema.fields}
    altered = altered_columns(spec, table.schema)
    for column, text in spec.columns.items():
        if column not in have:
            found.append(f"has no column {column}, which is declared as {text}")
            continue
        declared, there = parse_type(text), have[column]
        # Arrow types of texts have no length: VARCHAR(1) and STRING are the same Arrow type.
        lengths = (declared.length, declared.precision) != (there.length, there.precision)
        if lengths or declared.to_arrow() != there.to_arrow():
            is_loaded = column in altered and is_wider(declared, there)
            advice = f": loads widened it; declare `{column}: {_quoted(there)}`" if is_loaded else ""
            found.append(f"has column {column} as {there}, and it is declared as {text}{advice}")
    for column in have if spec.columns else ():
        if column not in spec.columns:
            advice = ""
            if column in altered and have[column].nullable:
                advice = f": loads added it; add the line `{column}: {_quoted(have[column])}`"
                advice += f" to columns, and {column} to parts.{part}.columns" if (part := altered[column]) else ""
            found.append(f"has column {column}, which is not declared{advice}")
    return found


def group_differences(spec: TableSpec, table: Table) -> list[str]:
    """Return a sentence for each part whose columns in the table are not the declared columns; [] without parts.

    The order of the columns does not count.
    """
    found = []
    for name, part in spec.parts.items():
        declared, there = set(part.columns) - set(part.order_by), part.columns_in(table.schema.options)
        if declared != set(there):
            listed = ", ".join(there) or "no columns"
            found.append(f"has {listed} in the part {name}, and {', '.join(part.columns)} is declared")
    return found


def _quoted(kind: DataType) -> str:
    """Return a type as a YAML value that is also valid in a mapping in braces."""
    return f'"{kind.sql}"' if "," in kind.sql else kind.sql
