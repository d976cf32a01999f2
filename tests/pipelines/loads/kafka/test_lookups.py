"""Messages that look up columns of another table of the lake: rows that wait keep the order and the offsets."""

from __future__ import annotations

import pytest

from paimon_lake.loads.kafka import kafka_loads
from paimon_lake.loads.lag import lag
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.audits.audit import audit_loads

WAIT = "missing: wait, max_wait: 2 d"


def declare(fed, rule, source="format: json", share="1"):
    lookup = f"lookup: [{{table: dim.names, on: {{t: id}}, columns: {{name: name}}, {rule}}}]"
    fed.declare(
        f"{source}, {lookup}",
        f"primary_key: id\n            rejects: {{max_share: {share}}}",
        "{id: BIGINT, t: STRING, name: STRING}",
    )
    fed.lake.declare(
        "dim.names",
        """
        columns: {id: STRING, name: STRING}
        primary_key: id
        source: {type: files, path: "names/*.csv"}
        """,
    )


def names(fed, number, *rows):
    fed.lake.file(f"names/{number}.csv", "id,name\n" + "".join(f"{row}\n" for row in rows))
    fed.lake.load("dim.names")


def test_messages_wait_in_one_task_and_keep_the_offsets(fed, monkeypatch):
    monkeypatch.setattr(kafka_loads, "TASK_BYTES", 1)
    declare(fed, WAIT, "format: json, key: id, batch_rows: 4")
    names(fed, 1, "a,Anna")
    fed.send(*((n, {"id": n, "t": t}) for n, t in ((1, "a"), (2, "b"), (3, "c"), (4, None), (5, "b"), (6, "d"))))
    first = fed.load()
    assert (len(first.commits), first.details["rows_waiting"]) == (2, 4)
    fed.send((3, {"id": 3, "t": "a"}), (5, None), (2, {"id": 2, "t": "x"}), (2, {"id": 2, "t": "b"}))
    fed.load()
    assert fed.rows() == [(1, "a", "Anna"), (3, "a", "Anna"), (4, None, None)]
    names(fed, 2, "b,Bert", "d,Dora")
    assert lag(fed.lake.settings, "shop.o").text() == "up to date; rows that wait are due"
    done = fed.load()
    assert not lag(fed.lake.settings, "shop.o").is_behind
    assert (done.details["rows_waited"], done.details["rows_read"]) == (2, 0)
    assert done.details["position"] == f"{fed.topic}[0]=10"
    assert fed.rows() == [(1, "a", "Anna"), (2, "b", "Bert"), (3, "a", "Anna"), (4, None, None), (6, "d", "Dora")]
    assert fed.load().commits == ()
    assert not audit_loads(fed.lake.settings, "shop.o").wrong
    fed.load(reload=True)
    assert [row[0] for row in fed.rows()] == [1, 2, 3, 4, 6]


def test_messages_of_a_part_wait_in_their_order(fed):
    declare(fed, WAIT)
    source = f'{{type: kafka, servers: "{fed.server.servers}", topic: {fed.topic}, format: json'
    lookup = f"lookup: [{{table: dim.names, on: {{t: id}}, columns: {{name: name}}, {WAIT}}}]"
    columns = "columns: {id: BIGINT, t: STRING, name: STRING, at: INT, b: INT, b_at: INT}\nprimary_key: id\nparts:\n"
    a = f"  a: {{source: {source}, {lookup}}}, columns: [t, name], order_by: at}}\n"
    b = "  b: {source: {type: files, path: 'b/*.csv'}, columns: b, order_by: b_at}\n"
    fed.lake.declare("shop.o", f"{columns}{a}{b}")
    fed.lake.file("b/1.csv", "id,b,b_at\n1,1,1\n2,2,1\n")
    names(fed, 1, "a,Anna")
    fed.send({"id": 1, "t": "b", "at": 5}, {"id": 2, "t": "b", "at": 5}, {"id": 3, "t": "b", "at": 5})
    assert fed.load().details["a_rows_waiting"] == 3
    fed.send({"id": 1, "t": "a", "at": 4}, {"id": 2, "t": "a", "at": 6})
    assert fed.load().details["a_rows_waiting"] == 2
    names(fed, 2, "b,Bert")
    done = fed.load()
    assert (done.details["rows_waited"], done.details["a_position"]) == (2, f"{fed.topic}[0]=5")
    of_a = [("b", "Bert", 5), ("a", "Anna", 6), ("b", "Bert", 5)]
    assert fed.rows() == [(n + 1, *row, n + 1 if n < 2 else None, 1 if n < 2 else None) for n, row in enumerate(of_a)]


def test_rows_of_events_are_rejected_at_their_offsets_or_get_nulls(fed):
    declare(fed, "missing: reject", "format: maxwell-json")
    names(fed, 1, "a,Anna")
    event = {"type": "insert", "database": "shop", "table": "o"}
    fed.send(event | {"data": {"id": 1, "t": "a"}}, event | {"data": {"id": 2, "t": "b"}})
    fed.load()
    assert fed.rows() == [(1, "a", "Anna")]
    assert [row[:4] for row in fed.rejects()] == [(f"{fed.topic}[0]", None, "t", "dim.names has no row with id = 'b'")]
    declare(fed, "missing: null", "format: maxwell-json")
    fed.send({**event, "type": "delete", "data": {"id": 1, "t": "a"}}, event | {"data": {"id": 3, "t": "z"}})
    assert fed.load().details["rows_without_dim.names"] == 1
    assert fed.rows() == [(3, "z", None)]


def test_a_batch_that_is_read_again_leaves_no_waiting_rows_twice(fed):
    declare(fed, WAIT, "format: json, batch_bytes: 100")
    fed.send(*({"id": n, "t": "b" * 40} for n in range(6)))
    assert fed.load().details["rows_waiting"] == 6
    names(fed, 1, f"{'b' * 40},Bert")
    assert fed.load().details["rows_waited"] == 6
    assert [row[0] for row in fed.rows()] == list(range(6))


def test_a_column_that_events_and_a_lookup_have_is_refused(fed):
    declare(fed, "missing: null", "format: maxwell-json, schema_changes: apply")
    names(fed, 1, "a,Anna")
    fed.send({"type": "insert", "database": "shop", "table": "o", "data": {"id": 1, "t": "a", "name": "b"}})
    with pytest.raises(PipelineError, match=r"shop\.o: source\.topic .* has the column 'name', which a lookup fills"):
        fed.load()
