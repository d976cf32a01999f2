"""A buffer that spills against one in memory: any rows, split anywhere, with any small limits, merge to the same rows.

The model is the buffer in memory itself, which merges all rows of the bucket at once.
"""

from __future__ import annotations

from itertools import pairwise
from unittest import mock

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.lsm import key_windows, write_buffer
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.write_buffer import WriteBuffer
from paimon_core.options import TableOptions
from paimon_core.schema import new_schema
from paimon_core.write.spill import SpillSpace
from tests.support.examples import examples

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), ("s", pa.int32()), ("n", pa.int64()), ("t", pa.string())]
)
ENGINES = (
    {"merge-engine": "deduplicate"},
    {"merge-engine": "deduplicate", "ignore-delete": "true"},
    {"merge-engine": "deduplicate", "sequence.field": "s"},
    {"merge-engine": "deduplicate", "sequence.field": "s,n", "sequence.field.sort-order": "descending"},
    {"merge-engine": "first-row"},
    {"merge-engine": "partial-update"},
    {"merge-engine": "partial-update", "fields.s.sequence-group": "n,t"},
    {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.t.aggregate-function": "listagg"},
    {"merge-engine": "aggregation", "sequence.field": "s", "fields.t.aggregate-function": "first_value"},
)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.one_of(st.none(), st.integers(0, 3)),
        st.one_of(st.none(), st.integers(-9, 9)),
        st.one_of(st.none(), st.sampled_from(["", "a", "bc"])),
        st.sampled_from([0, 2, 1, 3]),
    ),
    max_size=30,
)


def parts_of(rows, takes_retracts, cuts):
    """Return the rows with the columns of files, in parts."""
    keys, orders, numbers, texts, kinds = (list(c) for c in zip(*rows, strict=True)) if rows else ([],) * 5
    table = pa.table(
        {
            "_KEY_k": pa.array(keys, pa.int32()),
            "_SEQUENCE_NUMBER": pa.array(range(len(rows)), pa.int64()),
            "_VALUE_KIND": pa.array([kind if takes_retracts else kind & 2 for kind in kinds], pa.int8()),
            "k": pa.array(keys, pa.int32()),
            "s": pa.array(orders, pa.int32()),
            "n": pa.array(numbers, pa.int64()),
            "t": pa.array(texts, pa.string()),
        }
    )
    ends = sorted({min(cut, len(rows)) for cut in cuts} | {0, len(rows)})
    return [table.slice(a, b - a) for a, b in pairwise(ends)]


def drained(buffer):
    return rows_of(buffer.drain())


def rows_of(drained):
    found = list(drained)
    merged = [row for part in found for row in part.merged.to_pylist()]
    return merged, [row for part in found if part.raw is not None for row in part.raw.to_pylist()]


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=ROWS,
    options=st.sampled_from(ENGINES),
    cuts=st.lists(st.integers(0, 30), max_size=6),
    last_stays=st.booleans(),
    keeps_raw=st.booleans(),
    limits=st.tuples(
        st.integers(1, 4), st.integers(2, 4), st.sampled_from([1, 200]), st.sampled_from([1, 60, 1 << 20])
    ),
    codec=st.sampled_from([None, "zstd"]),
)
def test_spilled_or_not_the_rows_are_the_same(rows, options, cuts, last_stays, keeps_raw, limits, codec):
    parsed = TableOptions.parse(options, creating=True)
    schema = new_schema(SCHEMA, primary_key=["k"], options=options)
    engine = merge_engine(schema, parsed)
    deduplicates = options["merge-engine"] == "deduplicate"
    folds_early = (deduplicates and "ignore-delete" not in options) or options["merge-engine"] == "first-row"
    how = {"keeps_raw": keeps_raw, "folds_early": folds_early}
    parts = parts_of(rows, deduplicates, cuts)
    space = SpillSpace(1 << 30, codec and pa.Codec(codec))
    whole = WriteBuffer(["_KEY_k"], MergeOrder.of(parsed), engine, keeps_raw=keeps_raw)
    pieces = WriteBuffer(["_KEY_k"], MergeOrder.of(parsed), engine, store=space, **how)
    window_rows, fan_in, window_bytes, batch_bytes = limits
    with (
        mock.patch.multiple(write_buffer, WINDOW_ROWS=window_rows, FAN_IN=fan_in, BATCH_BYTES=batch_bytes),
        mock.patch.object(key_windows, "WINDOW_BYTES", window_bytes),
    ):
        for number, part in enumerate(parts):
            whole.add(part)
            pieces.add(part)
            if not (last_stays and number == len(parts) - 1):
                assert pieces.spill()
        assert drained(pieces) == drained(whole)
    assert space.used_bytes == 0
    space.close()


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=ROWS,
    options=st.sampled_from(ENGINES),
    cuts=st.lists(st.integers(0, 30), max_size=6),
    sorts=st.booleans(),
    keeps_raw=st.booleans(),
    first_rows=st.sampled_from([1, 3, 100]),
)
def test_parts_drain_by_ascending_key_only_if_they_arrived_so(rows, options, cuts, sorts, keeps_raw, first_rows):
    parsed = TableOptions.parse(options, creating=True)
    engine = merge_engine(new_schema(SCHEMA, primary_key=["k"], options=options), parsed)
    how = (["_KEY_k"], MergeOrder.of(parsed), engine)
    buffer, last = WriteBuffer(*how, keeps_raw=keeps_raw), -1
    rows = sorted({row[0]: row for row in rows}.values()) if sorts else rows
    with mock.patch.object(write_buffer, "_FIRST_ROWS", first_rows):
        for part in parts_of(rows, options["merge-engine"] == "deduplicate", cuts):
            keys = [last, *part["_KEY_k"].to_pylist()]
            whole = WriteBuffer(*how, keeps_raw=keeps_raw)
            for some in (buffer, whole):
                some.add(part)
            found = buffer.drain_ascending()
            assert (found is not None) == (len(part) > 0 and all(a < b for a, b in pairwise(keys)))
            if found is None:
                assert buffer.nbytes == whole.nbytes
                buffer.discard()
                continue
            assert rows_of(found) == rows_of(whole.drain())
            last = keys[-1]
