"""Aggregates of text and collections against a model that folds row by row, as Java's classes do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.lsm.aggregates.collections.collect import Collect
from paimon_core.lsm.aggregates.collections.listagg import ListAgg
from paimon_core.lsm.aggregates.collections.maps import MergeMap, MergeMapWithKeyTime
from paimon_core.lsm.aggregates.collections.nested import NO_LIMIT, NestedAppend, NestedUpsert
from paimon_core.lsm.aggregates.collections.nested_key import NestedKey
from paimon_core.lsm.aggregates.collections.nested_partial import NestedPartialUpdate
from paimon_core.lsm.key_groups import group
from tests.support.examples import examples

MANY = settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
Step = Callable[[Any, Any], Any]

INTS = st.sampled_from([None, 0, 1, 2])
FLOATS = st.sampled_from([None, -0.0, 0.0, 1.5, math.nan])
TEXTS = st.sampled_from([None, "", "a", "é", "\U0001f600", "\uffee"])
ROW = pa.struct([pa.field("a", pa.float64()), pa.field("b", pa.string())])
ROWS = st.none() | st.fixed_dictionaries({"a": FLOATS, "b": TEXTS})
MAP = pa.map_(pa.string(), pa.float64())
ELEMENTS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (pa.int32(), INTS),
    "float": (pa.float32(), FLOATS),
    "text": (pa.string(), TEXTS),
    "bytes": (pa.binary(), st.sampled_from([None, b"", b"\0", b"\xff\0"])),
    "list": (pa.list_(pa.float64()), st.none() | st.lists(FLOATS, max_size=2)),
    "row": (ROW, ROWS),
    "row in list": (pa.list_(ROW), st.none() | st.lists(ROWS, max_size=2)),
    "map": (
        MAP,
        st.none() | st.lists(st.tuples(st.sampled_from(["x", "y"]), FLOATS), max_size=2, unique_by=lambda e: e[0]),
    ),
}


def as_object(value: Any) -> str:
    """Return a text that is equal for equal objects: all NaN are one, -0.0 is not 0.0, a map has no order."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return repr(sorted(map(as_object, value)))
    return repr(value)


