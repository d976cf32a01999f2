"""The merge against a dictionary: keys of every type, windows of a few rows, ties, nulls and deletes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.codec.binary_row.rows import to_array
from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.key_order import sort_key
from paimon_core.lsm.merge import merge_runs
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.order_codes import order_codes
from paimon_core.lsm.write_buffer import WriteBuffer
from paimon_core.types import parse_type
from tests.support.examples import examples

MANY = settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "INT": st.sampled_from([None, -(2**31), -1, 0, 1, 2, 3, 4, 5, 2**31 - 1]),
    "BIGINT": st.sampled_from([None, -(2**63), -1, 0, 1, 2, 3, 2**63 - 1]),
    "STRING": st.sampled_from([None, "", "a", "a\0", "prefix-1", "prefix-10", "prefix-2", "é", "\U0001f600", "z" * 70])
    | st.text(st.sampled_from("ab\0é"), max_size=10),
    "BYTES": st.binary(max_size=10),
    "DOUBLE": st.sampled_from([None, -math.inf, -0.0, 0.0, 1.5, math.inf, math.nan]),
    "DECIMAL(38, 2)": st.sampled_from([None, Decimal("-1.00"), Decimal("0.01"), Decimal(2**70), Decimal(2**64)]).map(
        lambda d: d and d.quantize(Decimal("0.01"))
    ),
    "DECIMAL(10, 2)": st.sampled_from([Decimal("-1.00"), Decimal("0.00"), Decimal("0.01"), Decimal("9.99")]),
    "BOOLEAN": st.sampled_from([None, False, True]),
    "DATE": st.integers(-3, 3),
    "TIMESTAMP(9)": st.sampled_from([None, -1, 0, 1, 2, 10**18]),
}
KEYS = [
    ("INT",),
    ("BIGINT",),
    ("STRING",),
    ("BYTES",),
    ("DOUBLE",),
    ("DECIMAL(38, 2)",),
    ("DECIMAL(10, 2)",),
    ("DATE",),
    ("TIMESTAMP(9)",),
    ("BOOLEAN", "BIGINT"),
    ("INT", "STRING", "BIGINT"),
    ("STRING", "DOUBLE"),
]


@dataclass(frozen=True)
class Row:
    key: tuple[Any, ...]
    sequence_fields: tuple[Any, ...]
    sequence: int
    kind: int
    number: int
    """Names the row in the result."""


def table_of(rows: list[Row], types: tuple[str, ...]) -> pa.Table:
    columns = {f"_KEY_{i}": to_array([r.key[i] for r in rows], parse_type(t)) for i, t in enumerate(types)}
    columns["_SEQUENCE_NUMBER"] = pa.array([r.sequence for r in rows], pa.int64())
    columns["_VALUE_KIND"] = pa.array([r.kind for r in rows], pa.int8())
    columns["s"] = to_array([r.sequence_fields[0] for r in rows], parse_type("BIGINT"))
    columns["t"] = to_array([r.sequence_fields[1] for r in rows], parse_type("STRING"))
    columns["number"] = pa.array([r.number for r in rows], pa.int64())
    return pa.table(columns)


def place(row: Row, order: MergeOrder) -> tuple[Any, ...]:
    """Return the sort key of a row among those of its key; a null sequence field is smallest in both directions."""
    fields = [row.sequence_fields["st".index(name)] for name in order.sequence_fields]
    return (*(_field(value, order.descending) for value in fields), row.sequence, row.kind in (0, 2))


def _field(value: Any, descending: bool) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    if not descending:
        return 1, value
    return 1, -value if isinstance(value, int) else [-b for b in value.encode()] + [1]


def model(rows: list[Row], order: MergeOrder, drop_deletes: bool) -> list[int]:
    """Return the numbers of the winning rows in key order; ``rows`` in order of arrival."""
    last: dict[Any, Row] = {}
    for row in rows:
        key = sort_key(row.key)
        if key not in last or place(last[key], order) <= place(row, order):
            last[key] = row
    return [last[key].number for key in sorted(last) if not (drop_deletes and last[key].kind in (1, 3))]


ORDERS = st.builds(MergeOrder, st.sampled_from([(), (), ("s",), ("t",), ("s", "t")]), st.booleans())


@st.composite
def histories(draw: st.DrawFn, types: tuple[str, ...]) -> list[list[Row]]:
    """Runs, oldest first: sequence numbers either increase over all runs, or repeat and overlap."""
    counting = draw(st.booleans())
    runs: list[list[Row]] = []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        keys = draw(st.lists(st.tuples(*(VALUES[t] for t in types)), max_size=8, unique_by=sort_key))
        run = []
        for key in sorted(keys, key=sort_key):
            fields = draw(st.tuples(st.sampled_from([None, -1, 0, 1]), st.sampled_from([None, "", "b", "ba"])))
            sequence = number if counting else draw(st.integers(0, 3))
            run.append(Row(key, fields, sequence, draw(st.integers(0, 3)), number))
            number += 1
        runs.append(run)
    return runs


@MANY
@given(st.sampled_from(KEYS), st.data())
def test_merged_runs_are_the_dictionary(types, data):
    runs = data.draw(histories(types))
    order = data.draw(ORDERS)
    drop_deletes = data.draw(st.booleans())
    tables = list(
        merge_runs(
            [iter(table_of(run, types).to_batches(max_chunksize=data.draw(st.integers(1, 3)))) for run in runs],
            key=[f"_KEY_{i}" for i in range(len(types))],
            order=order,
            engine=Deduplicate(),
            drop_deletes=drop_deletes,
            window_rows=data.draw(st.integers(1, 7)),
        )
    )
    assert all(len(table) for table in tables)
    found = [number for table in tables for number in table["number"].to_pylist()]
    assert found == model([row for run in runs for row in run], order, drop_deletes)


@MANY
@given(st.sampled_from(KEYS), st.data())
def test_a_drained_buffer_is_the_dictionary(types, data):
    rows = [row for run in data.draw(histories(types)) for row in run]
    rows = [rows[i] for i in data.draw(st.permutations(range(len(rows))))]
    order = data.draw(ORDERS)
    buffer = WriteBuffer([f"_KEY_{i}" for i in range(len(types))], order, Deduplicate())
    buffer.add(table_of(rows, types))
    found = [number for drained in buffer.drain() for number in drained.merged["number"].to_pylist()]
    assert found == model(rows, order, drop_deletes=False)


@MANY
@given(st.sampled_from(KEYS), st.data())
def test_codes_of_columns_order_as_single_keys_do(types, data):
    keys = data.draw(st.lists(st.tuples(*(VALUES[t] for t in types)), min_size=1, max_size=12))
    codes = order_codes([to_array([k[i] for k in keys], parse_type(t)) for i, t in enumerate(types)])
    single = [sort_key(key) for key in keys]
    distinct = sorted(set(single))
    assert np.unique(codes, return_inverse=True)[1].tolist() == [distinct.index(key) for key in single]
