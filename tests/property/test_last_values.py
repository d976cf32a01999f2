"""Merges that take the last values without groups, against the same engine on groups: every engine, kinds and nulls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.merge import merge_runs
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.options import TableOptions
from paimon_core.schema import new_schema
from tests.support.examples import examples

MANY = settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
COLUMNS = {"k": pa.int64(), "a": pa.int32(), "b": pa.string(), "c": pa.list_(pa.int32()), "g": pa.int64()}
OPTIONS: list[dict[str, str]] = [
    {"ignore-delete": "true"},
    {"merge-engine": "partial-update"},
    {"merge-engine": "partial-update", "ignore-delete": "true"},
    {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    {"merge-engine": "partial-update", "fields.g.sequence-group": "a"},
    {"merge-engine": "partial-update", "sequence.field": "g"},
    {"merge-engine": "aggregation"},
    {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"},
    {
        "merge-engine": "aggregation",
        "fields.default-aggregate-function": "last_value",
        "fields.b.ignore-retract": "true",
    },
    {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"},
]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "a": st.sampled_from([None, 1, 2]),
    "b": st.sampled_from([None, "p", "q"]),
    "c": st.sampled_from([None, [1], [2, None]]),
    "g": st.sampled_from([None, -(2**62), 0, 2**62]),
}


class OnGroups:
    """An engine that never takes the last values without groups."""

    keeps_last = False

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def last_values(self, rows: pa.Table, columns: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@st.composite
def runs(draw: st.DrawFn) -> list[pa.RecordBatch]:
    kinds = draw(st.sampled_from([[0], [0, 2], [0, 2, 3]]))
    filled = draw(st.booleans())
    apart = draw(st.sampled_from([1, 2**40]))
    out, number = [], 0
    for keys in draw(st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=2, max_size=5)):
        rows = []
        for key in sorted(keys):
            values = {n: draw(v.filter(lambda x: x is not None) if filled else v) for n, v in VALUES.items()}
            kind = {"_VALUE_KIND": draw(st.sampled_from(kinds)), "_SEQUENCE_NUMBER": number}
            rows.append({"k": key * apart, **values, **kind})
            number += 1
        fields = [*COLUMNS.items(), ("_SEQUENCE_NUMBER", pa.int64()), ("_VALUE_KIND", pa.int8())]
        out.append(pa.RecordBatch.from_pylist(rows, pa.schema(fields)))
    return out


def merged(engine: Any, batches: list[pa.RecordBatch], **more: Any) -> Any:
    try:
        tables = list(merge_runs([iter([batch]) for batch in batches], key=["k"], engine=engine, window_rows=3, **more))
    except InvalidRequest as error:
        return str(error)
    return [row for table in tables for row in table.to_pylist()]


@MANY
@given(st.sampled_from(OPTIONS), runs(), st.booleans(), st.booleans(), st.booleans())
def test_the_rows_of_groups(
    options: dict[str, str], batches: list[pa.RecordBatch], drops: bool, required: bool, hidden: bool
) -> None:
    arrow = pa.schema([pa.field(n, t, n not in ("k", "a" if required else "k")) for n, t in COLUMNS.items()])
    schema = new_schema(arrow, primary_key=["k"], options=options)
    parsed = TableOptions.parse(options)
    engine = merge_engine(schema, parsed)
    columns = ["k", "b", "c", "a", *(["_VALUE_KIND", "_SEQUENCE_NUMBER"] if hidden else [])]
    order = MergeOrder.of(parsed)
    more = {"order": order, "drop_deletes": drops, "columns": columns}
    assert merged(engine, batches, **more) == merged(OnGroups(engine), batches, **more)


def test_engines_take_last_values_without_groups() -> None:
    """The property compares two ways only if the engines choose both."""
    rows = pa.table({"k": [1], "a": pa.array([1], pa.int32()), "b": pa.array([None], pa.string())})
    schema = new_schema(
        pa.schema([pa.field("k", pa.int64(), False), ("a", pa.int32()), ("b", pa.string())]), primary_key=["k"]
    )
    for name, plain in (("partial-update", {"b"}), ("aggregation", {"b"}), ("first-row", None)):
        engine = merge_engine(schema, TableOptions.parse({"merge-engine": name}))
        assert engine.last_values(rows, ["k", "a", "b"]) == plain
