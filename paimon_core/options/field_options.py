"""Options of single columns, ``fields.<column>.<what>``, and options of sequence groups (format 9.4, 9.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paimon_core.options.parsers import one_of, parse_bool, parse_names, parse_stats_mode, whole

AGGREGATE_FUNCTIONS = (
    "sum",
    "product",
    "max",
    "min",
    "last_value",
    "last_non_null_value",
    "first_value",
    "first_non_null_value",
    "first_not_null_value",
    "listagg",
    "bool_and",
    "bool_or",
    "collect",
    "merge_map",
    "merge_map_with_keytime",
    "nested_update",
    "nested_partial_update",
    "hll_sketch",
    "theta_sketch",
    "rbm32",
    "rbm64",
)
DEFAULT_FUNCTION = "fields.default-aggregate-function"
_SEQUENCE_GROUP = re.compile(r"fields\.(.+)\.sequence-group")
_OF_FIELD: Mapping[str, Callable[[str], Any]] = {
    "aggregate-function": one_of(*AGGREGATE_FUNCTIONS),
    "ignore-retract": parse_bool,
    "distinct": parse_bool,
    "list-agg-delimiter": str,
    "nested-key": parse_names,
    "nested-sequence-field": parse_names,
    "nested-key-null-strategy": one_of("merge", "ignore", "error"),
    "count-limit": whole(1),
    "ts-field": str.strip,
    "stats-mode": parse_stats_mode,
}
_FIELD_OPTION = re.compile(r"fields\.(.+)\.(" + "|".join(_OF_FIELD) + ")")


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options of one column; None or False for an option that is not set."""

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
    """Columns that are updated together, ordered by the ordering columns (option ``fields.<g>.sequence-group``)."""

    ordering: tuple[str, ...]
    """The ordering columns: compared one after the other, ascending, null smallest."""
    protected: tuple[str, ...]
    """The columns that the group updates."""


def is_field_option(key: str) -> bool:
    """Whether the key is an option of a column or of a sequence group."""
    return key == DEFAULT_FUNCTION or bool(_SEQUENCE_GROUP.fullmatch(key) or _FIELD_OPTION.fullmatch(key))


def parse_field_option(key: str, text: str) -> tuple[str, str, Any] | SequenceGroup:
    """Return (column, attribute of FieldOptions, value), or a SequenceGroup; the column "" stands for all columns.

    Raises ValueError for a bad value.
    """
    group = _SEQUENCE_GROUP.fullmatch(key)
    if group is not None:
        return SequenceGroup(parse_names(group.group(1)), parse_names(text))
    if key == DEFAULT_FUNCTION:
        return "", "aggregate_function", one_of(*AGGREGATE_FUNCTIONS)(text)
    found = _FIELD_OPTION.fullmatch(key)
    assert found is not None
    return found.group(1), found.group(2).replace("-", "_"), _OF_FIELD[found.group(2)](text)
