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


MISTAKES = [
    ("    order_by: gate_at\n", "", ":10: parts.gates.order_by: is missing: name the columns that say which of two rows with the same key is newer; files may have `source.add: {column: file}`, and a query current_timestamp()"),
    ("order_by: gate_at", "order_by: gate_up", ":13: parts.gates.order_by: 'gate_up' is not a column; did you mean gate?"),
    ("columns: gate\n", "columns: [gate, delay]\n", ":16: parts.delays.columns: the part gates fills 'delay' too: a column belongs to one part"),
    ("order_by: delay_at", "order_by: gate_at", ":17: parts.delays.order_by: the part gates fills 'gate_at' too: a column belongs to one part"),
    ("columns: gate\n", "columns: [gate, id]\n", ":12: parts.gates.columns: 'id' is in the primary_key, which all parts have"),
    ("columns: gate\n", "columns: gate_at\n", ":12: parts.gates.columns: has only the columns of order_by: a part fills at least one other column"),
    ("columns: gate\n", "columns: [gate, gate]\n", ":12: parts.gates.columns: 'gate' occurs twice"),
    ("  gate: STRING\n", "  gate: STRING\n  more: INT\n", ":5: columns.more: no part fills this column: add it to the columns of a part, or remove it"),
    ("gate: STRING", "gate: STRING NOT NULL", ":4: columns.gate: must not be NOT NULL: a row is without it until its part comes"),
    ("primary_key: [id, day]\n", "", ": a table needs a primary_key or a natural_key"),
    ("partitions:", "source: {type: files, path: a.csv}\npartitions:", ":20: source: has no place beside parts: each part has a source, and the primary key is common"),
    ("partitions:", "order_by: gate_at\npartitions:", ":20: order_by: has no place beside parts: each part has a source, and the primary key is common"),
    ("partitions:", "options: {merge-engine: deduplicate}\npartitions:", ":20: options.merge-engine: deduplicate does not fit: a table with parts has partial-update"),
    ("partitions:", "options: {fields.gate.sequence-group: delay}\npartitions:", ":20: options.fields.gate.sequence-group: must not be set for a table with parts: each part has order_by"),
    ("partitions:", "options: {ignore-delete: true}\npartitions:", ":20: options.ignore-delete: must not be set for a table with parts: leave out kinds in a part whose deletes are ignored"),
    ("partitions:", "options: {fields.delay.aggregate-function: sum}\npartitions:", ":20: options.fields.delay.aggregate-function: must not be set for a table with parts: a row that is loaded again would count twice"),
    ("partitions:", "schedule: {on: files}\npartitions:", ":20: schedule.on: files needs one source of type files: set cron for a table with parts"),
    ("partitions:", "partition_by: gate\npartitions:", ":20: partition_by: 'gate' is not in the primary_key: only one part could fill it"),
    ("    kinds: {column: rowkind}\n", "", ":18: parts.delays.deletes: row has no effect: the part has no kinds, so none of its rows deletes"),
    ("kinds: {column: rowkind}", "kinds: {column: gate}", ":18: parts.delays.kinds.column: 'gate' is a column that this part does not fill"),
    ("{type: files, path: \"gates/{date}.csv\"}", "{type: postgres_changes, url: \"postgresql://h/d\", table: a.b}", ":11: parts.gates.source.type: postgres_changes cannot fill a part: load a table from it, and fill the part by a query with `read: changes` over this table"),
    ("{type: files, path: \"gates/{date}.csv\"}", "{type: files, path: \"gates/{date}.csv\", add: {delay: file}}", ":11: parts.gates.source.add: 'delay' is not a column of this part"),
    ("gates/{date}.csv", "gates/*.csv", ":20: partitions: have no effect: no source of a part is divided by partitions"),
    ("inputs: [d.delays]", "inputs: [d.delay]", ":15: parts.delays.source.inputs names d.delay, which is not declared; did you mean d.delays?"),
    ("inputs: [d.delays]", "inputs: [d.wide]", ":15: the inputs form a cycle: d.wide <- d.wide"),
    ("parts: gates}", "parts: gate}", ":22: checks[0].parts: 'gate' is not a part; did you mean gates?"),
    ("parts: gates}", "parts: gates, column: gate_at}", ":22: checks[0].column: 'gate_at' is filled by the part gates, so it is null in rows that lack it"),
    ("parts: gates}", "block: true}", ":22: checks[0].block: has no effect that helps: a load of one part cannot bring the others; remove block"),
    ("max_wait: 2 h", "max_wait: '2'", ":22: checks[0].max_wait: must be a duration with its unit, such as 2 d or 12 h, not '2'"),
    ("max_wait: 2 h", "max_wait: 40000 d", ":22: checks[0].max_wait: must be at most 36500 d, not '40000 d'"),
    ("  gates:", "  the gates:", ":10: parts.the gates: the name of a part has letters, digits and underscores, and begins with a letter"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[f"{n}" for n in range(len(MISTAKES))])
def test_a_wrong_declaration(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert WIDE.count(old) == 1 or old in (
        "columns: gate\n",
        "gate: STRING",
        "order_by: gate_at",
        "  gates:",
        "gates/{date}.csv",
        "inputs: [d.delays]",
    )
    with pytest.raises(SettingsError) as refused:
        lake(tmp_path / "lake", WIDE.replace(old, new, 1))
    assert re.sub(r"^\S*/tables/d\.wide\.yaml", "", str(refused.value)) == message


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


def test_a_schedule_of_changes_needs_a_part_with_a_topic(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"schedule\.on: changes needs a part whose source is of type kafka"):
        lake(tmp_path, f"{WIDE}schedule: {{on: changes}}\n")


def test_a_check_of_parts_needs_parts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r":4: checks\[0\]: parts_complete needs a table with parts"):
        lake(tmp_path, DELAYS + "checks: [{type: parts_complete, max_wait: 2 h}]\n")
