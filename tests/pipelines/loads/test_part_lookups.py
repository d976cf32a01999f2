"""Lookups in a part of a wide table: the part gets columns of another table, and the other parts do not see it."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.declarations.agreement.order import in_order
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.protocol import PartsFailed
from paimon_lake.steps.audits.audit import audit
from tests.support.lakes import SmallLake

NAME, GATES, DELAYS = "dwd.flight", "dwd.flight part gates", "dwd.flight part delays"
PLANES = """
    columns: {id: STRING, model: STRING}
    primary_key: id
    source: {type: files, path: "planes/*.csv"}
"""
WIDE = """\
columns: {id: BIGINT, gate: STRING, model: STRING, gate_at: INT, tail: STRING, delay: INT, delay_at: INT}
primary_key: id
parts:
  gates:
    source:
      type: files
      path: "gates/*.csv"
      lookup:
        - table: dim.planes
          on: {tail: id}
          columns: {model: model}
          missing: null
    columns: [gate, model]
    order_by: gate_at
  delays:
    source: {type: files, path: "delays/*.csv"}
    columns: [tail, delay]
    order_by: delay_at
rejects: {max_share: 0.7}
"""
GATES_FILE = "id,gate,gate_at,tail\n1,A1,10,a\n2,B2,10,x\n3,C3,10,\n"
DATABASE = "type: database\n      url: 'sqlite:///g.db'\n      table: g"


@pytest.fixture
def wide(quick: SmallLake) -> SmallLake:
    quick.declare("dim.planes", PLANES)
    quick.declare(NAME, WIDE)
    quick.file("planes/1.csv", "id,model\na,Airbus\nb,Boeing\n")
    quick.file("gates/1.csv", GATES_FILE)
    quick.file("delays/1.csv", "id,tail,delay,delay_at\n1,z,5,1\n4,b,7,1\n")
    quick.load("dim.planes")
    return quick


def test_a_part_looks_up_by_a_column_that_another_part_fills(wide):
    result = wide.load(NAME)
    assert wide.rows(NAME) == [
        (1, "A1", "Airbus", 10, "z", 5, 1),
        (2, "B2", None, 10, None, None, None),
        (3, "C3", None, 10, None, None, None),
        (4, None, None, None, "b", 7, 1),
    ]
    assert (result.details["rows_read"], result.rows_written, result.details["rows_rejected"]) == (5, 5, 0)
    assert result.details["gates_rows_without_dim.planes"] == 2
    gates, delays = (loads_of(wide.table(NAME), name)[-1].properties for name in (GATES, DELAYS))
    assert gates["pipeline.lookups"].startswith('{"dim.planes": [1, "manifest-list-')
    assert "pipeline.lookups" not in delays
    wide.file("planes/2.csv", "id,model\nx,Xian\n")
    wide.load("dim.planes")
    wide.file("gates/2.csv", "id,gate,gate_at,tail\n2,D4,11,x\n1,late,9,b\n")
    wide.load(NAME)
    assert [row[:4] for row in wide.rows(NAME)[:2]] == [(1, "A1", "Airbus", 10), (2, "D4", "Xian", 11)]


@pytest.mark.parametrize("source", ["files", "database"])
def test_rows_without_a_row_are_rejects_of_their_part(wide, source):
    text = WIDE.replace("missing: null", "missing: reject")
    if source == "database":
        text = text.replace('type: files\n      path: "gates/*.csv"', DATABASE)
        with contextlib.closing(sqlite3.connect(wide.folder / "g.db")) as database:
            database.executescript(
                "CREATE TABLE g (id INT, gate TEXT, gate_at INT, tail TEXT);"
                "INSERT INTO g VALUES (1, 'A1', 10, 'a'), (2, 'B2', 10, 'x'), (3, 'C3', 10, NULL)"
            )
    wide.declare(NAME, text)
    result = wide.load(NAME)
    assert wide.rows(NAME) == [(1, "A1", "Airbus", 10, "z", 5, 1), (4, None, None, None, "b", 7, 1)]
    assert (result.details["rows_read"], result.rows_written, result.details["rows_rejected"]) == (5, 3, 2)
    found = wide.table(f"{NAME}__rejects_gates").scan(["column", "reason"]).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("tail", "dim.planes has no row with id = 'x'"),
        ("tail", "dim.planes has no row with id = null"),
    ]
    assert wide.rows(f"{NAME}__rejects_delays") == []
    assert all(one.passed for one in audit(wide.settings, NAME))


def test_rows_of_a_part_wait_in_a_table_of_the_part(wide):
    wide.declare(NAME, WIDE.replace("missing: null", "missing: wait\n          max_wait: 2 d"))
    result = wide.load(NAME)
    assert wide.rows(NAME) == [
        (1, "A1", "Airbus", 10, "z", 5, 1),
        (3, "C3", None, 10, None, None, None),
        (4, None, None, None, "b", 7, 1),
    ]
    assert result.details["gates_rows_waiting"] == result.details["rows_began_to_wait"] == 1
    waiting = wide.table(f"{NAME}__waiting_gates")
    assert waiting.scan(["id", "gate", "gate_at", "tail"]).to_arrow().to_pylist() == [
        {"id": 2, "gate": "B2", "gate_at": 10, "tail": "x"}
    ]
    (rows,) = audit(wide.settings, NAME, ["rows"])
    assert "part gates: 1 row waiting, the oldest since " in rows.sentence
    wide.file("gates/2.csv", "id,gate,gate_at,tail\n2,late,9,a\n")
    wide.load(NAME)
    wide.file("planes/2.csv", "id,model\nx,Xian\n")
    wide.load("dim.planes")
    result = wide.load(NAME)
    assert (result.details["rows_waited"], result.details["gates_rows_waiting"]) == (1, 0)
    assert wide.rows(NAME)[1] == (2, "B2", "Xian", 10, None, None, None), "a late row does not replace the waiting row"
    assert all(one.passed for one in audit(wide.settings, NAME))
    wide.declare(f"{NAME}__waiting_gates", PLANES)
    with pytest.raises(SettingsError, match=r"name of the waiting rows of dwd.flight part gates: give"):
        _ = wide.settings


def test_too_many_rejects_fail_only_their_part(wide):
    wide.declare(NAME, WIDE.replace("missing: null", "missing: reject").replace("0.7", "0.5"))
    with pytest.raises(PartsFailed, match=r"part gates failed: .* 2 of 3 rows do not fit .*dim.planes has no row"):
        wide.load(NAME)
    assert [row[0] for row in wide.rows(NAME)] == [1, 4]


def test_a_row_that_deletes_the_whole_row_brings_no_looked_up_value(wide):
    deletes = "order_by: gate_at\n    kinds: {column: op}\n    deletes: row"
    by_key = WIDE.replace("order_by: gate_at", deletes).replace("id: BIGINT", "id: STRING")
    wide.declare(NAME, by_key.replace("{tail: id}", "{id: id}"))
    wide.file("gates/1.csv", "id,gate,gate_at,op\na,A1,10,+I\nb,B2,10,+I\n")
    wide.file("gates/2.csv", "id,gate,gate_at,op\na,A1,11,-D\n")
    wide.file("delays/1.csv", "id,tail,delay,delay_at\nb,t,5,1\n")
    wide.load(NAME)
    wide.file("delays/2.csv", "id,tail,delay,delay_at\na,t,6,1\n")
    wide.load(NAME)
    assert wide.rows(NAME) == [("a", None, None, 11, "t", 6, 1), ("b", "B2", "Boeing", 10, "t", 5, 1)]


def test_the_looked_up_table_is_loaded_before(wide):
    assert in_order(wide.settings.tables) == [["dim.planes"], [NAME]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'type: files\n      path: "gates/*.csv"',
            "type: postgres_changes\n      url: postgresql://h/d\n      table: s.g",
            ":15: parts.gates.order_by: must be one column of the type BIGINT, which loads fill with the position",
        ),
        (
            "columns: {model: model}",
            "columns: {model: model, delay: id}",
            ":11: parts.gates.source.lookup[0].columns.delay: 'delay' is not a column of this part",
        ),
        (
            "columns: {model: model}",
            "columns: {gate_at: id}",
            ":11: parts.gates.source.lookup[0].columns.gate_at: 'gate_at' cannot be looked up: it is in order_by",
        ),
        ("dim.planes", "dim.plane", ":8: parts.gates.source.lookup: dim.plane is not declared; did you mean"),
        ("dim.planes", NAME, ":9: parts.gates.source.lookup[0].table: a table cannot look up its own rows"),
        ("{tail: id}", "{delay: id}", ":8: parts.gates.source.lookup: delay is INT, and id of dim.planes is STRING"),
    ],
)
def test_a_wrong_declaration(wide, old, new, message):
    assert WIDE.count(old) == 1
    wide.declare(NAME, WIDE.replace(old, new))
    with pytest.raises(SettingsError) as refused:
        _ = wide.settings
    assert f"{NAME}.yaml{message}" in str(refused.value)


def test_a_cycle_of_a_lookup_and_an_input(wide):
    query = "source: {type: sql, query: SELECT 1, inputs: [dwd.flight]}"
    wide.declare("dim.planes", PLANES.replace('source: {type: files, path: "planes/*.csv"}', query))
    with pytest.raises(SettingsError, match=r"the inputs form a cycle: dim.planes <- dwd.flight <- dim.planes"):
        _ = wide.settings
    lookup = "lookup: [{table: dwd.flight, on: {n: id}, columns: {model: gate}}]"
    wide.declare("dim.planes", PLANES.replace('planes/*.csv"', f'planes/*.csv", {lookup}'))
    with pytest.raises(SettingsError, match=r"the lookups form a cycle: dim.planes <- dwd.flight <- dim.planes"):
        _ = wide.settings
