"""Columns: the types and the comments of the columns of a table, as its file declares them.

A column is a type, or a mapping with the type and a comment: ``amount: {type: DOUBLE, comment: in euros}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from paimon_lake.declarations.errors import Mistake, as_written, nearest
from paimon_lake.declarations.model import Model


class ColumnSpec(Model):
    """A column with a comment."""

    type: str
    """The Paimon type of the column."""
    comment: Annotated[str, Field(min_length=1)]
    """What the column contains: the comment of the column in the table, and its description in Dagster."""


def _columns(value: Any) -> Any:
    """Return {} for the word ``infer``; `paimon-lake infer` then writes the columns into the file, for review."""
    if isinstance(value, str) and value != "infer":
        raise ValueError(f"must be infer or a mapping of names to types, not {as_written(value)}")
    return {} if value == "infer" else value


Columns = Annotated[
    Mapping[str, str],
    BeforeValidator(_columns, json_schema_input_type=Literal["infer"] | dict[str, str | ColumnSpec]),
]
"""Names and types of columns; in the file a column may also have a comment, see ``with_comments_apart``."""


def with_comments_apart(values: Any) -> Any:
    """Return the values of a file with the types of the columns under ``columns``, and their comments under
    ``column_comments``.

    Raises Mistake, which names the column, for a mapping that is not a type with a comment.
    """
    columns = values.get("columns") if isinstance(values, Mapping) else None
    if not isinstance(columns, Mapping) or not any(isinstance(one, Mapping) for one in columns.values()):
        return values
    types, comments = dict(columns), {}
    for name, column in columns.items():
        if isinstance(column, Mapping):
            types[name], comments[name] = _type_and_comment(name, column)
    return {**values, "columns": types, "column_comments": comments}


def _type_and_comment(name: Any, column: Mapping[str, Any]) -> tuple[str, str]:
    known = list(ColumnSpec.model_fields)
    for key in column:
        if key not in known:
            hint = nearest(str(key), known)
            raise Mistake(f"unknown key{hint} (known here: {', '.join(known)})", "columns", name, key)
    for key in known:
        if key not in column:
            short = "; a column without a comment is only its type" if key == "comment" else ""
            raise Mistake(f"{key} is missing{short}", "columns", name)
        if not isinstance(column[key], str) or not column[key]:
            advice = ": write it in quotes" if isinstance(column[key], bool | int | float) else ""
            raise Mistake(f"must be a text that is not empty{advice}", "columns", name, key)
    return column["type"], column["comment"]
