"""Messages as rows: what the readers of lines and events see of values, keys and offsets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.types import parse_type
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.columns import RowRules, arrow_field
from paimon_lake.sources.files.formats import file_format
from paimon_lake.sources.kafka.message_keys import key_members, members_text
from paimon_lake.sources.kafka.message_rows import MessageRows
from paimon_lake.sources.kafka.messages import Messages
from paimon_lake.sources.kafka.position import Position

SCHEMA = pa.schema([arrow_field("id", parse_type("BIGINT")), arrow_field("t", parse_type("STRING"))])


def parsed(values, keys=(), form="jsonl", key=(), required=("id",), offsets=None):
    rules = RowRules(required, ("id",) if form != "jsonl" else ())
    rows = MessageRows(("o", 3), file_format(form), SCHEMA, rules, key)
    offsets = np.array(range(10, 10 + len(values)) if offsets is None else offsets, np.int64)
    return rows.parse(Messages(offsets, list(values), list(keys), -1, 0))


def test_values_may_have_line_ends_and_spaces_around_them():
    found = parsed([b' {"id":\r\n 1}\n', b'{"id": 2, "t": "a\\nb"}'])
    assert found.rows.to_pylist() == [{"id": 1, "t": None}, {"id": 2, "t": "a\nb"}]
    assert found.read == 2


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"  ",
        b'{"id": 1',
        b'{"id": 1}{"id": 2}',
        b'{"id": 1}\n{"id": 2}',
        b"\xff",
        b'{"id": 1, "t": "a\nb"}',
        b"[]",
        b"1",
        b'{"t": "a"}',
        b'{"id": "x"}',
        b"\n",
    ],
)
def test_a_value_that_is_no_row_is_one_reject(value):
    found = parsed([b'{"id": 7}', value, b'{"id": 8}'])
    assert [row["id"] for row in found.rows.to_pylist()] == [7, 8]
    assert found.read == 3
    (reject,) = found.rejects.to_pylist()
    assert (reject["file"], reject["line"]) == ("o[3]", 11)
    assert reject["raw"].encode() == value.decode("utf-8", "backslashreplace").encode()


def test_tombstones_without_a_key_are_counted():
    found = parsed([None, b'{"id": 1}', b"null"])
    assert (found.skipped, found.read, len(found.rows)) == ({"tombstone": 2}, 1, 1)


def test_rows_and_tombstones_stay_in_their_order():
    values = [b'{"id": 1, "t": "a"}', None, b'{"t": "c"}', None, b"{}"]
    found = parsed(values, [b"1", b'{"id": 1}', b"2", b"2", b"5"], key=("id",))
    assert [tuple(row.values()) for row in found.rows.to_pylist()] == [
        (1, "a", "+I"),
        (1, None, "-D"),
        (2, "c", "+I"),
        (2, None, "-D"),
        (5, None, "+I"),
    ]
    assert found.read == 5


def test_a_tombstone_of_a_row_with_columns_not_null():
    found = parsed([None], [b"1"], key=("id",), required=("id", "t"))
    assert found.rows.to_pylist() == [{"id": 1, "t": "", "__kind": "-D"}]


def test_rejects_of_keys_have_the_key_as_text():
    found = parsed([None, None, b'{"t": 1}'], [b"abc", None, b"[1]"], key=("id",))
    rejects = sorted((one["line"], one["raw"]) for one in found.rejects.to_pylist())
    assert rejects == [(10, "abc"), (11, ""), (12, '{"t": 1}')]
    assert found.read == 3


def test_an_unknown_column_names_the_topic_and_no_inner_column():
    said = "^topic o, partition 3 has columns that the table does not have: 'u'; the table has id, t: add"
    with pytest.raises(PipelineError, match=said):
        parsed([b'{"id": 1, "u": 1}'], [b"1"], key=("id",))


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.text(max_size=3)), max_size=20))
def test_the_last_message_of_a_key_decides(messages):
    values = [None if text is None else members_text({"id": key, "t": text}).encode() for key, text in messages]
    found = parsed(values, [str(key).encode() for key, _ in messages], key=("id",))
    table = {row["id"]: None if row["__kind"] == "-D" else row["t"] for row in found.rows.to_pylist()}
    assert table == dict(messages)


@pytest.mark.parametrize(
    ("key", "columns", "texts", "said"),
    [
        (b"1", ["id"], (), {"id": "1"}),
        (b'"1"', ["id"], ["id"], {"id": "1"}),
        (b"1", ["id"], ["id"], {"id": "1"}),
        (b"abc", ["id"], ["id"], {"id": "abc"}),
        (b"abc", ["id"], (), None),
        (b'{"id": 1.50}', ["id"], (), {"id": "1.50"}),
        (b'{"schema": {}, "payload": {"id": 1}}', ["id"], (), {"id": "1"}),
        (b'{"id": 1}', ["id", "b"], (), None),
        (b'{"id": null}', ["id"], (), None),
        (b"", ["id"], ["id"], None),
        (None, ["id"], ["id"], None),
        (b"\xff", ["id"], ["id"], None),
        (b"[1]", ["id"], (), None),
        (b"1", ["id", "b"], (), None),
    ],
)
def test_keys(key, columns, texts, said):
    assert key_members(key, columns, texts) == said


def test_numbers_of_keys_keep_their_text():
    assert members_text(key_members(b'{"id": 12345678901234567890.10}', ["id"], ())) == '{"id":12345678901234567890.10}'


@pytest.mark.parametrize(
    "found",
    [
        None,
        1,
        [],
        {},
        {"cluster": 1, "topics": {}},
        {"cluster": "a", "topics": {"t": [1, [2]]}},
        {"cluster": "a", "topics": {"t": ["i", [-1]]}},
        {"cluster": "a", "topics": {"t": ["i", 1]}},
        {"lsn": "0/1"},
    ],
)
def test_another_position_is_refused(found):
    with pytest.raises(PipelineError, match="which a load of Kafka did not write: load with reload"):
        Position.from_json(found)
