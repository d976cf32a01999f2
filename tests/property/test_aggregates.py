"""The aggregation engine against a model that folds row by row, as the table format defines it (format 9.5)."""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.aggregation import Aggregation
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import parse_type
from tests.support.examples import examples

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
WIDTHS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
FLOATS = {"FLOAT": np.float32, "DOUBLE": np.float64}
REMOVE = "aggregation.remove-record-on-delete"


class Refused(Exception):
    """The model's error."""


@dataclass(frozen=True)
class Numbers:
    """Arithmetic of one numeric type on Arrow values."""

    type: str

    def calculate(self, operation: str, a: Any, b: Any) -> Any:
        if self.type in FLOATS:
            one, other = FLOATS[self.type](a), FLOATS[self.type](b)
            with np.errstate(all="ignore"):
                return {"+": one + other, "-": one - other, "*": one * other, "/": one / other}[operation]
        if self.type in WIDTHS:
            return self._integer(operation, a, b)
        return self._decimal(operation, a, b)

    def negated(self, a: Any) -> Any:
        return -FLOATS[self.type](a) if self.type in FLOATS else self.calculate("-", 0, a)

    def _integer(self, operation: str, a: int, b: int) -> int:
        if operation == "/":
            if b == 0:
                raise Refused
            result = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        else:
            result = {"+": a + b, "-": a - b, "*": a * b}[operation]
        if not -(1 << WIDTHS[self.type] - 1) <= result < 1 << WIDTHS[self.type] - 1:
            raise Refused
        return result

    def _decimal(self, operation: str, a: decimal.Decimal, b: decimal.Decimal) -> decimal.Decimal | None:
        kind = parse_type(self.type)
        with decimal.localcontext(prec=400) as context:
            context.clear_flags()
            if operation == "/":
                if b == 0:
                    raise Refused
                result = a / b
                if context.flags[decimal.Inexact]:
                    raise Refused
            else:
                result = {"+": a + b, "-": a - b, "*": a * b}[operation]
            unscaled = int((result.scaleb(kind.scale)).to_integral_value(decimal.ROUND_HALF_UP))
            # Sums of up to 18 digits are computed in 64 bits and may exceed the precision in between.
            limit = 2**63 if operation in "+-" and kind.precision <= 18 else 10**kind.precision
            return exact(unscaled, kind.scale) if abs(unscaled) < limit else None


def exact(unscaled: int, scale: int) -> decimal.Decimal:
    return decimal.Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def order(value: Any) -> Any:
    """Sort key of floats: -0.0 before 0.0, NaN last."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1, value))
    return value.encode() if isinstance(value, str) else value


def model(function: str, kind: str) -> Callable[[dict[str, Any], Any, bool], Any]:
    """Return a step of the fold: (``acc``, ``seen``), a value and whether it is a retract, to the next ``acc``."""
    numbers = Numbers(kind)

    def step(state: dict[str, Any], value: Any, retract: bool) -> Any:
        acc = state["acc"]
        if function == "last_value":
            return None if retract else value
        if function == "last_non_null_value":
            return acc if value is None else None if retract else value
        if function in ("sum", "product"):
            if acc is None and value is not None:
                if not retract:
                    return value
                return numbers.negated(value) if function == "sum" else None
            if value is None:
                return acc
            forth, back = ("+", "-") if function == "sum" else ("*", "/")
            return numbers.calculate(back if retract else forth, acc, value)
        if retract:
            raise Refused
        if function in ("first_value", "first_non_null_value"):
            if state["seen"] or (value is None and function == "first_non_null_value"):
                return acc
            state["seen"] = True
            return value
        if acc is None or value is None:
            return value if acc is None else acc
        return {
            "max": lambda: value if order(acc) < order(value) else acc,
            "min": lambda: acc if order(acc) < order(value) else value,
            "bool_and": lambda: acc and value,
            "bool_or": lambda: acc or value,
        }[function]()

    return step


def folded(function: str, kind: str, rows: list[tuple[str, Any]], remove: bool) -> tuple[str, Any]:
    """Return the kind and value of one key's rows."""
    if len(rows) == 1:
        return rows[0]
    state = {"acc": None, "seen": False}
    for row_kind, value in rows:
        if remove and row_kind == "-D":
            state["acc"] = value
        else:
            state["acc"] = model(function, kind)(state, value, row_kind[0] == "-")
    if kind.startswith("DECIMAL") and state["acc"] is not None:
        limits = parse_type(kind)
        if state["acc"].copy_abs() >= decimal.Decimal(10) ** (limits.precision - limits.scale):
            raise Refused
    return ("-D" if remove and rows[-1][0] == "-D" else "+I"), state["acc"]


