"""Extremes: the least and greatest value of a column, and the first rows in the order of a column, from few files.

The rows are read in units: a unit is one file, or the files of a section that must be merged. Units are read in the
order of their bounds, and a unit is left out when its bounds show that it cannot change the answer. When a value is
known, or enough rows are known, an additional filter leaves out rows and row groups that cannot change the answer.
Bounds need not be exact for this filter: a truncated text still bounds the values. Exact bounds are needed for a least
or greatest value that is taken from bounds without a read of the file. The bounds of integers, dates, times, decimals
and booleans are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.rows import storage_values, to_array
from paimon_core.errors import InvalidRequest, shown
from paimon_core.lsm.order_codes import parts
from paimon_core.options import COMBINING_ENGINES
from paimon_core.plan.prune import ValuePruner
from paimon_core.plan.split import Split
from paimon_core.plan.units import units_of
from paimon_core.predicate import Predicate, col
from paimon_core.query.description import ScanDescription
from paimon_core.read.pushdown import pushdown
from paimon_core.read.split_reader import read_split
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, TypeRoot

_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_NANOSECONDS = 6
"""The largest precision of a timestamp that a Python datetime can represent."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A file or a section of files, with the facts about the column that its metadata states."""

    split: Split
    best: Any
    """A bound: no value of the unit comes before it in the order of the read; None: no bound is known."""
    has_nulls: bool
    """Whether a value may be null."""
    only_nulls: bool
    exact: bool
    """Whether a row of the unit certainly has the value ``best``, or all its values are certainly null."""


def extreme(scan: ScanDescription, column: str, *, greatest: bool) -> Any:
    """Return the least or greatest non-null value of a column; None when all values are null.

    Raises InvalidRequest for a column that has no order and for a scan with a limit, SchemaMismatch for an unknown
    column.
    """
    field = _ordered_field(scan, column, "max" if greatest else "min")
    units = list(_units(scan, field, descending=greatest))
    found = [u.best for u in units if u.exact and not u.only_nulls]
    value = (max(found) if greatest else min(found)) if found else None
    for unit in _in_order(units, descending=greatest):
        if unit.exact or _is_no_better(unit, value, descending=greatest):
            continue
        where = _and(scan.where, _better(field, value, descending=greatest))
        for table in read_split(scan.context, unit.split, replace(scan.request, columns=(column,), where=where)):
            rows = first_rows(table, column, 1, descending=greatest, nulls_first=False)
            (read,) = storage_values(rows[column], field.type)
            if read is not None and (value is None or _comes_before(read, value, descending=greatest)):
                value = read
    return None if value is None else to_array([value], field.type)[0].as_py()


