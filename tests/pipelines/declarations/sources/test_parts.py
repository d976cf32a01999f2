"""Declarations of wide tables: the options and the loads that follow from the parts."""

from __future__ import annotations

from pathlib import Path

from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.part_spec import followed_specs, load_specs, loaded_spec
from tests.support.declared_lakes import OTHERS, PARTS, SLOTS, STREAMS, written_lake


def test_the_options_and_the_loads_follow_from_the_parts(tmp_path: Path) -> None:
    spec = written_lake(tmp_path / "lake", OTHERS | dict([PARTS])).table("d.wide")
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


def test_topics_fill_parts(tmp_path: Path) -> None:
    spec = written_lake(tmp_path / "lake", dict([STREAMS])).table("d.streams")
    (followed,) = followed_specs(spec)
    assert (followed.load_name, followed.write_mode) == ("d.streams part a", "changes")
    assert loaded_spec({"d.streams": spec}, followed.load_name) == followed


def test_tables_of_postgresql_fill_parts(tmp_path: Path) -> None:
    spec = written_lake(tmp_path / "lake", dict([SLOTS])).table("d.slots")
    assert [one.load_name for one in followed_specs(spec)] == ["d.slots part a", "d.slots part b"]
    assert spec.table_options["fields.a_at.sequence-group"] == "a"
