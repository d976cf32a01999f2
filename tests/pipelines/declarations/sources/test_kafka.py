"""Declarations of tables that are loaded from Kafka: secrets are only variables."""

from __future__ import annotations

import pytest

from paimon_lake.declarations import SettingsError
from tests.support.declared_lakes import KAFKA

_, GOOD = KAFKA


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
    ("old", "new"), [("primary_key: id", "natural_key: id\nmode: append"), ("primary_key: id\n", "")]
)
def test_messages_are_appended_without_a_primary_key(dry_lake, old, new):
    assert declared(dry_lake, GOOD.replace(old, new, 1)).write_mode == "append"
