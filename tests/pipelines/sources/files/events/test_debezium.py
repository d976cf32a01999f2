"""Events of Debezium: with and without an envelope, the encodings of its types, and events that do not fit."""

import datetime as dt
import json
from decimal import Decimal

import pytest

from paimon_lake.protocol import PipelineError
from tests.pipelines.sources.files.events.event_files import PRODUCTS, debezium, envelope, read_events
from tests.pipelines.sources.files.reading import columns

TABLE = columns(**PRODUCTS)
SCOOTER = {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}
LIGHTER = {**SCOOTER, "weight": 5.15}
UPDATED = ("+U", 111, "scooter", "Big 2-wheel scooter", Decimal("5.15"))
DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}


def test_the_update_of_flinks_documentation(tmp_path):
    """https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/table/formats/debezium/"""
    found = read_events(tmp_path / "a", [debezium("u", SCOOTER, LIGHTER)], TABLE, "debezium-json")
    assert (found.rows, found.rejects, found.sources) == ([UPDATED], [], {"inventory.products"})


def test_an_update_in_an_envelope_as_debezium_documents_it(tmp_path):
    """https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-update-events"""
    names = ("id", "first_name", "last_name", "email")
    before = dict(zip(names, (1004, "Anne", "Kretchmar", "annek@noanswer.org"), strict=True))
    source = {"version": "2.7.4.Final", "name": "mysql-server-1", "connector": "mysql", "ts_ms": 1465581029100}
    source |= {"snapshot": False, "db": "inventory", "table": "customers", "server_id": 223344, "gtid": None}
    source |= {"file": "mysql-bin.000003", "pos": 484, "row": 0, "thread": 7, "query": "UPDATE customers SET ..."}
    after = {**before, "first_name": "Anne Marie"}
    payload = {"before": before, "after": after, "source": source, "op": "u", "ts_ms": 1465581029523}
    event = envelope(payload, id={"type": "int32"}, **{name: {"type": "string"} for name in names[1:]})
    schema = columns(id="INT", **dict.fromkeys(names[1:], "STRING"))
    for line in (event, json.dumps(event), json.dumps({"payload": payload, "schema": event["schema"]})):
        found = read_events(tmp_path / "a", [line, line], schema, "debezium-json", not_null=names[1:])
        assert found.rows == [("+U", 1004, "Anne Marie", "Kretchmar", "annek@noanswer.org")] * 2


def test_inserts_snapshots_deletes_and_updates_without_the_old_row(tmp_path):
    events = [debezium("r", None, SCOOTER), debezium("c", None, SCOOTER), debezium("u", None, LIGHTER)]
    found = read_events(tmp_path / "a", [*events, debezium("d", LIGHTER, None)], TABLE, "debezium-json")
    assert [row[0] for row in found.rows] == ["+I", "+I", "+U", "-D"]
    assert found.rows[-1][1:] == UPDATED[1:]


def test_an_update_of_the_key_is_a_delete_and_an_insert(tmp_path):
    moved = {**LIGHTER, "id": 112}
    found = read_events(
        tmp_path / "a", [debezium("u", SCOOTER, moved), debezium("u", moved, moved)], TABLE, "debezium-json"
    )
    assert [row[:2] for row in found.rows] == [("-D", 111), ("+I", 112), ("+U", 112)]


@pytest.mark.parametrize("tombstone", ["null", " null ", '{"schema":null,"payload":null}', '{"payload": null}'])
def test_tombstones_are_skipped_and_counted(tmp_path, tombstone):
    found = read_events(tmp_path / "a", [tombstone, debezium("c", None, SCOOTER), "null"], TABLE, "debezium-json")
    assert (len(found.rows), found.rejects, found.skipped) == (1, [], {"tombstone": 2})


def test_messages_and_changes_of_schemas_are_skipped_and_counted(tmp_path):
    ddl = {"source": {"db": "inventory", "table": "products"}, "ddl": "ALTER TABLE products ...", "tableChanges": []}
    message = {**debezium("m", None, None), "message": {"prefix": "foo", "content": "Ymfy"}}
    found = read_events(tmp_path / "a", [ddl, message], TABLE, "debezium-json")
    assert (found.rows, found.rejects, found.skipped) == ([], [], {"schema change": 1, "message": 1})