def equal_as_rows(a: Any, b: Any, inside: bool = False) -> bool:
    """Whether Java's generated code treats two values as equal; ``inside`` a list or map a null equals nothing."""
    if a is None or b is None:
        return a is b and not inside
    if isinstance(a, dict):
        return all(equal_as_rows(a[name], b[name]) for name in a)
    if isinstance(a, list) and ((a and isinstance(a[0], tuple)) or (b and isinstance(b[0], tuple))):
        found = dict(b)
        return len(a) == len(b) and all(k in found and equal_as_rows(v, found[k], True) for k, v in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(equal_as_rows(x, y, True) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def fold_by_model(rows: list[tuple[bool, Any]], add: Step, retract: Step | None) -> Any:
    held = None
    for taken_back, value in rows:
        if not taken_back:
            held = add(held, value)
        elif held is not None and value is not None:
            held = retract(held, value)
    return held


@st.composite
def histories(draw: st.DrawFn, values: st.SearchStrategy[Any], retracts: bool) -> list[tuple[int, bool, Any]]:
    """Rows of (group, whether retracted, value)."""
    kinds = st.booleans() if retracts and draw(st.booleans()) else st.just(False)
    return draw(st.lists(st.tuples(st.integers(0, 2), kinds, st.none() | values), max_size=10))


def check(made: Any, kind: pa.DataType, rows: list[tuple[int, bool, Any]], add: Step, retract: Step | None) -> None:
    column = pa.chunked_array([pa.array([value for _, _, value in rows], kind), pa.array([], kind)], kind)
    groups = group(np.array([number for number, _, _ in rows], np.int64), None)
    taken_back = np.array([flag for _, flag, _ in rows], np.bool_)
    found = made(column, groups, taken_back if taken_back.any() else None)
    assert found.type == kind
    found.validate(full=True)
    models = [
        fold_by_model([(bool(flag), value) for number, flag, value in rows if number == wanted], add, retract)
        for wanted in sorted({number for number, _, _ in rows})
    ]
    assert repr(found.to_pylist()) == repr(pa.array(models, kind).to_pylist())


def is_blank(text: str) -> bool:
    return all(c in " \t\n\u3000" for c in text)


@MANY
@given(
    st.data(), st.booleans(), st.sampled_from([",", ", ", "||", "", "é", " "]), st.sampled_from([" a\u3000\t,|é", "a|"])
)
def test_listagg(data, distinct, delimiter, letters):
    def add(held: Any, text: Any) -> Any:
        if text is None or is_blank(text):
            return held
        if held is None:
            return text
        if not distinct:
            return held + delimiter + text
        there = held.split(delimiter or " ")
        for part in text.split(delimiter or " "):
            if not is_blank(part) and part not in there:
                there.append(part)
                held += delimiter + part
        return held

    rows = data.draw(histories(st.text(st.sampled_from(letters), max_size=6), False))
    check(ListAgg(delimiter, distinct), pa.string(), rows, add, None)


@MANY
@given(st.data(), st.booleans(), st.sampled_from(sorted(ELEMENTS)))
def test_collect(data, distinct, name):
    element, values = ELEMENTS[name]

    def same(a: Any, b: Any) -> bool:
        if distinct and pa.types.is_nested(element):
            return equal_as_rows(a, b)
        if not distinct and name == "bytes":
            return a is None and b is None
        return as_object(a) == as_object(b)

    def add(held: Any, more: Any) -> Any:
        if more is None:
            return held
        held = list(held or [])
        for value in more:
            if not distinct or not any(same(value, other) for other in held):
                held.append(value)
        return held

    def retract(held: Any, less: Any) -> Any:
        less, left = list(less), []
        for value in held:
            at = next((i for i, other in enumerate(less) if same(value, other)), None)
            if at is None:
                left.append(value)
            else:
                del less[at]
        return left

    rows = data.draw(histories(st.lists(values, max_size=4), True))
    check(Collect(distinct), pa.list_(pa.field("element", element)), rows, add, retract)


KEYS = {
    "text": (pa.string(), st.sampled_from(["", "a", "é"])),
    "float": (pa.float64(), st.sampled_from([-0.0, 0.0, math.nan])),
    "bytes": (pa.binary(), st.sampled_from([b"", b"\0"])),
    "row": (pa.struct([("k", pa.int32())]), st.fixed_dictionaries({"k": INTS})),
}


def maps(keys: st.SearchStrategy[Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(keys, values), max_size=3, unique_by=lambda entry: as_object(entry[0]))


@MANY
@given(st.data(), st.sampled_from(sorted(KEYS)))
def test_merge_map(data, name):
    kind, keys = KEYS[name]

    def add(held: Any, more: Any) -> Any:
        if more is None:
            return held
        found = {as_object(key): (key, value) for key, value in held or []}
        found.update({as_object(key): (key, value) for key, value in more})
        return list(found.values())

    def retract(held: Any, less: Any) -> Any:
        gone = {as_object(key) for key, _ in less}
        return [(key, value) for key, value in held if as_object(key) not in gone]

    check(MergeMap(), pa.map_(kind, pa.int32()), data.draw(histories(maps(keys, INTS), True)), add, retract)


TIMED = pa.struct([("t", pa.string()), ("v", pa.int32())])


def utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


@MANY
@given(st.data())
def test_merge_map_with_keytime(data):
    def add(held: Any, more: Any) -> Any:
        if held is None or more is None:
            return more if held is None else held
        found = dict(held)
        for key, row in more:
            if row is None:
                found.pop(key, None)
            elif row["t"] is not None:
                old = found.get(key)
                if old is None or old["t"] is None or utf16(row["t"]) > utf16(old["t"]):
                    found[key] = row
        return list(found.items())

    values = st.none() | st.fixed_dictionaries({"t": TEXTS, "v": INTS})
    rows = data.draw(histories(maps(st.sampled_from(["x", "y"]), values), False))
    check(MergeMapWithKeyTime("t"), pa.map_(pa.string(), TIMED), rows, add, None)


LIMITS = st.sampled_from([NO_LIMIT, 1, 2, 3])


@MANY
@given(st.data(), LIMITS)
def test_nested_update_without_a_key(data, limit):
    def add(held: Any, more: Any) -> Any:
        if more is None:
            return held
        return [*(held or []), *[row for row in more if row is not None][: limit - len(held or [])]]

    def retract(held: Any, less: Any) -> Any:
        return [row for row in held if not any(other and equal_as_rows(row, other) for other in less)]

    rows = data.draw(histories(st.lists(ROWS, max_size=4), True))
    check(NestedAppend(limit), pa.list_(ROW), rows, add, retract)


NESTED = pa.struct(
    [("k", pa.string()), ("j", pa.float32()), ("s", pa.int32()), ("f", pa.float64()), ("v", pa.string())]
)
NESTED_ROWS = st.none() | st.fixed_dictionaries(
    {
        "k": st.sampled_from([None, "x", "y", "z"]),
        "j": st.sampled_from([None, 0.0, -0.0]),
        "s": INTS,
        "f": st.sampled_from([None, -0.0, 0.0, 1.5]),
        "v": TEXTS,
    }
)
NESTED_KEYS = st.sampled_from([("k",), ("k", "j")])


def key_of(row: Any, key: tuple[str, ...], nulls: str) -> Any:
    """Return the row's key, or None for a row that does not count."""
    if row is None or (nulls == "ignore" and any(row[name] is None for name in key)):
        return None
    return tuple(as_object(row[name]) for name in key)


def place(row: Any, sequence: tuple[str, ...]) -> list[Any]:
    return [(row[name] is not None, row[name] or 0) for name in sequence]


@MANY
@given(st.data(), NESTED_KEYS, st.sampled_from(["merge", "ignore"]), st.sampled_from([(), ("s",), ("f", "s")]), LIMITS)
def test_nested_update_by_a_key(data, key, nulls, sequence, limit):
    def add(held: Any, more: Any) -> Any:
        if more is None:
            return held
        found = {key_of(row, key, nulls): row for row in held or []}
        for row in more:
            at = key_of(row, key, nulls)
            if at is None:
                continue
            if at in found:
                if place(row, sequence) >= place(found[at], sequence):
                    found[at] = row
            elif len(found) < limit:
                found[at] = row
        return list(found.values())

    def retract(held: Any, less: Any) -> Any:
        gone = {key_of(row, key, nulls) for row in less}
        return [row for row in held if key_of(row, key, nulls) not in gone]

    rows = data.draw(histories(st.lists(NESTED_ROWS, max_size=4), True))
    check(NestedUpsert(NestedKey("c", key, nulls), sequence, limit), pa.list_(NESTED), rows, add, retract)


@MANY
@given(st.data(), NESTED_KEYS, st.sampled_from(["merge", "ignore"]))
def test_nested_partial_update(data, key, nulls):
    def add(held: Any, more: Any) -> Any:
        if more is None:
            return held
        found = {key_of(row, key, nulls): row for row in held or []}
        for row in more:
            at = key_of(row, key, nulls)
            if at is not None:
                known = {name: value for name, value in row.items() if value is not None}
                found[at] = {**dict.fromkeys(row), **found.get(at, {}), **known}
        return list(found.values())

    rows = data.draw(histories(st.lists(NESTED_ROWS, max_size=4), False))
    check(NestedPartialUpdate(NestedKey("c", key, nulls)), pa.list_(NESTED), rows, add, None)
