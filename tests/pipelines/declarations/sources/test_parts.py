# ruff: noqa: E501
"""Declarations of wide tables: the options that follow from the parts, and one sentence for each wrong declaration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paimon_lake.declarations import Settings, SettingsError, load_settings
from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.part_spec import followed_specs, load_specs, loaded_spec

WIDE = """\
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
"""
DELAYS = "columns: {id: BIGINT, delay: INT}\nprimary_key: id\nsource: {type: files, path: delays/*.csv}\n"


def lake(folder: Path, text: str) -> Settings:
    (folder / "tables").mkdir(parents=True)
    (folder / "base.yaml").write_text("warehouse: warehouse\n")
    (folder / "local.yaml").write_text("")
    (folder / "tables" / "d.wide.yaml").write_text(text)
    (folder / "tables" / "d.delays.yaml").write_text(DELAYS)
    return load_settings("local", configs=folder)


def test_the_options_and_the_loads_follow_from_the_parts(tmp_path: Path) -> None:
    spec = lake(tmp_path, WIDE).table("d.wide")
    assert spec.table_options == {
        "bucket": "1",
        "write-only": "true",
        "commit.force-create-snapshot": "true",
        "merge-engine": "partial-update",
        "fields.gate_at.sequence-group": "gate",
        "fields.delay_at.sequence-group": "delay",
        "partial-update.remove-record-on-sequence-group": "delay_at",
    }
    gates, delays = load_specs(spec)
    assert (gates.load_name, gates.rejects_table, gates.write_mode) == (
        "d.wide part gates",
        "d.wide__rejects_gates",
        "upsert",
    )
    assert (gates.partitions, delays.partitions) == (spec.partitions, None), "changes are not divided by partitions"
    assert [column for column in spec.columns if delays.fills(column)] == ["id", "day", "delay", "delay_at"]
    assert (delays.write_mode, inputs_of(spec)) == ("changes", ("d.delays",))


STREAMS = """\
columns: {id: BIGINT, a: STRING, a_at: INT, b: STRING, b_at: INT}
primary_key: id
parts:
  a: {source: {type: kafka, servers: "k:1", topic: a, format: json}, columns: a, order_by: a_at, kinds: {column: op}}
  b: {source: {type: files, path: "*.csv"}, columns: b, order_by: b_at}
schedule: {on: changes}
checks: [{type: lag, max_messages: 5}]
"""


def test_topics_fill_parts(tmp_path: Path) -> None:
    spec = lake(tmp_path, STREAMS).table("d.wide")
    (followed,) = followed_specs(spec)
    assert (followed.load_name, followed.write_mode) == ("d.wide part a", "changes")
    assert loaded_spec({"d.wide": spec}, followed.load_name) == followed


OF_STREAMS = [
    ("format: json}", "format: json, key: id}", ":4: parts.a.source.key: has no place in a part: a tombstone has no value of order_by; delete by kinds, or by change events"),
    (", order_by: a_at", "", ":4: parts.a.order_by: is missing: name the columns that say which of two rows with the same key is newer; files may have `source.add: {column: file}`, and a query current_timestamp()"),
    ("format: json}", "format: json, add: {b: topic}}", ":4: parts.a.source.add: 'b' is not a column of this part"),
    ("format: json}", "format: debezium-json}", ":4: parts.a.kinds: the events of debezium-json say whether a row is inserted, updated or deleted: remove kinds"),
    ('{type: files, path: "*.csv"}', '{type: files, path: "*.json", format: debezium-json, schema_changes: apply}', ":5: parts.b.source.schema_changes: apply does not fit a part: a new column would belong to no part"),
    ("max_messages", "max_bytes", ":7: checks[0].max_bytes: is not known for a source of type kafka"),
    ('{type: kafka, servers: "k:1", topic: a, format: json}', '{type: files, path: "a/*.csv"}', ":7: checks[0].type: lag needs a source of type postgres_changes or kafka, and no part has one"),
    ("checks: [{type: lag, max_messages: 5}]\n", "partitions: {by: static, values: [x], column: a}\n", ":6: schedule.on: changes requests loads without partitions: set cron, or remove partitions"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), OF_STREAMS, ids=[f"{n}" for n in range(len(OF_STREAMS))])
def test_a_wrong_declaration_of_a_topic(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert STREAMS.count(old) == 1
    with pytest.raises(SettingsError) as refused:
        lake(tmp_path / "lake", STREAMS.replace(old, new, 1))
    assert re.sub(r"^\S*/tables/d\.wide\.yaml", "", str(refused.value)) == message


OF_POSTGRES = """\
columns: {id: BIGINT, a: STRING, a_at: BIGINT, b: STRING, b_at: INT}
primary_key: id
parts:
  a: {source: {type: postgres_changes, url: "postgresql://h/d", table: s.a}, columns: a, order_by: a_at, deletes: row}
  b: {source: {type: kafka, servers: "k:1", topic: b, format: json}, columns: b, order_by: b_at}