def values(kind: str) -> st.SearchStrategy[Any]:
    if kind in WIDTHS:
        low, high = -(1 << WIDTHS[kind] - 1), (1 << WIDTHS[kind] - 1) - 1
        return st.one_of(st.integers(-9, 9), st.integers(low, high), st.sampled_from([low, high]))
    if kind in FLOATS:
        floats = st.floats(width=32 if kind == "FLOAT" else 64)
        return st.one_of(floats, st.sampled_from([0.0, -0.0, math.nan, 1.0, 0.5]), st.floats(-9, 9, width=32))
    if kind.startswith("DECIMAL"):
        parsed = parse_type(kind)
        limit = 10**parsed.precision - 1
        unscaled = st.one_of(st.integers(-limit, limit), st.integers(-200, 200), st.sampled_from([limit, -limit]))
        return unscaled.map(lambda u: exact(u, parsed.scale))
    return {
        "BOOLEAN": st.booleans(),
        "STRING": st.one_of(st.text(max_size=3), st.text("ab\0é", min_size=5, max_size=12)),
        "BYTES": st.binary(max_size=10),
        "DATE": st.dates(),
    }[kind]


NUMBERS = [*WIDTHS, *FLOATS, "DECIMAL(5, 2)", "DECIMAL(18, 0)", "DECIMAL(19, 3)", "DECIMAL(38, 10)"]
CASES = [
    *((f, t) for f in ("sum", "product") for t in NUMBERS),
    *((f, t) for f in ("max", "min") for t in [*NUMBERS, "BOOLEAN", "STRING", "BYTES", "DATE"]),
    *((f"{n}{v}", "INT") for n in ("last_", "first_") for v in ("value", "non_null_value")),
    ("bool_and", "BOOLEAN"),
    ("bool_or", "BOOLEAN"),
]


def bits(value: Any) -> Any:
    """Return the bits of a float; all NaN are one."""
    return struct.pack(">d", value) if isinstance(value, float | np.floating) and not math.isnan(value) else str(value)


@pytest.mark.parametrize(("function", "kind"), CASES)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_function_folds_as_row_by_row(function, kind, data):
    remove = data.draw(st.booleans(), "remove")
    row = st.tuples(st.sampled_from(["+I", "+I", "+U", "-U", "-D"]), st.none() | values(kind))
    keys = data.draw(st.lists(st.lists(row, min_size=1, max_size=9), min_size=1, max_size=5), "keys")
    schema = TableSchema(
        0, (DataField(0, "k", parse_type("INT NOT NULL")), DataField(1, "v", parse_type(kind))), 1, (), ("k",)
    )
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": function, REMOVE: str(remove).lower()}
    engine = Aggregation.of(schema, TableOptions.parse(options, creating=True))
    flat = [(k, *row) for k, rows in enumerate(keys) for row in rows]
    places = data.draw(st.permutations(range(len(flat))), "places")
    table = pa.table(
        {
            "k": pa.array([flat[p][0] for p in places], pa.int32()),
            "_VALUE_KIND": pa.array([KINDS[flat[p][1]] for p in places], pa.int8()),
            "v": pa.array([flat[p][2] for p in places], schema.by_name["v"].type.to_arrow()),
        }
    )
    ends = np.cumsum([len(rows) for rows in keys])
    groups = Groups(np.argsort(places), ends - [len(rows) for rows in keys], ends)
    try:
        expected = [folded(function, kind, rows, remove) for rows in keys]
    except Refused:
        # Rows before a removing -D do not count here, so their overflow is no error either.
        if not remove:
            with pytest.raises(InvalidRequest, match="'v'"):
                engine.fold(table, groups, ["v"])
        return
    result = engine.fold(table, groups, ["k", "_VALUE_KIND", "v"])
    assert result["k"].to_pylist() == list(range(len(keys)))
    assert result["_VALUE_KIND"].to_pylist() == [KINDS[k] for k, _ in expected]
    assert [bits(v) for v in result["v"].to_pylist()] == [
        bits(float(v) if isinstance(v, np.floating) else v) for _, v in expected
    ]
    result.validate(full=True)
    kept = engine.survivors(table, groups, drop_deletes=True)
    shown = engine.fold(table, kept, ["k"])["k"].to_pylist()
    assert shown == [k for k, (row_kind, _) in enumerate(expected) if row_kind[0] == "+"]
