"""Values in Avro blocks are counted before they are decoded."""

import io

import fastavro
import pytest

from paimon_core.codec.avro.value_counts import count_values

SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "a", "type": ["null", "long"]},
            {
                "name": "b",
                "type": {
                    "type": "array",
                    "items": {"type": "record", "name": "q", "fields": [{"name": "x", "type": "int"}]},
                },
            },
            {"name": "c", "type": {"type": "map", "values": "string"}},
            {"name": "d", "type": {"type": "fixed", "name": "f", "size": 3}},
            {"name": "e", "type": {"type": "enum", "name": "g", "symbols": ["A", "B"]}},
            {"name": "f", "type": ["null", "q"]},
            {"name": "g", "type": "double"},
            {"name": "h", "type": {"type": "bytes"}},
        ],
    }
)
RECORD = {
    "a": -(2**40),
    "b": [{"x": 1}] * 3,
    "c": {"k": "v"},
    "d": b"abc",
    "e": "B",
    "f": {"x": 7},
    "g": 1.5,
    "h": b"xyz",
}


def encoded(count):
    out = io.BytesIO()
    for _ in range(count):
        fastavro.schemaless_writer(out, SCHEMA, RECORD)
    return out.getvalue()


def test_records_fields_and_items_count():
    record = 4 + 8
    items = 3 * (1 + 4 + 1) + 1
    assert count_values(SCHEMA, encoded(2), 2, 1000) == 2 * (record + items + 4 + 1)


def test_too_many_values_and_truncated_records_are_refused():
    with pytest.raises(ValueError, match="more than 71 values"):
        count_values(SCHEMA, encoded(2), 2, 71)
    for cut in range(len(encoded(1))):
        with pytest.raises(ValueError):
            count_values(SCHEMA, encoded(1)[:cut], 1, 1000)


def test_bytes_after_the_last_record_are_refused():
    """fastavro would decode them as more records, which were not counted."""
    with pytest.raises(ValueError, match="more than its stated 1 records"):
        count_values(SCHEMA, encoded(2), 1, 1000)
