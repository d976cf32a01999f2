"""Events of Canal: several rows an event, values as texts, and events that change no row."""

import datetime as dt
from decimal import Decimal

import pytest

from paimon_lake.protocol import PipelineError
from tests.pipelines.sources.files.events.event_files import PRODUCTS, read_events
from tests.pipelines.sources.files.reading import columns

TABLE = columns(**PRODUCTS)
SCOOTER = {"id": "111", "name": "scooter", "description": "Big 2-wheel scooter", "weight": "5.18"}
UPDATE = {
    "data": [SCOOTER],
    "database": "inventory",
    "es": 1589373560000,
    "id": 9,
    "isDdl": False,
    "mysqlType": {"id": "INTEGER", "name": "VARCHAR(255)", "description": "VARCHAR(512)", "weight": "FLOAT"},
    "old": [{"weight": "5.15"}],
    "pkNames": ["id"],
    "sql": "",
    "sqlType": {"id": 4, "name": 12, "description": 12, "weight": 7},
    "table": "products",
    "ts": 1589373560798,
    "type": "UPDATE",
}
"""https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/table/formats/canal/"""


def event(kind, data, old=None, **more):
    return {"data": data, "old": old, "type": kind, "isDdl": False, "database": "inventory", "table": "products"} | more


def test_the_update_of_flinks_documentation(tmp_path):
    found = read_events(tmp_path / "a", [UPDATE], TABLE, "canal-json")
    assert found.rows == [("+U", 111, "scooter", "Big 2-wheel scooter", Decimal("5.18"))]
    assert (found.rejects, found.skipped, found.sources) == ([], {}, {"inventory.products"})


def test_each_row_of_an_event_is_a_change(tmp_path):
    rows = [{**SCOOTER, "id": str(at)} for at in (1, 2, 3)]
    lines = [
        event("INSERT", rows),
        event("UPDATE", rows, [{"name": "a"}, {"id": "7", "name": None}, {}]),
        event("UPDATE", rows[:1]),
        event("UPDATE", rows[:1], [None]),
        event("DELETE", rows),
    ]
    found = read_events(tmp_path / "a", lines, TABLE, "canal-json")
    kinds = "+I 1,+I 2,+I 3,+U 1,-D 7,+I 2,+U 3,+U 1,+U 1,-D 1,-D 2,-D 3"
    assert ",".join(f"{row[0]} {row[1]}" for row in found.rows) == kinds


def test_texts_become_values_of_the_types_of_the_table(tmp_path):
    schema = columns(id="INT", d="DOUBLE", b="BOOLEAN", day="DATE", at="TIMESTAMP(3)", time="TIME(0)", s="CHAR(3)")
    texts = {"id": "1", "d": "2.7E-8", "b": "1", "day": "2024-02-29", "at": "2024-02-29 01:02:03.5", "time": "23:59:59"}
    found = read_events(tmp_path / "a", [event("INSERT", [{**texts, "s": "abc"}])], schema, "canal-json")
    at = dt.datetime(2024, 2, 29, 1, 2, 3, 500000)
    assert found.rows == [("+I", 1, 2.7e-8, True, dt.date(2024, 2, 29), at, dt.time(23, 59, 59), "abc")]
    typed = {**texts, "id": 1, "d": 2.7e-8, "b": True, "s": "abc"}
    assert read_events(tmp_path / "a", [event("INSERT", [typed])], schema, "canal-json").rows == found.rows


def test_changes_of_schemas_and_control_events_are_skipped_and_counted(tmp_path):
    ddl = {"isDdl": True, "sql": "drop database if exists test", "table": ""}
    lines = [
        event("ALTER", None, **ddl),
        event("QUERY", None, **ddl),
        event("CREATE", None),
        event("SOMETHING", None, isDdl=True),
        event("TIDB_WATERMARK", None, _tidb={"watermarkTs": 429918007904436226}),
        event("ALTER", None, isDdl=True, table="orders"),
        event("TRUNCATE", None, isDdl=True, table="orders"),
    ]
    found = read_events(tmp_path / "a", lines, TABLE, "canal-json", table="products")
    assert (found.rows, found.rejects) == ([], [])
    assert found.skipped == {"schema change": 4, "control event": 1, "event of other tables": 2}


def test_a_truncate_is_refused(tmp_path):
    with pytest.raises(PipelineError, match="a, line 1: the event empties the table"):
        read_events(tmp_path / "a", [event("TRUNCATE", None, isDdl=True)], TABLE, "canal-json")


BAD = [
    (event("INSERT", None), "data", "the event writes a row, and data does not have it"),
    (event("DELETE", []), "data", "the event deletes a row, and data does not have it"),
    (event("insert", [SCOOTER]), "type", "'insert' is not one of INSERT, UPDATE, DELETE, TRUNCATE, CREATE, ALTER, "
     "ERASE, QUERY, RENAME, CINDEX, DINDEX, GTID, XACOMMIT, XAROLLBACK, MHEARTBEAT, TIDB_WATERMARK"),
    (event("INSERT", [SCOOTER], isDdl=1), "isDdl", "the number 1 instead of a boolean"),
    (event("INSERT", SCOOTER), "data", "an object instead of an array"),
    (event("INSERT", [{**SCOOTER, "weight": "x"}]), "weight", "'x' is not valid for DECIMAL(10, 2)"),
    (event("INSERT", [{**SCOOTER, "id": "1.5"}]), "id", "'1.5' is not valid for BIGINT"),
    (event("UPDATE", [SCOOTER], [{"id": "x"}]), "old id", "'x' is not valid for BIGINT"),
    (event("INSERT", [{**SCOOTER, "name": 7}]), "name", "the number 7 is not valid for STRING"),
    (event("INSERT", [{}]), "id", "null in a column that must not be null"),
]  # fmt: skip


@pytest.mark.parametrize("split_bytes", [1 << 20, 100])
def test_what_does_not_fit_is_rejected(tmp_path, split_bytes):
    lines = [line for bad, _, _ in BAD for line in (bad, UPDATE)]
    found = read_events(tmp_path / "a", lines, TABLE, "canal-json", split_bytes=split_bytes)
    assert found.rejects == [(2 * at + 1, column, reason) for at, (_, column, reason) in enumerate(BAD)]
    assert len(found.rows) == len(BAD)


@pytest.mark.parametrize("bad", [{**SCOOTER, "weight": "x"}, {**SCOOTER, "name": True}, None])
def test_of_an_event_with_a_bad_row_the_other_rows_are_written(tmp_path, bad):
    lines = [event("INSERT", [{**SCOOTER, "id": "1"}, bad, {**SCOOTER, "id": "3"}])]
    found = read_events(tmp_path / "a", lines, TABLE, "canal-json")
    assert [row[1] for row in found.rows] == [1, 3]
    assert [line for line, _, _ in found.rejects] == [1]
