"""Messages of a real broker: each is loaded once, in the order of its partition, and what does not fit is rejected."""

from __future__ import annotations

import sys

import pytest

from paimon_lake.loads.kafka import kafka_loads
from paimon_lake.protocol import AuditFailed, PipelineError
from paimon_lake.sources.kafka import messages

REJECTS = "primary_key: id\n            rejects: {{max_share: {}}}"


def debezium(op, before, after, **source):
    return {"op": op, "before": before, "after": after, "source": {"db": "shop", "table": "o", **source}}


def test_rows_are_upserted_in_the_order_of_their_offsets_and_read_once(fed):
    fed.send({"id": 1, "t": "a"}, {"id": 2, "t": "b"}, {"id": 1, "t": "c"})
    result = fed.load()
    assert fed.rows() == [(1, "c"), (2, "b")]
    assert result.details["rows_read"] == 3
    assert result.details["position"] == f"{fed.topic}[0]=3"
    assert result.details["lag_messages"] == 0
    assert result.details["lag_seconds"] == 0.0
    assert fed.load().commits == ()
    fed.send({"id": 2, "t": "d"})
    assert fed.load().details["rows_read"] == 1
    assert fed.rows() == [(1, "c"), (2, "d")]


def test_rows_are_appended_once_and_a_reload_replaces_them(fed):
    fed.declare(rest="mode: append")
    fed.send(*({"id": n, "t": "a"} for n in range(5)))
    fed.load()
    fed.send({"id": 0, "t": "a"}, None)
    result = fed.load()
    assert result.details["rows_read"] == 1
    assert "1 tombstone skipped" in result.skipped
    assert len(fed.rows()) == 6
    fed.load(reload=True)
    assert len(fed.rows()) == 6
    assert fed.load().commits == ()


def test_a_run_is_several_commits_of_bounded_batches(fed):
    fed.declare("format: json, batch_rows: 4")
    fed.send(*({"id": n, "t": "a"} for n in range(10)))
    assert len(fed.load().commits) == 3
    fed.declare("format: json, batch_bytes: 100")
    fed.send(*({"id": n, "t": "b" * 40} for n in range(10)))
    assert len(fed.load().commits) == 10
    assert fed.rows() == [(n, "b" * 40) for n in range(10)]


def test_what_does_not_fit_is_rejected_with_its_place_and_text(fed):
    fed.declare(rest=REJECTS.format(1))
    fed.send(
        {"id": 1, "t": "a"}, b"{no", {"t": "b"}, {"id": "x", "t": "c"}, b"", b"\xff{}", b'{"id": 2,\n "t": "d"}', []
    )
    assert fed.load().details["rows_rejected"] == 6
    assert fed.rows() == [(1, "a"), (2, "d")]
    at = f"{fed.topic}[0]"
    found = fed.rejects()
    assert [(file, line, column) for file, line, column, *_ in found] == [
        (at, 1, None),
        (at, 2, "id"),
        (at, 3, "id"),
        (at, 4, None),
        (at, 5, None),
        (at, 7, None),
    ]
    assert [raw for *_, raw in found] == ["{no", '{"t": "b"}', '{"id": "x", "t": "c"}', "", "\\xff{}", "[]"]


def test_too_many_rejects_leave_the_position_where_it_was(fed):
    fed.send({"id": 1, "t": "a"}, b"{no")
    with pytest.raises(AuditFailed, match=r"1 of 2 rows do not fit .*\[0\]:1: "):
        fed.load()
    fed.declare(rest=REJECTS.format(0.5))
    assert fed.load().details["rows_read"] == 2
    assert fed.rows() == [(1, "a")]


def test_a_tombstone_deletes_the_row_with_its_key(fed):
    fed.declare("format: json, key: id", columns="{id: BIGINT, t: STRING NOT NULL}")
    fed.send((1, {"id": 1, "t": "a"}), ({"id": 2}, {"t": "b"}), (3, {"id": 3, "t": "c"}))
    fed.send((b"1", None), ({"id": 2}, None), ({"id": 2}, {"t": "again"}), ({"schema": {}, "payload": {"id": 3}}, None))
    result = fed.load()
    assert fed.rows() == [(2, "again")]
    assert result.details["rows_read"] == 7
    fed.send((b"x", None))
    with pytest.raises(AuditFailed, match="the key of the tombstone does not have id"):
        fed.load()


