"""Problems: the errors in declarations of checks that can be found without the table, for ``paimon-lake check``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.literal import storage_value
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, parse_type
from paimon_lake.checks.literals import accepted, bound
from paimon_lake.checks.load_checks import TIME_ROOTS
from paimon_lake.declarations import SettingsError, TableSpec
from paimon_lake.declarations.tables.checks import (
    AcceptedValuesCheck,
    Check,
    FreshnessCheck,
    PartsCompleteCheck,
    RangeCheck,
    SqlCheck,
    UniqueCheck,
)
from paimon_lake.sources.table_names import is_query

_LABEL = re.compile(r"[A-Za-z0-9_]+")


def problems(spec: TableSpec) -> list[str]:
    """Return the problems of a table's checks, one sentence each, which begins with the key, such as ``checks[0]``.

    Values are not compared with columns whose type is invalid, nor with columns that will be inferred from the source.
    """
    fields = dict(_fields(spec))
    return [f"checks[{n}]: {text}" for n, check in enumerate(spec.checks) for text in _of_check(check, spec, fields)]


def _fields(spec: TableSpec) -> Iterator[tuple[str, DataField]]:
    for name, text in spec.columns.items():
        try:
            yield name, DataField(-1, name, parse_type(text))
        except (InvalidRequest, SettingsError):
            continue


def _of_check(check: Check, spec: TableSpec, fields: dict[str, DataField]) -> Iterator[str]:
    if not _LABEL.fullmatch(check.label):
        yield f"the name {check.label!r:.80} must have only letters, digits and underscores: give the check a name"
    match check:
        case UniqueCheck():
            names = check.columns or spec.key
            if not names:
                yield "unique needs columns, because the table has no primary_key and no natural_key"
            nested = [f for name in names if (f := fields.get(name)) is not None and f.type.root in NESTED_ROOTS]
            yield from (f"column {f.name!r} is {f.type}, which unique cannot compare" for f in nested)
        case AcceptedValuesCheck():
            if (field := fields.get(check.column)) is not None:
                yield from (text for value in check.values if (text := _refused(accepted, value, field)))
        case RangeCheck():
            if (field := fields.get(check.column)) is not None:
                yield from _of_range(check, field)
        case FreshnessCheck():
            found = fields.get(check.column)
            if found is not None and found.type.root not in TIME_ROOTS:
                yield f"freshness needs a date or timestamp column, and {check.column!r} is {found.type}"
        case PartsCompleteCheck():
            found = fields.get(check.column)
            if found is not None and found.type.root not in TIME_ROOTS:
                yield f"parts_complete needs a date or timestamp column, and {check.column!r} is {found.type}"
        case SqlCheck():
            if not is_query(check.query):
                yield f"query must begin with SELECT, WITH, FROM, VALUES or TABLE, not {check.query.strip()!r:.80}"


def _of_range(check: RangeCheck, field: DataField) -> Iterator[str]:
    bounds = [value for value in (check.min, check.max) if value is not None]
    refused = [text for value in bounds if (text := _refused(bound, value, field))]
    yield from refused
    if len(bounds) == 2 and not refused:
        low, high = (storage_value(bound(value, field), field)[0] for value in bounds)
        if low > high:
            yield f"min {check.min} is greater than max {check.max}: no value passes"


def _refused(convert: Any, value: Any, field: DataField) -> str:
    """Return why the value does not fit the column; "" when it fits."""
    try:
        convert(value, field)
    except InvalidRequest as error:
        return str(error)
    return ""