def test_a_truncate_is_refused_with_its_line(tmp_path):
    with pytest.raises(PipelineError, match=r"a, line 2: the event empties the table, which a load cannot do: delete"):
        read_events(tmp_path / "a", [debezium("c", None, SCOOTER), debezium("t", None, None)], TABLE, "debezium-json")


def test_events_of_other_tables_are_skipped_counted_and_not_read(tmp_path):
    other = [debezium("c", None, {"id": "x", "more": 1}, table="orders"), debezium("t", None, None, table="orders")]
    own = [debezium("c", None, SCOOTER), debezium("c", None, SCOOTER, db="archive")]
    found = read_events(tmp_path / "a", [*other, *own], TABLE, "debezium-json", database="inventory", table="products")
    assert (len(found.rows), found.rejects, found.skipped) == (1, [], {"event of other tables": 3})
    with pytest.raises(
        PipelineError, match=r"events of several tables, archive\.products, inventory\.products: choose"
    ):
        read_events(tmp_path / "a", own, TABLE, "debezium-json", table="products")
    with pytest.raises(PipelineError, match="events of several tables"):
        read_events(tmp_path / "a", [*own[:1], *other[:1]], TABLE, "debezium-json")


def test_a_table_may_be_named_with_its_schema(tmp_path):
    event = debezium("c", None, SCOOTER)
    event["source"] |= {"schema": "public"}
    for name in ("products", "public.products"):
        assert len(read_events(tmp_path / "a", [event], TABLE, "debezium-json", table=name).rows) == 1
    found = read_events(tmp_path / "a", [event], TABLE, "debezium-json", table="other.products")
    assert (found.rows, found.skipped) == ([], {"event of other tables": 1})


BAD = [
    ("{", None, "not valid JSON: Expecting property name enclosed in double quotes at character 2"),
    ("[1]", None, "an array instead of an object"),
    ("{}", "op", "the event has no op, which says what it does: one of c, r, u, d, t, m"),
    ({"op": "x"}, "op", "'x' is not one of c, r, u, d, t, m"),
    ({"op": 1}, "op", "the number 1 instead of a text"),
    ('{"op":"\\ud800"}', "op", "'\\ud800' is not valid for STRING"),
    (
        f'{{"op":"c","after":{{"id":{"1" * 5000}}}}}',
        None,
        "not valid JSON: Exceeds the limit (4300 digits) for integer "
        "string conversion: value has 5000 digits; use sys.set_int_max_str_digits() to increase the limit",
    ),
    ({"op": "c"}, "after", "the event writes a row, and after does not have it"),
    ({"op": "u", "before": {"id": 1}}, "after", "the event writes a row, and after does not have it"),
    ({"op": "d", "after": {"id": 1}}, "before", "the event deletes a row, and before does not have it"),
    ({"op": "d", "before": {"name": "a"}}, "id", "null in a column that must not be null"),
    ({"op": "c", "after": {"name": "a"}}, "id", "null in a column that must not be null"),
    ({"op": "c", "after": [1]}, "after", "an array instead of an object"),
    ({"op": "c", "after": {"id": "1"}}, "id", "'1' is not valid for BIGINT"),
    ({"op": "c", "after": {"id": 2**63}}, "id", f"the number {2**63} is not valid for BIGINT"),
    ({"op": "c", "after": {"id": 1, "name": 5}}, "name", "the number 5 is not valid for STRING"),
    ({"op": "c", "after": {"id": 1, "weight": 1.005}}, "weight", "the number 1.005 is not valid for DECIMAL(10, 2)"),
    ({"op": "c", "after": {"id": 1, "weight": "AeY="}}, "weight", "'AeY=' is not valid for DECIMAL(10, 2)"),
    ('{"op":"c","after":{"id":1,"id":2}}', "id", "the member 'id' occurs twice"),
    ('{"op":"c","op":"d","after":{"id":1}}', "op", "the member 'op' occurs twice"),
    ({"op": "c", "after": {"id": 1}, "source": "mysql"}, "source", "'mysql' instead of an object"),
    ({"payload": 5}, "payload", "the payload is not an object"),
    (
        {"op": "u", "after": {"id": 1, "name": "__debezium_unavailable_value"}},
        "name",
        "the event does not have this large value, which did not change; in PostgreSQL set REPLICA IDENTITY FULL",
    ),
]


