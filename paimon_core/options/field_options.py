"""Options of single columns, ``fields.<column>.<option>``, and options of sequence groups (format 9.4, 9.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paimon_core.options.known.columns import DEFAULT_FUNCTION, SEQUENCE_GROUP
from paimon_core.options.option import Option
from paimon_core.options.parsers import parse_names
from paimon_core.options.registry import column_option


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options of one column; an option that is not set is None or False."""

    aggregate_function: str | None = None
    ignore_retract: bool = False
    distinct: bool = False
    list_agg_delimiter: str | None = None
    nested_key: tuple[str, ...] | None = None
    nested_sequence_field: tuple[str, ...] | None = None
    nested_key_null_strategy: str | None = None
    count_limit: int | None = None
    ts_field: str | None = None
    stats_mode: str | None = None


@dataclass(frozen=True, slots=True)
class SequenceGroup:
    """Columns that are updated together, in the order of other columns (option ``fields.<columns>.sequence-group``)."""

    ordering: tuple[str, ...]
    """The ordering columns, which are compared one after the other, ascending; null is the smallest value."""
    protected: tuple[str, ...]
    """The columns that the group updates."""

    @property
    def key(self) -> str:
        """The name of the option."""
        return f"fields.{','.join(self.ordering)}.{SEQUENCE_GROUP}"


def parse_field_option(option: Option, key: str, text: str) -> tuple[str, str, Any] | SequenceGroup:
    """Return (column, attribute of FieldOptions, value), or a SequenceGroup; the column "" stands for all columns.

    ``option`` is the option of ``key``, see ``option_of``. Raises ValueError for a bad value.
    """
    value = option.parse(text)
    if option.key == DEFAULT_FUNCTION:
        return "", "aggregate_function", value
    found = column_option(key)
    assert found is not None
    column, what = found
    if what == SEQUENCE_GROUP:
        return SequenceGroup(parse_names(column), value)
    return column, what.replace("-", "_"), value
