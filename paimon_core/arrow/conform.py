"""Conform: converts Arrow columns to a table's columns and checks their values.

Data is converted and checked once, when it enters the library. Columns, and members of a ROW, are matched by name; a
missing nullable column becomes null. An unknown column, a null in a NOT NULL column and a value outside its type
(overflow, a text longer than VARCHAR(n)) raise an error that names the column and, for a value, its row, from 0.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.forms import labelled_column, loose, plain_form
from paimon_core.errors import SchemaMismatch, listed
from paimon_core.parallel_work import own_processors, run_parallel
from paimon_core.schema import DataField
from paimon_core.types import (
    BINARY_ROOTS,
    MAP_ROOTS,
    NESTED_ROOTS,
    NUMBER_ROOTS,
    STRING_ROOTS,
    STRUCT_ROOTS,
    TIMESTAMP_ROOTS,
    DataType,
    TypeRoot,
    is_list,
)

_MANY_ROWS = 1 << 16
"""The minimum number of rows whose columns are converted by several threads."""
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def conform(data: pa.Table | pa.RecordBatch, fields: Sequence[DataField], *, first_row: int = 0) -> pa.Table:
    """Return ``data`` as a Table of exactly ``fields`` in their Arrow types.

    Error messages count rows from ``first_row``. Raises SchemaMismatch, which names the column, when a column or value
    does not fit.
    """
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    known = {f.name for f in fields}
    # pandas exports the row labels of a DataFrame as an extra column.
    table = table.drop_columns([n for n in table.column_names if _PANDAS_INDEX.fullmatch(n) and n not in known])
    for name in table.column_names:
        if name not in known:
            raise SchemaMismatch(
                f"the table has no column {name!r}; the columns are {listed(sorted(known))}", column=name
            )
        if table.column_names.count(name) > 1:
            raise SchemaMismatch(f"column {name!r} appears twice in the data", column=name)
    names = set(table.column_names)

    def column_of(field: DataField) -> pa.ChunkedArray:
        if field.name in names:
            return _located(table[field.name], field, first_row)
        if not field.type.nullable:
            raise SchemaMismatch(f"column {field.name!r} is NOT NULL and missing in the data", column=field.name)
        if field.default is not None:
            raise SchemaMismatch(f"column {field.name!r} has a default, which is not supported", column=field.name)
        return pa.chunked_array([pa.nulls(len(table), field.type.to_arrow())])

    columns = _columns(column_of, fields, own_processors() if len(table) >= _MANY_ROWS else 1)
    schema = pa.schema([f.arrow for f in fields])
    return pa.Table.from_arrays(columns, schema=schema)


def _columns(
    column_of: Callable[[DataField], pa.ChunkedArray], fields: Sequence[DataField], threads: int
) -> list[pa.ChunkedArray]:
    """Return the column of each field; several threads raise the error of the first field, as one thread does."""
    if threads > 1:
        with contextlib.suppress(SchemaMismatch):
            return run_parallel(column_of, fields, threads)
    return [column_of(field) for field in fields]


def _located(column: pa.ChunkedArray, field: DataField, first_row: int) -> pa.ChunkedArray:
    """Return the conformed column; an error about a value names its row, which is found by bisection."""
    try:
        return _conform_column(column, field)
    except SchemaMismatch as error:
        if _fails(column.slice(0, 0), field):
            raise  # the type does not fit any value
        low, high = 0, len(column)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _fails(column.slice(low, middle - low), field) else (middle, high)
        row = first_row + low
        found = _shown(column[low])
        raise SchemaMismatch(f"{error.message}; the first such row is {row}: {found}", row=row, **error.facts) from None


def _shown(value: pa.Scalar) -> str:
    try:
        return f"{value!s:.120}"
    except (ValueError, OverflowError):  # invalid UTF-8, nested nanoseconds, a year above 9999
        return f"a value of the type {value.type}"


def _fails(column: pa.ChunkedArray, field: DataField) -> bool:
    try:
        _conform_column(column, field)
    except SchemaMismatch:
        return True
    return False


def _conform_column(column: pa.ChunkedArray, field: DataField) -> pa.ChunkedArray:
    target, nullable = field.type.to_arrow(), loose(field.type).to_arrow()
    column = plain_form(column, field.type)
    if column.null_count and field.default is not None:
        raise SchemaMismatch(
            f"column {field.name!r} has a default for its nulls, which is not supported", column=field.name
        )
    if column.null_count and not field.type.nullable:
        raise SchemaMismatch(
            f"column {field.name!r} is NOT NULL but {column.null_count} values are null", column=field.name
        )
    if column.type != target:
        _check_cast(column.type, field)
        try:
            if pa.types.is_integer(column.type) and pa.types.is_decimal(target):
                # Arrow requires a precision for all integers of the type, but only the actual values must fit.
                column = column.cast(pa.decimal128(38, target.scale))
            narrowed = pa.types.is_floating(column.type) and pa.types.is_floating(target)
            finite = pc.sum(pc.is_finite(column)).as_py() if narrowed else None
            column = column.cast(nullable, safe=True)
            if narrowed and pc.sum(pc.is_finite(column)).as_py() != finite:
                raise pa.ArrowInvalid("a finite value would become infinite")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaMismatch(
                f"column {field.name!r}: {column.type} does not fit {field.type}: {error}", column=field.name
            ) from None
    _check_values(labelled_column(column, nullable), field)
    return labelled_column(column, target)


_FAMILIES = (
    (pa.types.is_boolean, {TypeRoot.BOOLEAN}),
    (
        lambda t: pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t),
        NUMBER_ROOTS,
    ),
    (lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t), STRING_ROOTS),
    (
        lambda t: (
            pa.types.is_binary(t)
            or pa.types.is_large_binary(t)
            or pa.types.is_binary_view(t)
            or pa.types.is_fixed_size_binary(t)
        ),
        BINARY_ROOTS,
    ),
    (pa.types.is_date, {TypeRoot.DATE}),
    (pa.types.is_time, {TypeRoot.TIME}),
    (pa.types.is_timestamp, TIMESTAMP_ROOTS),
    (pa.types.is_null, set(TypeRoot)),
)


def _inner_types(source: pa.DataType, kind: DataType) -> list[pa.DataType] | None:
    """Return the Arrow types of the children of ``kind`` in a nested Arrow type; None when the types do not match."""
    if kind.root in MAP_ROOTS and pa.types.is_map(source):
        return [source.key_type, source.item_type]
    if kind.root is TypeRoot.ARRAY and is_list(source):
        return [source.value_type]
    if kind.root in STRUCT_ROOTS and pa.types.is_struct(source) and [f.name for f in source] == _names(kind):
        return [f.type for f in source]
    return None


def _names(kind: DataType) -> list[str]:
    return [child.name for child in kind.children]


def _inner_columns(column: pa.ChunkedArray, kind: DataType) -> list[pa.ChunkedArray]:
    """Return one column for each child of a nested type, without the values inside null rows."""
    if kind.root is TypeRoot.ARRAY:
        return [pc.list_flatten(column)]
    if kind.root in MAP_ROOTS:
        pairs = pa.struct([pa.field("key", column.type.key_type), pa.field("value", column.type.item_type)])
        column = pc.list_flatten(column.cast(pa.list_(pairs)))
    if column.null_count:
        column = column.drop_null()
    return [pc.struct_field(column, [name]) for name in _names(kind)]


def _check_cast(source: pa.DataType, field: DataField) -> None:
    """Raise SchemaMismatch for a cast between families of types, such as from text to number.

    Casts within one family, such as between integers, are allowed; casts between families, or a cast that adds a time
    zone, are usually mistakes.
    """
    inner = _inner_types(source, field.type) if field.type.root in NESTED_ROOTS else None
    for held, child in zip(inner or (), field.type.children, strict=False):
        _check_cast(held, DataField(-1, f"{field.name}.{child.name}", child.type))
    if inner is not None:
        return
    for is_member, roots in _FAMILIES:
        if pa.types.is_floating(source) and field.type.root is TypeRoot.DECIMAL:
            break  # 1.005 has no exact double: the caller must choose the rounding
        if is_member(source) and field.type.root in roots:
            zoned = pa.types.is_timestamp(source) and (source.tz is not None) != (
                field.type.root is TypeRoot.TIMESTAMP_LTZ
            )
            if not zoned:
                return
    raise SchemaMismatch(f"column {field.name!r} is {field.type} and does not accept {source}", column=field.name)


def _check_values(column: pa.ChunkedArray, field: DataField) -> None:
    kind: DataType = field.type
    if kind.root in NESTED_ROOTS:
        for values, child in zip(_inner_columns(column, kind), kind.children, strict=True):
            inner = DataField(-1, f"{field.name}.{child.name}", child.type)
            if values.null_count and not child.type.nullable:
                raise SchemaMismatch(f"column {inner.name!r} is NOT NULL but a value is null", column=inner.name)
            _check_values(values, inner)
        return
    if kind.root is TypeRoot.TIME or kind.root in TIMESTAMP_ROOTS:
        _check_time_digits(column, field)
    if kind.root in STRING_ROOTS:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise SchemaMismatch(
                f"column {field.name!r} contains bytes that are not valid UTF-8: {error}", column=field.name
            ) from None
    if kind.root in STRING_ROOTS and kind.length < 2**31 - 1:
        longest = pc.max(pc.utf8_length(column)).as_py() or 0
    elif kind.root in BINARY_ROOTS and kind.length < 2**31 - 1:
        longest = pc.max(pc.binary_length(column)).as_py() or 0
    else:
        return
    if longest > kind.length:
        raise SchemaMismatch(f"column {field.name!r} is {kind} but a value has the length {longest}", column=field.name)


def _check_time_digits(column: pa.ChunkedArray, field: DataField) -> None:
    """Raise SchemaMismatch for a TIME outside one day, or for more fractional digits than the type's precision."""
    kind = field.type
    held = 3 if kind.root is TypeRoot.TIME else {"ms": 3, "us": 6, "ns": 9}[kind.timestamp_unit]
    numbers = column.cast(pa.int32() if kind.root is TypeRoot.TIME else pa.int64())
    if kind.root is TypeRoot.TIME:
        ends = pc.min_max(numbers).as_py()
        if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < 86_400_000:
            raise SchemaMismatch(f"column {field.name!r} contains a time outside of a day", column=field.name)
    step = 10 ** max(0, held - kind.precision)
    if step > 1 and len(numbers) > numbers.null_count:
        whole = pc.multiply(pc.divide(numbers, step), step)
        if not pc.all(pc.equal(whole, numbers)).as_py():
            raise SchemaMismatch(
                f"column {field.name!r} is {kind} but a value has more digits of a second", column=field.name
            )


def one_nan(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return ``rows`` in which all NaN values of these columns have the same bytes.

    The bytes of keys are hashed, so equal keys must have equal bytes.
    """
    for name in dict.fromkeys(columns):
        column = rows[name]
        if pa.types.is_floating(column.type):
            same = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
            rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), same)
    return rows