@pytest.mark.parametrize(("split_bytes", "block_bytes"), [(1 << 20, 1 << 20), (50, 1 << 20), (1 << 20, 30)])
def test_what_does_not_fit_is_rejected_with_its_line_and_the_rest_is_read(tmp_path, split_bytes, block_bytes):
    good = debezium("c", None, SCOOTER)
    lines = [line for bad, _, _ in BAD for line in (bad, good)]
    sizes = {"split_bytes": split_bytes, "block_bytes": block_bytes}
    found = read_events(tmp_path / "a", lines, TABLE, "debezium-json", **sizes)
    assert found.rejects == [(2 * at + 1, column, reason) for at, (_, column, reason) in enumerate(BAD)]
    assert len(found.rows) == len(BAD)


@pytest.mark.parametrize("depth", [400, 9_000])
@pytest.mark.parametrize("text", ['{"op":"c","source":%s,"after":{"id":1}}', '{"schema":%s,"payload":{"op":"c"}}'])
def test_deep_values_are_read_or_rejected(tmp_path, text, depth):
    deep = [text % ("[" * depth + "]" * depth), text % ('{"a":' * depth + "1" + "}" * depth)]
    good = debezium("c", None, SCOOTER)
    found = read_events(tmp_path / "a", [*deep, good, deep[0].replace(":", ": ")], TABLE, "debezium-json")
    assert len(found.rejects) + len(found.rows) == 4
    assert found.rows


def test_without_the_options_values_an_event_is_rejected_when_it_names_no_table(tmp_path):
    event = {"op": "c", "after": SCOOTER}
    found = read_events(tmp_path / "a", [event], TABLE, "debezium-json", table="products")
    assert found.rejects == [(1, None, "the event names no table, and the option table chooses events by it")]


@pytest.mark.parametrize("name", ["more", "__kind"])
def test_a_column_that_the_table_does_not_have_is_refused_or_ignored(tmp_path, name):
    event = debezium("c", None, {**SCOOTER, name: None})
    refused = f"has columns that the table does not have: '{name}'"
    for lines in ([event], [event, "{"]):
        with pytest.raises(PipelineError, match=refused):
            read_events(tmp_path / "a", lines, TABLE, "debezium-json")
    found = read_events(tmp_path / "a", [event, event], TABLE, "debezium-json", ignore_extra_columns=True)
    assert len(found.rows) == 2


