"""Events with any values in any place: a row or a reject for each, the same whatever the blocks are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.sources.files.events.event_files import envelope, read_events
from tests.pipelines.sources.files.reading import columns
from tests.support.examples import examples

KINDS = {
    "id": "INT", "s": "VARCHAR(3)", "price": "DECIMAL(4,1)", "at": "TIMESTAMP(3)", "day": "DATE", "t": "TIME(0)",
    "b": "BOOLEAN", "d": "DOUBLE", "f": "FLOAT", "data": "VARBINARY(4)", "tags": "ARRAY<INT>", "r": "ROW<x INT>",
}  # fmt: skip
numbers = st.integers(-3, 3) | st.sampled_from([2**31, 2**63, 2**64, 10**40, 0.5, 1e300, 1e-9, 12345.6, 86_400_000])
texts = st.sampled_from(
    ["", "1", "1.5", "1e2", "AeY=", "2024-02-29", "2024-02-30 00:00:00", "12:00:00", "true", "ä\n", "long"]
)
values = st.none() | numbers | texts | st.booleans() | st.lists(st.integers(0, 2) | st.none(), max_size=2)
values |= st.just({}) | st.just({"x": 1}) | st.just({"x": "1"})
rows = st.fixed_dictionaries({}, optional=dict.fromkeys(KINDS, values))
keyed = st.builds(lambda row, key: {**row, "id": key}, rows, st.integers(0, 2) | st.just("2"))
images = keyed | keyed | rows | values
lists = st.lists(keyed | images, max_size=3) | images
ops = st.sampled_from(["c", "u", "d", "r", "m", "x", None, 1])
types = st.sampled_from(["INSERT", "UPDATE", "DELETE", "ALTER", "x", None, 1])
names = st.sampled_from(["a", None]) | values
EVENTS = {
    "debezium-json": st.fixed_dictionaries({"op": ops, "before": images, "after": images}, optional={"source": names}),
    "canal-json": st.fixed_dictionaries({"type": types, "data": lists, "old": lists}, optional={"isDdl": names}),
    "maxwell-json": st.fixed_dictionaries(
        {"type": types.map(lambda text: text.lower() if isinstance(text, str) else text), "data": images, "old": images}
    ),
}
SCHEMA = {"price": {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "1"}}}
SCHEMA |= {"at": {"name": "io.debezium.time.MicroTimestamp"}, "t": {"name": "io.debezium.time.Time"}}


def damaged(line: str, at: int, what: str) -> str:
    at %= len(line) + 1
    return line[:at] + what + line[at + 1 :]


@st.composite
def lines(draw: Any, kind: str) -> str:
    event = draw(EVENTS[kind])
    if kind == "debezium-json" and draw(st.booleans()):
        event = envelope(event, **SCHEMA)
    text = json.dumps(event, separators=draw(st.sampled_from([(",", ":"), (", ", ": ")])))
    if draw(st.integers(0, 9)):
        return text
    return damaged(text, draw(st.integers(0, 500)), draw(st.sampled_from(["", "{", '"', "}", "null", "\t", "é"])))


@pytest.mark.parametrize("kind", EVENTS)
@settings(max_examples=examples(120))
@given(data=st.data())
def test_rows_and_rejects_do_not_depend_on_blocks(tmp_path_factory, kind, data):
    written = data.draw(st.lists(lines(kind), min_size=1, max_size=8))
    path = tmp_path_factory.mktemp("events") / "a"
    options = {"ignore_extra_columns": True, "allow_missing_columns": True}
    schema, not_null = columns(**KINDS), data.draw(st.sampled_from([(), ("s", "tags")]))
    whole, *others = (
        read_events(path, written, schema, kind, not_null=not_null, block_bytes=size, split_bytes=split, **options)
        for size, split in ((1 << 20, 1 << 20), (1, 1 << 20), (1 << 20, 200))
    )
    for other in others:
        assert repr(other.rows) == repr(whole.rows)
        assert sorted(map(str, other.rejects)) == sorted(map(str, whole.rejects))
        assert (other.skipped, other.sources) == (whole.skipped, whole.sources)
