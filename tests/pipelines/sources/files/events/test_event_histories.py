"""Random histories in each format, over several files, splits and blocks, give the rows of a dict."""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.sources.files.events.event_files import debezium, envelope, read_events
from tests.pipelines.sources.files.reading import columns
from tests.support.examples import examples

TABLE = columns(k="INT", part="STRING", n="BIGINT", price="DECIMAL(6,2)", day="DATE", at="TIMESTAMP(6)", text="STRING")
KEY = ("k", "part")
EPOCH = dt.datetime(1970, 1, 1)
Row = tuple[Any, ...]

values = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.decimals("-9999.99", "9999.99", places=2),
    st.none() | st.dates(),
    st.none() | st.datetimes(),
    st.none() | st.text(max_size=5),
)
keys = st.tuples(st.integers(0, 3), st.sampled_from(["a", "ä\n"]))
steps = st.lists(st.tuples(st.sampled_from(["put", "put", "delete", "move", "noise"]), keys, keys, values), max_size=25)


def history(drawn: list[Any]) -> tuple[list[tuple[str, Row | None, Row | None]], dict[Row, Row]]:
    """The changes as (kind, row before, row after), and the rows at the end."""
    rows: dict[Row, Row] = {}
    changes: list[tuple[str, Row | None, Row | None]] = []
    for what, key, other, row in drawn:
        before = rows.get(key)
        if what == "noise":
            changes.append(("noise", None, None))
        elif what == "put":
            changes.append(("insert" if before is None else "update", before, (*key, *row)))
            rows[key] = (*key, *row)
        elif before is not None and what == "delete":
            changes.append(("delete", rows.pop(key), None))
        elif before is not None and other not in rows:
            changes.append(("update", rows.pop(key), (*other, *row)))
            rows[other] = (*other, *row)
    return changes, rows


def named(row: Row | None, write: Any) -> dict[str, Any] | None:
    return None if row is None else {name: write(value) for name, value in zip(TABLE.names, row, strict=True)}


def plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal | dt.date | dt.datetime) else value


def epochs(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, dt.date) else value


def as_debezium(kind: str, before: Row | None, after: Row | None) -> Any:
    def write(value: Any) -> Any:
        return float(value) if isinstance(value, Decimal) else epochs(value)

    if kind == "noise":
        return "null"
    return debezium(kind[0] if kind != "insert" else "c", named(before, write), named(after, write))


def as_envelope(kind: str, before: Row | None, after: Row | None) -> Any:
    def write(value: Any) -> Any:
        if not isinstance(value, Decimal):
            return epochs(value)
        number = int(value.scaleb(2))
        return base64.b64encode(number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)).decode()

    if kind == "noise":
        return json.dumps({"schema": None, "payload": None}, separators=(",", ":"))
    event = debezium(kind[0] if kind != "insert" else "r", named(before, write), named(after, write))
    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    return envelope(event, price=decimal, at={"type": "int64", "name": "io.debezium.time.MicroTimestamp"})


def changed(before: Row | None, after: Row | None, write: Any) -> Any:
    new, old = named(after, write), named(before, write)
    return {} if new is None or old is None else {name: old[name] for name in old if old[name] != new[name]}


def as_canal(kind: str, before: Row | None, after: Row | None) -> Any:
    def write(value: Any) -> Any:
        return None if value is None else str(value)

    head = {"database": "d", "table": "t", "isDdl": kind == "noise"}
    if kind == "noise":
        return {"data": None, "type": "ALTER", **head}
    old = [changed(before, after, write)] if kind == "update" else None
    return {"data": [named(after or before, write)], "old": old, "type": kind.upper(), **head}


def as_maxwell(kind: str, before: Row | None, after: Row | None) -> Any:
    head = {"database": "d", "table": "t"}
    if kind == "noise":
        return {"type": "bootstrap-start", "data": {}, **head}
    event = {"type": kind, "data": named(after or before, plain), **head}
    return {**event, "old": changed(before, after, plain)} if kind == "update" else event


@pytest.mark.parametrize(
    ("kind", "encode"),
    [
        ("debezium-json", as_debezium),
        ("debezium-json", as_envelope),
        ("canal-json", as_canal),
        ("maxwell-json", as_maxwell),
    ],
    ids=["debezium", "envelope", "canal", "maxwell"],
)
@settings(max_examples=examples(60))
@given(
    drawn=steps,
    files=st.integers(1, 3),
    split=st.sampled_from([1 << 20, 700, 90]),
    block=st.sampled_from([1 << 20, 64]),
)
def test_the_rows_of_a_history_are_those_of_a_dict(tmp_path_factory, kind, encode, drawn, files, split, block):
    changes, wanted = history(drawn)
    folder = tmp_path_factory.mktemp("events")
    options = {"timestamp_unit": "us"} if encode is as_debezium else {}
    found: dict[Row, Row] = {}
    for at in range(files):
        part = changes[len(changes) * at // files : len(changes) * (at + 1) // files]
        lines = [encode(*change) for change in part]
        read = read_events(
            folder / f"{at}", lines, TABLE, kind, key=KEY, split_bytes=split, block_bytes=block, **options
        )
        assert read.rejects == []
        assert sum(read.skipped.values()) == sum(change[0] == "noise" for change in part)
        for row_kind, *row in read.rows:
            if row_kind == "-D":
                del found[tuple(row[:2])]
            else:
                assert (tuple(row[:2]) in found) == (row_kind == "+U")
                found[tuple(row[:2])] = tuple(row)
    assert found == wanted