TYPES = columns(
    id="INT", amount="DECIMAL(10,2)", day="DATE", at="TIMESTAMP(3)", exact="TIMESTAMP(6)", zoned="TIMESTAMP(3)",
    time="TIME(3)", flag="BOOLEAN", data="BYTES", tags="ARRAY<STRING>",
)  # fmt: skip
ENCODED = {
    "id": 1, "amount": "AeY=", "day": 19000, "at": 1529507596945, "exact": 1529507596945104,
    "zoned": "2018-06-20T15:13:16.945+02:00", "time": 45296789000, "flag": 1, "data": "aGk=", "tags": ["a", None],
}  # fmt: skip
MEANT = (
    1, Decimal("4.86"), dt.date(2022, 1, 8), dt.datetime(2018, 6, 20, 15, 13, 16, 945000),
    dt.datetime(2018, 6, 20, 15, 13, 16, 945104), dt.datetime(2018, 6, 20, 13, 13, 16, 945000),
    dt.time(12, 34, 56, 789000), True, b"hi", ["a", None],
)  # fmt: skip
SCHEMA = {
    "amount": DECIMAL,
    "day": {"type": "int32", "name": "io.debezium.time.Date"},
    "at": {"type": "int64", "name": "io.debezium.time.Timestamp"},
    "exact": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    "zoned": {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
    "time": {"type": "int64", "name": "io.debezium.time.MicroTime"},
    "flag": {"type": "int16"},
}


def test_the_schema_of_the_envelope_says_what_values_mean(tmp_path):
    event = envelope(debezium("c", None, ENCODED), **SCHEMA)
    nulls = envelope(debezium("c", None, {**dict.fromkeys(ENCODED), "id": 2}), **SCHEMA)
    for lines in ([event, nulls], [json.dumps(event), json.dumps(nulls)]):
        found = read_events(tmp_path / "a", lines, TYPES, "debezium-json")
        assert found.rejects == []
        assert found.rows == [("+I", *MEANT), ("+I", 2, *[None] * 9)]


def test_each_event_is_read_by_its_own_schema_in_the_order_of_lines(tmp_path):
    schema = columns(id="INT", at="TIMESTAMP(6)")
    units = {"Timestamp": 1000, "MicroTimestamp": 1_000_000}
    lines = [
        envelope(
            debezium("c", None, {"id": at, "at": at * units[name]}),
            at={"type": "int64", "name": f"io.debezium.time.{name}"},
        )
        for at, name in enumerate(["Timestamp", "MicroTimestamp"] * 5)
    ]
    found = read_events(tmp_path / "a", lines, schema, "debezium-json")
    assert found.rows == [("+I", at, dt.datetime(1970, 1, 1, 0, 0, at)) for at in range(10)]


def test_without_an_envelope_the_unit_of_timestamps_is_stated_or_they_are_rejected(tmp_path):
    schema = columns(id="INT", at="TIMESTAMP(3)")
    event = debezium("c", None, {"id": 1, "at": 1529507596945})
    (reject,) = read_events(tmp_path / "a", [event], schema, "debezium-json").rejects
    assert reject == (
        1,
        "at",
        "the number 1529507596945 is not valid for TIMESTAMP(3): set the option timestamp_unit of the source, or send "
        "events with their schema",
    )
    found = read_events(tmp_path / "a", [event], schema, "debezium-json", timestamp_unit="ms")
    assert found.rows == [("+I", 1, dt.datetime(2018, 6, 20, 15, 13, 16, 945000))]
    (reject,) = read_events(tmp_path / "a", [event], schema, "debezium-json", timestamp_unit="ns").rejects
    assert reject == (1, "at", "the number 1529507596945 is not valid for TIMESTAMP(3)")


@pytest.mark.parametrize(
    ("column", "kind", "value", "typed", "reason"),
    [
        ("day", "DATE", 1, {"name": "io.debezium.time.Timestamp"}, "the number 1 is not valid for DATE"),
        ("day", "DATE", 2_932_897, {}, "the number 2932897 is not valid for DATE"),
        ("at", "TIMESTAMP(3)", 1, {"name": "io.debezium.time.Date"}, "the number 1 is not valid for TIMESTAMP(3)"),
        ("t", "TIME(3)", 1, {}, "the number 1 is not valid for TIME(3)"),
        ("t", "TIME(3)", 1, {"name": "io.debezium.time.MicroTime"}, "the number 1 is not valid for TIME(3)"),
        ("t", "TIME(3)", 86_400_000, {"name": "io.debezium.time.Time"}, "the number 86400000 is not valid for TIME(3)"),
        ("a", "DECIMAL(4,2)", "D0JA", DECIMAL, "'D0JA' is not valid for DECIMAL(4, 2)"),
        ("a", "DECIMAL(4,1)", "AeY=", DECIMAL, "'AeY=' is not valid for DECIMAL(4, 1)"),
        ("a", "DECIMAL(4,2)", "4.5", DECIMAL, "'4.5' is not valid for DECIMAL(4, 2)"),
        ("a", "DECIMAL(4,2)", "1234", {"name": DECIMAL["name"]}, "'1234' is not valid for DECIMAL(4, 2)"),
        ("a", "DOUBLE", "1234", DECIMAL, "'1234' is not valid for DOUBLE"),
        ("b", "BOOLEAN", 2, {}, "the number 2 is not valid for BOOLEAN"),
        ("b", "TINYINT", True, {}, "a boolean is not valid for TINYINT"),
    ],
)
def test_values_that_do_not_fit_their_types(tmp_path, column, kind, value, typed, reason):
    schema = columns(id="INT", **{column: kind})
    event = envelope(debezium("c", None, {"id": 1, column: value}), **{column: {"type": "x", **typed}})
    found = read_events(tmp_path / "a", [event, event], schema, "debezium-json")
    assert [one[1:] for one in found.rejects] == [(column, reason.replace("(4,", "(4,"))] * 2


@pytest.mark.parametrize(
    ("text", "number"), [("AA==", "0.00"), ("fw==", "1.27"), ("gA==", "-1.28"), ("/w==", "-0.01"), ("AP8=", "2.55")]
)
def test_decimals_are_numbers_in_twos_complement(tmp_path, text, number):
    schema = columns(id="INT", a="DECIMAL(38,2)")
    event = envelope(debezium("c", None, {"id": 1, "a": text}), a=DECIMAL)
    assert read_events(tmp_path / "a", [event], schema, "debezium-json").rows == [("+I", 1, Decimal(number))]


def test_a_column_may_be_written_in_several_forms(tmp_path):
    schema = columns(id="INT", flag="BOOLEAN", day="DATE", a="DECIMAL(4,1)")
    written = [(True, 1, 1.5), (0, "1970-01-02", "2.5"), (None, None, None), (False, 0, 3)] * 200
    lines = [
        debezium("c", None, {"id": at, "flag": flag, "day": day, "a": a}) for at, (flag, day, a) in enumerate(written)
    ]
    found = read_events(tmp_path / "a", lines, schema, "debezium-json")
    days = [dt.date(1970, 1, 2), dt.date(1970, 1, 2), None, dt.date(1970, 1, 1)]
    values = list(zip([True, False, None, False], days, map(_decimal, ["1.5", "2.5", None, "3.0"]), strict=True))
    assert found.rows == [("+I", at, *values[at % 4]) for at in range(800)]


def _decimal(text):
    return None if text is None else Decimal(text)


def test_a_delete_needs_only_the_key_and_what_orders_the_rows(tmp_path):
    """PostgreSQL sends the key only, unless the table has REPLICA IDENTITY FULL."""
    kinds = {"id": "INT", "name": "STRING", "n": "INT", "day": "DATE", "tags": "ARRAY<INT>", "b": "BINARY(2)"}
    kinds |= {"at": "TIMESTAMP(3)", "flag": "BOOLEAN", "a": "DECIMAL(4,1)", "d": "DOUBLE", "m": "MAP<STRING, INT>"}
    event = debezium("d", {**dict.fromkeys(kinds), "id": 1}, None)
    rest = tuple(name for name in kinds if name != "id")
    found = read_events(tmp_path / "a", [event], columns(**kinds), "debezium-json", not_null=rest)
    zeros = ("", 0, dt.date(1970, 1, 1), [], b"\0\0", dt.datetime(1970, 1, 1), False, Decimal("0.0"), 0.0, [])
    assert found.rows == [("-D", 1, *zeros)]
    for not_null in ((), ("n",)):
        found = read_events(tmp_path / "a", [event], columns(**kinds), "debezium-json", not_null=not_null, order=("n",))
        assert [one[:2] for one in found.rejects] == [(1, "n")]


def test_an_insert_with_a_null_in_a_column_that_must_not_be_null_is_rejected(tmp_path):
    found = read_events(tmp_path / "a", [debezium("c", None, {"id": 1})], TABLE, "debezium-json", not_null=("name",))
    assert found.rejects == [(1, "name", "null in a column that must not be null")]