schedule: {on: changes}
checks: [{type: lag, max_messages: 5, max_bytes: 1000000}]
"""
OF_SLOTS = [
    ('url: "postgresql://h/d"', "database: shop", ":4: parts.a.source.database: has no place in a part: each part has a slot of its own, and loads alone; write url"),
    ("table: s.a}", "table: [s.a, s.b], source_column: a}", ":4: parts.a.source.source_column: has no place in a part, which follows one table: load a table from these tables, and fill the part by a query with `read: changes` over it"),
    (", order_by: a_at", "", ":4: parts.a.order_by: must be one column of the type BIGINT, which loads fill with the position in the log: the log has no old values for rows that are deleted, so a column of the source cannot order them"),
    ("columns: a,", "columns: [a, a_at],", ":4: parts.a.order_by: 'a_at' is filled by loads: remove it from columns"),
    ("order_by: a_at,", "order_by: a_at, kinds: {column: op},", ":4: parts.a.kinds: has no place here: the log of PostgreSQL says what is inserted, updated and deleted"),
    ("table: s.a}", "table: s.a, schema_changes: apply}", ":4: parts.a.source.schema_changes: apply does not fit a part: a new column would belong to no part"),
    ("table: s.a}", "table: s.a, lookup: [{table: d.delays, on: {b_at: id}, columns: {a: delay}}]}", ":4: parts.a.source.lookup[0].on.b_at: 'b_at' is filled by another part, or by loads: the log may not repeat its value; look up by a column of this part"),
    ("table: s.a}", "table: s.a, lookup: [{table: d.delays, on: {id: id}, columns: {a: delay}, missing: wait, max_wait: 2 d}]}", ":4: parts.a.source.lookup[0].missing: wait does not fit a part with changes of PostgreSQL: use null or reject, or load a table with this lookup, and fill the part by a query with `read: changes` over it"),
    ("schedule:", "options: {deletion-vectors.enabled: true}\nschedule:", ":6: options.deletion-vectors.enabled: must be false, as the table would differ from its source in PostgreSQL"),
    ("schedule:", "options: {bucket: -2}\nschedule:", ":6: options.bucket: must not be -2: loads read rows that would wait for a compaction"),
]  # fmt: skip


def test_tables_of_postgresql_fill_parts(tmp_path: Path) -> None:
    spec = lake(tmp_path, OF_POSTGRES).table("d.wide")
    assert [one.load_name for one in followed_specs(spec)] == ["d.wide part a", "d.wide part b"]
    assert spec.table_options["fields.a_at.sequence-group"] == "a"


@pytest.mark.parametrize(("old", "new", "message"), OF_SLOTS, ids=[f"{n}" for n in range(len(OF_SLOTS))])
def test_a_wrong_declaration_of_a_part_of_postgresql(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert OF_POSTGRES.count(old) == 1
    with pytest.raises(SettingsError) as refused:
        lake(tmp_path / "lake", OF_POSTGRES.replace(old, new, 1))
    assert re.sub(r"^\S*/tables/d\.wide\.yaml", "", str(refused.value)) == message


def test_a_schedule_of_changes_needs_a_part_with_a_topic(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"schedule\.on: changes needs a part whose source is of type postgres_changes or kafka"
    ):
        lake(tmp_path, f"{WIDE}schedule: {{on: changes}}\n")


def test_a_check_of_parts_needs_parts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r":4: checks\[0\]: parts_complete needs a table with parts"):
        lake(tmp_path, DELAYS + "checks: [{type: parts_complete, max_wait: 2 h}]\n")
