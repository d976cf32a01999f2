"""Loads of wide tables: each part has commits, a ledger and rejects of its own; a part changes only its columns."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

import pytest

from paimon_lake.cli.lake_commands import lines_of
from paimon_lake.loads.files.file_load import FileLoads
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.overview import lake_text, overviews
from paimon_lake.protocol import AuditFailed, PartsFailed, PipelineError
from paimon_lake.steps.apply import apply
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import tag
from tests.support.lakes import SmallLake

NAME = "dwd.flight"
WIDE = """
    columns: {id: BIGINT, gate: STRING, gate_at: INT, delay: INT, delay_at: INT}
    primary_key: id
    parts:
      gates:
        source: {type: files, path: "gates/*.csv"}
        columns: gate
        order_by: gate_at
      delays:
        source: {type: files, path: "delays/*.csv"}
        columns: delay
        order_by: delay_at
        kinds: {column: op}
    retention: {keep_snapshots: 1, keep_hours: 0}
"""

WIND = (
    "parts:",
    'parts:\n      wind: {source: {type: files, path: "wind/*.csv"}, columns: wind, order_by: wind_at}',
)


@pytest.fixture
def wide(quick: SmallLake) -> SmallLake:
    quick.declare(NAME, WIDE)
    quick.file("gates/1.csv", "id,gate,gate_at\n1,A1,10\n2,B2,10\n")
    quick.file("delays/1.csv", "id,delay,delay_at,op\n1,5,1,+I\n3,7,1,+I\n")
    return quick


def test_each_part_fills_its_columns_in_a_commit_of_its_own(wide):
    result = wide.load(NAME)
    assert wide.rows(NAME) == [(1, "A1", 10, 5, 1), (2, "B2", 10, None, None), (3, None, None, 7, 1)]
    assert (len(result.commits), result.rows_written) == (2, 4)
    assert result.details["part_gates"].startswith("2 rows written in snapshot ")
    again = wide.load(NAME)
    assert again.commits == ()
    assert again.skipped == ("part gates: 1 files loaded before", "part delays: 1 files loaded before")


def test_late_rows_and_deletes_of_a_part_leave_the_others_alone(wide):
    wide.load(NAME)
    wide.file("gates/2.csv", "id,gate,gate_at\n1,late,9\n2,,11\n")
    wide.file("delays/2.csv", "id,delay,delay_at,op\n1,0,2,-D\n3,9,0,-D\n2,4,1,+U\n")
    wide.load(NAME)
    assert wide.rows(NAME) == [(1, "A1", 10, None, 2), (2, None, 11, 4, 1), (3, None, None, 7, 1)]
    wide.file("delays/3.csv", "id,delay,delay_at,op\n2,4,2,-D\n")
    wide.file("gates/3.csv", "id,gate,gate_at\n")
    wide.load(NAME)
    wide.table(NAME).compact(full=True)
    assert wide.rows(NAME)[1] == (2, None, 11, None, 2), "a row without any value stays: its order is still needed"


def test_a_part_may_remove_rows_and_its_deletes_bring_no_values(wide):
    wide.declare(NAME, WIDE.replace("kinds: {column: op}", "kinds: {column: op}\n        deletes: row"))
    wide.load(NAME)
    wide.file("delays/2.csv", "id,delay,delay_at,op\n1,5,2,-D\n3,7,2,-D\n")
    wide.load(NAME)
    assert wide.rows(NAME) == [(2, "B2", 10, None, None)]
    wide.file("gates/2.csv", "id,gate,gate_at\n1,C3,11\n")
    wide.load(NAME)
    assert wide.rows(NAME)[0] == (1, "C3", 11, None, 2)


def test_a_failed_part_is_told_and_stops_no_other(wide):
    wide.file("delays/1.csv", "id,delay,delay_at,op\n1,many,1,+I\n")
    with pytest.raises(PartsFailed, match=r"part delays failed: .* 1 of 1 rows do not fit") as failed:
        wide.load(NAME)
    assert wide.rows(NAME) == [(1, "A1", 10, None, None), (2, "B2", 10, None, None)]
    assert failed.value.result.rows_written == 2
    assert "part_delays" in failed.value.result.details
    with pytest.raises(AuditFailed):
        wide.load(NAME, part="delays")
    assert wide.load(NAME, part="gates").details["part_delays"] == "never loaded"
    (one,) = overviews(wide.settings)
    assert one.parts == ("delays never loaded",)
    assert "delays never loaded" in lake_text([one])
    lines, is_well = lines_of(wide.spark, wide.settings, Namespace(command="check", table=None, state=None))
    assert not is_well
    assert f"{NAME}: the part delays was never loaded" in lines


def test_an_error_of_any_kind_stops_no_other_part(wide, monkeypatch):
    plan = FileLoads.plan

    def failing(loads, step):
        return plan(loads, step) if step.spec.load_name == f"{NAME} part gates" else 1 // 0

    monkeypatch.setattr(FileLoads, "plan", failing)
    with pytest.raises(PartsFailed, match=r"2 rows written; .*; part delays failed: ZeroDivisionError: "):
        wide.load(NAME)


def test_batches_before_the_one_that_failed_are_in_the_result(wide, monkeypatch):
    plan, planned = FileLoads.plan, []

    def one_batch(loads, step):
        if step.spec.load_name == f"{NAME} part gates":
            return plan(loads, step)
        planned.append(step)
        return replace(plan(loads, step), has_more=True) if len(planned) == 1 else 1 // 0

    monkeypatch.setattr(FileLoads, "plan", one_batch)
    with pytest.raises(PartsFailed, match=r"4 rows written; .*; part delays failed: ZeroDivisionError: ") as failed:
        wide.load(NAME)
    result = failed.value.result
    assert (result.commits, result.rows_written) == ((1, 2), 4)
    assert "; before, 2 rows written in snapshot " in result.details["part_delays"]


def test_one_part_is_loaded_alone(wide):
    assert wide.load(NAME, part="delays").rows_written == 2
    assert [row[1] for row in wide.rows(NAME)] == [None, None]
    with pytest.raises(PipelineError, match="has no part 'gate': its parts are gates, delays"):
        wide.load(NAME, part="gate")


def test_a_table_of_a_shared_slot_has_no_parts(dry_lake):
    database = "{shop: {url: postgresql://lake@db.example/shop}}"
    (dry_lake.folder / "base.yaml").write_text(f"warehouse: warehouse\npostgres: {database}\n")
    source = "source: {type: postgres_changes, database: shop, table: s.o}"
    dry_lake.declare("shop.o", f"columns: {{id: BIGINT, t: STRING}}\nprimary_key: id\n{source}\n")
    with pytest.raises(PipelineError, match=r"shop\.o has no part 'x': it has no parts"):
        dry_lake.load("shop.o", part="x")


def test_rows_without_an_order_are_rejects_of_their_part(wide):
    wide.declare(NAME, WIDE + "    rejects: {max_share: 0.5}\n")
    wide.file("gates/1.csv", "id,gate,gate_at\n1,A1,\n2,B2,10\n")
    result = wide.load(NAME)
    assert result.details["rows_rejected"] == 1
    assert [row[2] for row in wide.rows(f"{NAME}__rejects_gates")] == ["gate_at"]
    assert wide.rows(f"{NAME}__rejects_delays") == []
    assert all(found.passed for found in audit(wide.settings, NAME))


def test_what_was_loaded_is_known_after_expiries_and_rollbacks(wide):
    wide.load(NAME, part="gates")
    tag(wide.settings, NAME, "early")
    wide.load(NAME)
    for number in range(2, 5):
        wide.file(f"gates/{number}.csv", f"id,gate,gate_at\n{number},X,{number}\n")
        wide.load(NAME)
    wide.table(NAME).compact(full=True)
    expire(wide.spark, wide.settings, NAME)
    assert wide.table(NAME).inspect.snapshots().num_rows <= 2
    assert wide.load(NAME).commits == ()
    assert all(found.passed for found in audit(wide.settings, NAME))
    wide.table(NAME).rollback(tag="early")
    assert wide.load(NAME, part="delays").rows_written == 2
    ledger = read_ledger(wide.table(NAME), f"{NAME} part gates")
    assert len(ledger.files.versions) == 1, "only the file that the tagged snapshot has"


def test_a_part_that_is_declared_later_is_loaded_from_its_first_file(wide):
    wide.load(NAME)
    wide.file("gates/2.csv", "id,gate,gate_at\n1,Z9,20\n")
    wide.load(NAME)
    expire(wide.spark, wide.settings, NAME)
    wide.declare(NAME, WIDE.replace("delay_at: INT}", "delay_at: INT, wind: INT, wind_at: INT}").replace(*WIND))
    wide.file("wind/1.csv", "id,wind,wind_at\n1,30,1\n")
    apply(wide.settings)
    wide.load(NAME)
    assert wide.rows(NAME)[0] == (1, "Z9", 20, 5, 1, 30, 1)