def top(scan: ScanDescription, count: int, column: str, *, descending: bool, nulls: str) -> pa.Table:
    """Return the first ``count`` rows in the order of a column; see ``Scan.top``."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InvalidRequest(f"top takes a whole number of rows from 0, not {shown(count, 60)}")
    if not isinstance(descending, bool):
        raise InvalidRequest(f"descending must be True or False, not {descending!r:.60}")
    if nulls not in ("first", "last"):
        raise InvalidRequest(f"nulls must be 'first' or 'last', not {nulls!r:.60}")
    field = _ordered_field(scan, column, "top")
    wanted = list(dict.fromkeys([*scan.columns, column]))
    best = pa.schema([f.arrow for f in scan.context.schema.select(wanted)]).empty_table()
    is_first = nulls == "first"
    units = _in_order(_units(scan, field, descending=descending), descending=descending, nulls_first=is_first)
    for unit in units if count else ():
        where = scan.where
        if len(best) == count:
            last = storage_values(best[column].slice(count - 1), field.type)[0]
            if last is None and is_first:
                break
            if _adds_nothing(unit, last, descending=descending, nulls_first=is_first):
                continue
            more = _better(field, last, descending=descending)
            where = _and(where, more | col(column).is_null() if more is not None and is_first else more)
        for table in read_split(scan.context, unit.split, replace(scan.request, columns=wanted, where=where)):
            joined = pa.concat_tables([best, pa.Table.from_arrays(table.columns, schema=best.schema)])
            best = first_rows(joined, column, count, descending=descending, nulls_first=is_first)
    return best.select(list(scan.columns)).combine_chunks()


def first_rows(rows: pa.Table, column: str, count: int, *, descending: bool, nulls_first: bool) -> pa.Table:
    """Return the first ``count`` rows in the order of a column; rows with equal values keep their order."""
    valid = rows[column].is_valid().to_numpy()
    some = np.flatnonzero(valid)
    codes = parts(rows[column].filter(pa.array(valid)), descending=descending)
    order = some[np.lexsort(codes[::-1])] if codes else some
    nulls = np.flatnonzero(~valid)
    order = np.concatenate([nulls, order] if nulls_first else [order, nulls])
    return rows.take(pa.array(order[:count]))


def _ordered_field(scan: ScanDescription, column: str, what: str) -> DataField:
    known = scan.context.schema.by_name
    if scan.filters_metadata or (what == "top" and not known.keys() >= set(scan.columns)):
        raise InvalidRequest(f"{what} accepts only whole columns of the table, in the filter too", column=column)
    (field,) = scan.context.schema.select([column])
    if field.type.root in NESTED_ROOTS:
        raise InvalidRequest(f"{what} needs a column with an order: {column!r} is {field.type}", column=column)
    if scan.limit is not None:
        raise InvalidRequest(f"{what} needs all rows of the scan, but the scan has a limit of {scan.limit}")
    return field


def _units(scan: ScanDescription, field: DataField, *, descending: bool) -> Iterator[_Unit]:
    """Yield the units whose partition passes the filter."""
    schema = scan.context.schema
    pruner = ValuePruner.of(col(field.name).is_not_null().bind(schema.fields), schema, scan.context.schemas.read)
    combines = bool(schema.primary_keys) and scan.context.options["merge-engine"] in COMBINING_ENGINES
    trusted = field.type.root not in STRING_ROOTS | BINARY_ROOTS | _FLOATS
    for split in scan.plan.splits:
        pushed = pushdown(scan.context, split, (), scan.where)
        if not pushed.matches:
            continue
        for unit in units_of(split):
            if scan.context.evolves or (combines and any(len(section) > 1 for section in unit.layout)):
                # The value may come from another file, or a merge may return a value outside of the bounds of all
                # files.
                yield _Unit(unit, None, has_nulls=True, only_nulls=False, exact=False)
                continue
            best, nulls, only_nulls = _range(pruner, unit, field, descending=descending)
            is_known = unit.raw and not unit.vectors and pushed.tested is None and scan.damaged is None
            exact = is_known and (only_nulls or (trusted and best is not None))
            yield _Unit(unit, best, nulls, only_nulls, exact)


def _range(pruner: ValuePruner, unit: Split, field: DataField, *, descending: bool) -> tuple[Any, bool, bool]:
    """Return three values: the bound (the upper if ``descending``, else the lower), whether there may be nulls, and
    whether all values are null.
    """
    found = []
    has_nulls, only_nulls = False, True
    for file in unit.files:
        low, high, nulls = pruner.bounds(unit.partition, file).get(field.name, (None, None, None))
        has_nulls = has_nulls or nulls != 0
        if nulls == file.row_count:
            continue
        only_nulls = False
        found.append(high if descending else low)
    is_above = descending and field.type.root in _FLOATS  # NaN may be above the bound
    if not found or is_above or any(v is None or v != v for v in found):
        return None, has_nulls, only_nulls
    return (max(found) if descending else min(found)), has_nulls, False


def _in_order(units: Iterable[_Unit], *, descending: bool, nulls_first: bool = False) -> Sequence[_Unit]:
    """Return the units in reading order: by their bounds, then units without a bound, then units with only nulls.

    With ``nulls_first``, units that may have nulls, and units without a bound, come before all other units.
    """
    unknown: list[_Unit] = []
    known: list[_Unit] = []
    for unit in units:
        is_open = (unit.best is None and not unit.only_nulls) or (nulls_first and unit.has_nulls)
        (unknown if is_open else known).append(unit)
    nulls = [u for u in known if u.only_nulls]
    valued = sorted((u for u in known if not u.only_nulls), key=lambda u: u.best, reverse=descending)
    return [*unknown, *valued, *nulls] if nulls_first else [*valued, *unknown, *nulls]


def _adds_nothing(unit: _Unit, last: Any, *, descending: bool, nulls_first: bool) -> bool:
    """Whether it is certain that no row of the unit comes before the row with the value ``last``."""
    if nulls_first and unit.has_nulls:
        return False
    return _is_no_better(unit, last, descending=descending)


def _is_no_better(unit: _Unit, value: Any, *, descending: bool) -> bool:
    """Whether it is certain that no value of the unit comes before ``value``."""
    if unit.only_nulls:
        return True
    if value is None or unit.best is None or value != value:
        return False
    return not _comes_before(unit.best, value, descending=descending)


def _comes_before(value: Any, other: Any, *, descending: bool) -> bool:
    """Whether ``value`` comes before ``other``; NaN is greater than all other values."""
    if value != value or other != other:
        return bool(value != value and other == other if descending else value == value and other != other)
    return bool(value > other if descending else value < other)


def _better(field: DataField, value: Any, *, descending: bool) -> Predicate | None:
    """Return the filter for values that come before ``value``; None when no such filter can be made."""
    if value is None or value != value or field.type.root in _FLOATS:
        return None
    if field.type.root in TIMESTAMP_ROOTS and field.type.precision > _NANOSECONDS:
        return None
    try:
        literal = to_array([value], field.type)[0].as_py()
    except (ValueError, OverflowError):  # a year that Python does not have
        return None
    column = col(field.name)
    better: Predicate = column > literal if descending else column < literal
    return better


def _and(where: Predicate | None, more: Predicate | None) -> Predicate | None:
    if where is None or more is None:
        return more if where is None else where
    return where & more
