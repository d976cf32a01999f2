"""Declarations of wide tables: the options that follow from the parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_lake.declarations import Settings, SettingsError, load_settings
from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.part_spec import load_specs

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


def test_a_check_of_parts_needs_parts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r":4: checks\[0\]: parts_complete needs a table with parts"):
        lake(tmp_path, DELAYS + "checks: [{type: parts_complete, max_wait: 2 h}]\n")
