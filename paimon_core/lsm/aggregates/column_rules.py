"""Column rules: checks the type and the options of a column for an aggregate function (format 9.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from paimon_core.errors import InvalidOption
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import DataType, TypeRoot

_OF_EVERY_FUNCTION = frozenset({"aggregate_function", "ignore_retract", "stats_mode"})


def check_options(function: str, field: DataField, options: FieldOptions, known: Sequence[str] = ()) -> None:
    """Raise InvalidOption for an option of the column that ``function`` does not have.

    ``known`` are the attributes of FieldOptions that the function has in addition to those of every function. The error
    names the column, the option and its value.
    """
    for attribute in fields(options):
        value = getattr(options, attribute.name)
        if attribute.name in _OF_EVERY_FUNCTION or attribute.name in known or value is None or value is False:
            continue
        what = attribute.name.replace("_", "-")
        raise _refused(field, what, value, f"aggregate function {function!r} has no such option")


def check_type(function: str, field: DataField, fits: bool, wanted: str) -> None:
    """Raise InvalidOption, naming the column, its type and the type ``wanted``, unless ``fits`` is true."""
    if not fits:
        raise InvalidOption(
            f"column {field.name!r}: aggregate function {function!r} takes {wanted}, not {field.type}",
            column=field.name,
            function=function,
            type=str(field.type),
        )


def row_of_table(function: str, field: DataField) -> DataType:
    """Return the ROW type of a column of type ARRAY of ROW; raises InvalidOption naming the column for other types."""
    inner = field.type.children[0].type if field.type.root is TypeRoot.ARRAY else field.type
    is_table = inner is not field.type and inner.root is TypeRoot.ROW
    check_type(function, field, is_table, "ARRAY of ROW")
    return inner


def check_names(field: DataField, option: str, names: Sequence[str], row: DataType) -> None:
    """Raise InvalidOption unless ``names``, the value of the column's ``option``, are fields of the nested row."""
    for name in names:
        if name not in (child.name for child in row.children):
            known_names = ", ".join(child.name for child in row.children)
            raise _refused(field, option, ",".join(names), f"the row has no field {name!r}, only {known_names}")


def check_needs_key(field: DataField, option: str, value: object, nested_key: Sequence[str] | None) -> None:
    """Raise InvalidOption when ``option`` is set without the option nested-key, which it requires."""
    if value is not None and not nested_key:
        raise _refused(field, option, value, f"it needs fields.{field.name}.nested-key")


def _refused(field: DataField, option: str, value: object, reason: str) -> InvalidOption:
    key = f"fields.{field.name}.{option}"
    text = ",".join(value) if isinstance(value, tuple) else value
    return InvalidOption(
        f"column {field.name!r}: option {key} = {text!r} is refused: {reason}",
        column=field.name,
        option=key,
        value=text,
    )
