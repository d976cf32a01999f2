"""Small lakes for tests: a folder of declarations, written from texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from paimon_lake.declarations import Settings, SettingsError, load_settings

COLUMNS = "columns: {id: BIGINT, day: DATE, name: STRING}\nprimary_key: [id]\n"
"""The beginning of most declarations."""

# A right declaration of each kind of source, with the name of its table.
EVENTS = (
    "shop.products",
    """\
columns: {id: BIGINT, name: STRING, at: TIMESTAMP(3)}
primary_key: id
source:
  type: files
  path: in/*.json
  format: debezium-json
""",
)
KAFKA = (
    "shop.messages",
    """\
columns: {id: BIGINT, t: STRING}
primary_key: id
source: {type: kafka, servers: "kafka.example:9092", topic: orders, format: json}
""",
)
LOOKUPS = (
    "ods.flights",
    """\
columns: {flight: BIGINT, tail: STRING, model: STRING}
primary_key: flight
source:
  type: files
  path: "flights/*.csv"
  lookup:
    - table: dim.planes
      on: {tail: id}
      columns: {model: model}
      missing: wait
      max_wait: 2 d
""",
)
PARTS = (
    "d.wide",
    """\
columns:
  id: BIGINT
  day: DATE
  gate: STRING
  gate_at: INT
  delay: INT
  delay_at: INT
primary_key: [id, day]
parts:
  gates:
    source: {type: files, path: "gates/{date}.csv"}
    columns: gate
    order_by: gate_at
  delays:
    source: {type: sql, inputs: [d.delays], read: changes, query: SELECT 1}
    columns: delay
    order_by: delay_at
    kinds: {column: rowkind}
    deletes: row
partitions: {by: day, start: 2024-01-01, column: day}
checks:
  - {type: parts_complete, max_wait: 2 h, parts: gates}
""",
)
CHANGES = (
    "shop.changes",
    """\
columns: {id: BIGINT, t: STRING}
primary_key: id
source: {type: postgres_changes, url: "postgresql://lake@db.example/shop", table: s.o}
""",
)
STREAMS = (
    "d.streams",
    """\
columns: {id: BIGINT, a: STRING, a_at: INT, b: STRING, b_at: INT}
primary_key: id
parts:
  a: {source: {type: kafka, servers: "k:1", topic: a, format: json}, columns: a, order_by: a_at, kinds: {column: op}}
  b: {source: {type: files, path: "*.csv"}, columns: b, order_by: b_at}
schedule: {on: changes}
checks: [{type: lag, max_messages: 5}]
""",
)
SLOTS = (
    "d.slots",
    """\
columns: {id: BIGINT, a: STRING, a_at: BIGINT, b: STRING, b_at: INT}
primary_key: id
parts:
  a: {source: {type: postgres_changes, url: "postgresql://h/d", table: s.a}, columns: a, order_by: a_at, deletes: row}
  b: {source: {type: kafka, servers: "k:1", topic: b, format: json}, columns: b, order_by: b_at}
schedule: {on: changes}
checks: [{type: lag, max_messages: 5, max_bytes: 1000000}]
""",
)
OTHERS = {
    "dim.planes": "columns: {id: STRING, model: STRING, weight: DOUBLE}\nprimary_key: id\n",
    "d.delays": "columns: {id: BIGINT, delay: INT}\nprimary_key: id\nsource: {type: files, path: delays/*.csv}\n",
}
"""The tables that these declarations need."""


def declared_lake(folder: Path, tables: Mapping[str, str], base: str = "warehouse: warehouse\n") -> Settings:
    """Write the files and return the settings; a text of a table follows the columns that all of them have."""
    return written_lake(folder, {name: COLUMNS + text for name, text in tables.items()}, base)


def written_lake(folder: Path, tables: Mapping[str, str], base: str = "warehouse: warehouse\n") -> Settings:
    """Write the files, each table with its whole text, and return the settings."""
    (folder / "tables").mkdir(parents=True)
    (folder / "base.yaml").write_text(base)
    (folder / "local.yaml").write_text("")
    for name, text in tables.items():
        (folder / "tables" / f"{name}.yaml").write_text(text)
    return load_settings("local", configs=folder)


def refused(folder: Path, name: str, tables: Mapping[str, str]) -> str:
    """Return the error of a wrong declaration, from the number of its line on; lists of known words are left out."""
    with pytest.raises(SettingsError) as raised:
        written_lake(folder, tables)
    place, found, error = str(raised.value).partition(f"/tables/{name}.yaml")
    assert found, place
    return re.sub(r" \(known here: .*?\)", " (known here: …)", error)