@pytest.mark.parametrize("form", ["debezium-json", "canal-json", "maxwell-json"])
def test_events_are_applied(fed, form):
    fed.declare(f"format: {form}")
    rows = [
        ("c", {"id": 1, "t": "a"}),
        ("c", {"id": 2, "t": "b"}),
        ("u", {"id": 1, "t": "c"}),
        ("d", {"id": 2, "t": "b"}),
    ]
    words = {"c": "insert", "u": "update", "d": "delete"}
    for op, row in rows:
        match form:
            case "debezium-json":
                fed.send(debezium(op, row if op == "d" else None, None if op == "d" else row))
            case "canal-json":
                fed.send({"type": words[op].upper(), "database": "shop", "table": "o", "isDdl": False, "data": [row]})
            case _:
                fed.send({"type": words[op], "database": "shop", "table": "o", "data": row})
    result = fed.load()
    assert fed.rows() == [(1, "c")]
    assert result.details["rows_read"] == 4


def test_tombstones_of_events_are_skipped_or_delete_by_the_declared_key(fed):
    fed.declare("format: debezium-json, options: {database: shop, table: o}")
    fed.send(debezium("c", None, {"id": 1, "t": "a"}), debezium("c", None, {"id": 2, "t": "a"}), ({"id": 1}, None))
    assert "1 tombstone skipped" in fed.load().skipped
    assert fed.rows() == [(1, "a"), (2, "a")]
    fed.declare("format: debezium-json, key: id, options: {database: shop, table: o}")
    fed.send(({"id": 1}, None), ({"schema": {}, "payload": {"id": 2}}, None))
    fed.load()
    assert fed.rows() == []


def test_an_event_that_empties_the_table_stops_the_load(fed):
    fed.declare("format: debezium-json")
    fed.send(debezium("c", None, {"id": 1, "t": "a"}), debezium("t", None, None))
    with pytest.raises(PipelineError, match=r"partition 0, offset 1: the event empties the table.*source\.offsets"):
        fed.load()


def test_columns_that_the_table_does_not_have_stop_the_load(fed):
    fed.send({"id": 1, "t": "a", "u": 1})
    with pytest.raises(
        PipelineError, match=r"^shop\.o: topic .*, partition 0 has columns that the table .*'u'"
    ) as error:
        fed.load()
    assert "file" not in str(error.value)
    fed.declare("format: json, options: {ignore_extra_columns: true}")
    fed.load()
    assert fed.rows() == [(1, "a")]


def test_a_column_that_no_message_has_is_told(fed):
    fed.send({"id": 1})
    assert [text for text in fed.load().skipped if "no message has the member t" in text]


def test_the_topic_and_the_partition_are_columns(fed):
    fed.server.grow(fed.topic, 2)
    columns = "{id: BIGINT, shard: STRING, part: INT}"
    fed.declare("format: json, add: {shard: topic, part: partition}", "primary_key: [id, shard]", columns)
    fed.send({"id": 1})
    fed.send({"id": 2}, partition=1)
    fed.load()
    assert fed.rows() == [(1, fed.topic, 0), (2, fed.topic, 1)]


def test_aborted_and_open_transactions_are_not_read(fed):
    fed.transactions((True, [{"id": 1, "t": "a"}]), (False, [{"id": 2, "t": "b"}]), (True, [{"id": 3, "t": "c"}]))
    fed.load()
    assert fed.rows() == [(1, "a"), (3, "c")]
    fed.transactions((False, [{"id": 4, "t": "d"}]))
    assert fed.load().details["rows_read"] == 0
    assert fed.load().commits == ()


def test_a_message_is_read_by_spark(fed_by_spark):
    fed = fed_by_spark
    fed.server.grow(fed.topic, 3)
    for partition in range(3):
        fed.send(*({"id": 3 * n + partition, "t": "x"} for n in range(50)), partition=partition)
    assert fed.load().details["rows_read"] == 150
    assert fed.rows() == [(n, "x") for n in range(150)]


def test_a_partition_that_several_tasks_read_keeps_its_order(fed, monkeypatch):
    monkeypatch.setattr(kafka_loads, "TASK_BYTES", 1000)
    fed.declare("format: json, key: id")
    fed.send(*((n % 7, {"id": n % 7, "t": str(n)}) for n in range(3000)), (5, None))
    result = fed.load()
    assert fed.rows() == sorted((n % 7, str(n)) for n in range(2993, 3000) if n % 7 != 5)
    assert result.details["rows_read"] == 3001


def test_a_range_is_read_in_blocks(fed, monkeypatch):
    monkeypatch.setattr(messages, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(messages, "_MOST_MESSAGES", 7)
    fed.declare("format: json, key: id")
    fed.send(*((n % 50, {"id": n % 50, "t": str(n)}) for n in range(1000)), *((n, None) for n in range(49)))
    fed.load()
    assert fed.rows() == [(49, "999")]


def test_a_client_that_is_not_installed(fed, monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(PipelineError, match=r"confluent_kafka is not installed: pip install 'paimon-core\[kafka\]'"):
        fed.load()
