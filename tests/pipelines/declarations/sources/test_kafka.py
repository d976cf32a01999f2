"""Declarations of tables that are loaded from Kafka: what does not fit is refused, and secrets are only variables."""

from __future__ import annotations

import pytest

from paimon_lake.declarations import SettingsError

GOOD = """
columns: {id: BIGINT, t: STRING}
primary_key: id
source: {type: kafka, servers: "kafka.example:9092", topic: orders, format: json}
"""


def declared(lake, text):
    lake.declare("shop.o", text)
    return lake.settings.table("shop.o")


def test_the_mode_follows_from_the_format(dry_lake):
    assert declared(dry_lake, GOOD).write_mode == "upsert"
    assert declared(dry_lake, GOOD.replace("primary_key: id\n", "")).write_mode == "append"
    assert declared(dry_lake, GOOD.replace("format: json", "format: debezium-json")).write_mode == "changes"


def test_lists_patterns_and_offsets(dry_lake):
    text = GOOD.replace("topic: orders", 'topic: [orders, "shop.*"], offsets: {orders: {0: 12, 1: 3}}')
    source = declared(dry_lake, text.replace('"kafka.example:9092"', '[a:1, "[::1]:9092"]')).source
    assert source.servers == ("a:1", "[::1]:9092")
    assert source.topic == ("orders", "shop.*")
    assert source.offsets == {"orders": {"0": 12, "1": 3}}


def test_secrets_are_variables_that_nothing_shows(dry_lake, monkeypatch):
    monkeypatch.setenv("KAFKA_PASSWORD", "canary-1")
    client = ', client: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.password: "${KAFKA_PASSWORD}"}}'
    spec = declared(dry_lake, GOOD.replace("json}", "json" + client))
    assert spec.source.client["sasl.password"] == "canary-1"
    assert "canary" not in repr(spec)
    with pytest.raises(SettingsError, match="must be host:port") as caught:
        declared(dry_lake, GOOD.replace("json}", "json" + client).replace("kafka.example:9092", "kafka"))
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"kafka.example:9092"', "kafka.example", "must be host:port"),
        ('"kafka.example:9092"', '"kafka://kafka.example:9092"', "must be host:port"),
        ('"kafka.example:9092"', '"lake:canary@kafka.example:9092"', "must be host:port"),
        ('"kafka.example:9092"', "[]", r"source\.servers"),
        ("topic: orders, ", "", r"source\.topic is missing"),
        ("topic: orders", "topic: []", r"source\.topic"),
        ("topic: orders", 'topic: "a b"', "'a b' is no name of a topic"),
        ("topic: orders", 'topic: "^shop.*$"', "is no name of a topic"),
        (", format: json", "", r"source\.format is missing"),
        ("format: json", "format: avro", r"source\.format must be one of json, debezium-json"),
        ("json}", "json, topics: x}", r"unknown key source\.topics; did you mean topic"),
        ("json}", "json, starts: begin}", r"source\.starts must be one of earliest, latest"),
        ("json}", "json, starts: 12}", r"source\.starts must be one of earliest, latest"),
        ("json}", "json, offsets: {orders: {a: 1}}}", r"source\.offsets\.orders: 'a' is no number of a partition"),
        ("json}", "json, offsets: {orders: {0: -1}}}", "0 or more"),
        ("json}", "json, offsets: {orders: 5}}", r"source\.offsets\.orders must be a mapping"),
        ("json}", "json, batch_rows: 0}", r"source\.batch_rows must be 1 or more"),
        ("json}", "json, batch_bytes: 2000000000}", r"source\.batch_bytes must be 1073741824 or less|or less"),
        ("json}", "json, run_seconds: 0}", "1 or more"),
        ("json}", "json, options: {encoding: latin-1}}", r"source\.options\.encoding: messages are UTF-8"),
        ("json}", "json, client: {enable.auto.commit: true}}", r"enable\.auto\.commit: is no setting"),
        ("json}", "json, client: {sasl.pasword: x}}", r"did you mean sasl\.password"),
        ("json}", "json, client: {sasl.password: canary}}", r"client\.sasl\.password is a secret: write the name"),
        ("json}", 'json, client: {ssl.key.pem: "canary${A:-b}"}}', r"client\.ssl\.key\.pem is a secret"),
        (
            "format: json",
            "format: debezium-json, options: {table: o_*}",
            "options.table: patterns need files",
        ),
        ("json}", "json, schema_changes: apply}", r"source\.schema_changes: needs change events: debezium-json or"),
        ("json}", "json, key: t}", r"source\.key: must be the primary_key, id"),
        ("json}", "json, key: [id, t]}", r"source\.key: must be the primary_key, id"),
        ("format: json", "format: canal-json, key: id", "has no place with canal-json"),
        ("json}", "json, key: id}\norder_by: t", "source.key: has no place with order_by"),
        ("json}", "json, key: id}\nkinds: {column: op}", "source.key: has no place with kinds"),
        ("json}", "json, key: id}\noptions: {merge-engine: first-row}", "merge-engine: must be deduplicate, because"),
        ("json}", "json, key: id}\noptions: {changelog-producer: input}", "changelog-producer: must be none, lookup"),
        ("primary_key: id", "natural_key: id\nmode: append", None),
        ("json}", "json}\npartitions: dynamic", "partitions: has no place here: loads of Kafka are divided by offsets"),
        ("json}", "json}\nmode: overwrite", "mode: overwrite would replace the rows of one batch by the next"),
        ("json}", "json}\nschedule: {on: files}", "files needs a source of type files, not kafka"),
        ("columns: {id: BIGINT, t: STRING}", "columns: infer", "cannot be inferred: write them down"),
        ("t: STRING", "t: VARIANT", "json has no values of the type VARIANT"),
        ("json}", "json, rename: {x: u}}", r"'u' is not a column"),
        ("json}", "json, add: {t: file}}", r"source\.add\.t must be one of topic, partition"),
        ("json}", "json, add: {u: topic}}", r"'u' is not a column"),
        ("format: json", "format: debezium-json, add: {id: topic}", "an event could not delete a row of another file"),
        ("primary_key: id\n", "", None),
        (
            'primary_key: id\nsource: {type: kafka, servers: "kafka.example:9092", topic: orders, format: json}',
            'source: {type: kafka, servers: "a:1", topic: o, format: maxwell-json}',
            "needs a primary_key",
        ),
    ],
)
def test_mistakes(dry_lake, old, new, said):
    assert old in GOOD
    if said is None:
        declared(dry_lake, GOOD.replace(old, new, 1))
        return
    with pytest.raises(SettingsError, match=said) as caught:
        declared(dry_lake, GOOD.replace(old, new, 1))
    assert "canary" not in str(caught.value)
