"""Option rules: which options of an existing table may change (format 2.5), and the options after the rename of a
column.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import InvalidOption
from paimon_core.options import TableOptions
from paimon_core.options.file_index_options import is_file_index_option, renamed_file_index
from paimon_core.options.known.columns import SEQUENCE_GROUP
from paimon_core.options.names import current_names
from paimon_core.options.parsers import list_parts
from paimon_core.options.registry import column_option, current_name, option_of
from paimon_core.schema import TableSchema

_TRUE = "true"


def check_option_change(schema: TableSchema, key: str, value: str, *, has_snapshots: bool) -> None:
    """Raise InvalidOption, which names the option and the rule, when the option may not be set to ``value``."""
    old = schema.options.get(key)
    if value == old:
        return
    option = option_of(key)
    if option is not None and option.fixed:
        raise InvalidOption(f"option {key!r} cannot be set: {option.fixed}", option=key, value=value)
    TableOptions.parse({key: value}, creating=True)
    if has_snapshots:
        name = current_name(key)
        _check_mutable(schema, name, current_names(schema.options).get(name), value)


def check_option_removal(schema: TableSchema, key: str, *, has_snapshots: bool) -> None:
    """Raise InvalidOption, which names the option and the rule, when the option may not be removed."""
    option = option_of(key)
    if option is not None and option.fixed:
        raise InvalidOption(f"option {key!r} cannot be removed: {option.fixed}", option=key)
    if not has_snapshots or key not in schema.options:
        return
    if key == "bucket":
        raise InvalidOption("option bucket cannot be removed once the table has a snapshot", option=key)
    _check_mutable(schema, key, schema.options[key], None)


def _check_mutable(schema: TableSchema, key: str, old: str | None, new: str | None) -> None:
    """Raise InvalidOption for a change that a table with snapshots does not allow.

    ``old`` and ``new`` are None when the option is absent before or after the change.
    """
    change = f"option {key} cannot change from {old or 'its default'} to {new or 'its default'}"
    option = option_of(key)
    if option is not None and option.immutable:
        raise InvalidOption(f"option {key} cannot change once the table has a snapshot", option=key, value=new)
    if key == "bucket" and new is not None:
        counts = [int(old or -1), int(new)]
        if counts[0] != counts[1] and min(counts) < 0:
            raise InvalidOption(
                f"{change}: a table keeps its kind of buckets, and only the number of fixed ones may change", option=key
            )
    if option is not None and option.only_to_true and _is_true(old) and not _is_true(new):
        raise InvalidOption(f"{change}: rows were dropped while it was true", option=key, value=new)
    modifiable = _is_true(schema.options.get("deletion-vectors.modifiable"))
    if key == "deletion-vectors.enabled" and _is_true(old) != _is_true(new) and not modifiable:
        raise InvalidOption(f"{change} unless deletion-vectors.modifiable = true", option=key, value=new)
    if key == "clustering.columns" and "pk-clustering-override" in schema.options:
        raise InvalidOption(f"{change}: the table has option pk-clustering-override", option=key, value=new)


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() == _TRUE


def renamed_options(options: Mapping[str, str], column: str, name: str) -> dict[str, str]:
    """Return the options with the new name of a renamed column, in the keys and values that contain the old name."""
    out = {}
    for key, value in options.items():
        found = column_option(key)
        if found is not None:
            columns, what = found
            is_group = what == SEQUENCE_GROUP
            renamed = name if columns == column else _renamed(columns, column, name) if is_group else columns
            out[f"fields.{renamed}.{what}"] = _renamed(value, column, name) if is_group else value
        elif is_file_index_option(key):
            key, value = renamed_file_index(key, value, column, name)
            out[key] = value
        else:
            out[key] = _renamed(value, column, name) if _is_columns(key) else value
    return out


def _is_columns(key: str) -> bool:
    option = option_of(key)
    return option is not None and option.is_columns


def _renamed(columns: str, column: str, name: str) -> str:
    names = list_parts(columns)
    return ",".join(name if part == column else part for part in names) if column in names else columns
