"""Loads with lookups: columns of another table, rows without a row there, and rows that wait for it."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace

import pyarrow as pa
import pytest

from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads import load
from paimon_lake.loads.files.file_load import FileLoads
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.lookup import dimension as dimensions
from paimon_lake.loads.lookup import due_rows
from paimon_lake.loads.lookup.due_rows import due_now
from paimon_lake.loads.postgres.postgres_changes import PostgresChangesLoads
from paimon_lake.loads.step import LoadStep, PlannedLoad
from paimon_lake.protocol import AuditFailed, PipelineError
from paimon_lake.sources.postgres.net_changes import NetBatch
from paimon_lake.steps.audits.audit import audit_loads
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import tag

PLANES = """\
columns: {id: STRING, model: STRING, seats: INT}
primary_key: id
kinds: {column: op}
source: {type: files, path: "planes/*.csv"}
"""
FLIGHTS = """\
columns: {flight: BIGINT, tail: STRING, model: %s}
%s
source:
  type: files
  path: "flights/*.csv"
  lookup:
    - {table: dim.planes, on: {tail: id}, columns: {model: model}, %s}
rejects: {max_share: %s}
"""
KEYED, DELETING = "primary_key: flight", "primary_key: flight\nkinds: {column: op}"
WAIT = "missing: wait, max_wait: 2 d"


def declared(lake, key=KEYED, rule="missing: null", share="1", model="STRING"):
    lake.declare("dim.planes", PLANES)
    lake.declare("ods.flights", FLIGHTS % (model, key, rule, share))
    return lake


def planes(lake, name, *rows):
    lake.file(f"planes/{name}.csv", "id,model,seats,op\n" + "".join(f"{row}\n" for row in rows))
    return lake.load("dim.planes")


def flights(lake, name, *rows, head="flight,tail"):
    lake.file(f"flights/{name}.csv", f"{head}\n" + "".join(f"{row}\n" for row in rows))
    return lake.load("ods.flights")


def rejects(lake):
    found = lake.table("ods.flights__rejects").scan(["file", "column", "reason", "raw"]).to_arrow().to_pylist()
    return [(row["file"].rpartition("/")[2], row["column"], row["reason"], row["raw"]) for row in found]


def waiting(lake):
    return sorted(lake.table("ods.flights__waiting").scan(["flight", "tail"]).to_arrow()["flight"].to_pylist())


def equal(lake):
    """Check that each load wrote or rejected the rows that it read, or lets them wait."""
    found = audit_loads(lake.settings, "ods.flights")
    assert not found.wrong, found.sentence
    return found.sentence


def test_a_row_without_a_row_gets_nulls(quick):
    declared(quick)
    planes(quick, 1, "a,Airbus,100,I", "b,Boeing,200,I")
    result = flights(quick, 1, "1,a", "2,c", "3,", "4,b")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (2, "c", None), (3, None, None), (4, "b", "Boeing")]
    assert result.details["rows_without_dim.planes"] == 2
    properties = loads_of(quick.table("ods.flights"))[-1].properties
    assert properties["pipeline.lookups"].startswith('{"dim.planes": [1, "manifest-list-')
    planes(quick, 2, "a,,100,U", "b,,0,D", "c,Comet,7,I")
    flights(quick, 2, "5,a", "6,b", "7,c")
    assert quick.rows("ods.flights")[4:] == [(5, "a", None), (6, "b", None), (7, "c", "Comet")]


def test_a_row_without_a_row_is_rejected(quick):
    declared(quick, rule="missing: reject", share="0.5")
    planes(quick, 1, "a,Airbus,100,I")
    flights(quick, "1", "1,a", "2,c", "3,", "4,a")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (4, "a", "Airbus")]
    assert rejects(quick) == [
        ("1.csv", "tail", "dim.planes has no row with id = 'c'", '{"flight": 2, "tail": "c"}'),
        ("1.csv", "tail", "dim.planes has no row with id = null", '{"flight": 3, "tail": null}'),
    ]
    with pytest.raises(AuditFailed, match=r"3 of 3 rows do not fit .*1.csv, column tail: dim.planes has no row with"):
        flights(quick, "11", "5,c", "6,d", "7,e")
    assert "read 4 rows, wrote 2 and rejected 2" in equal(quick)


def test_a_null_that_the_column_does_not_accept_is_rejected(quick):
    declared(quick, key=DELETING, model="STRING NOT NULL")
    planes(quick, 1, "a,Airbus,100,I", "b,,1,I")
    flights(quick, 1, "1,a,I", "2,b,I", "3,c,I", "1,a,D", "4,c,D", head="flight,tail,op")
    assert quick.rows("ods.flights") == []
    reason = "the looked-up value is null, and the column must not be null"
    assert [row[1:3] for row in rejects(quick)] == [("model", reason)] * 2


def test_a_row_waits_until_its_row_arrives(quick):
    declared(quick, rule=WAIT)
    result = flights(quick, 1, "1,a", "2,c", "3,")
    assert quick.rows("ods.flights") == [(3, None, None)]
    assert (result.details["rows_began_to_wait"], result.details["rows_waiting"]) == (2, 2)
    assert "1 rows written, 2 waiting" in result.sentence()
    assert not quick.load("ods.flights").commits, "nothing has changed"
    planes(quick, 1, "a,Airbus,100,I")
    result = quick.load("ods.flights")
    assert (result.rows_written, result.details["rows_waited"], result.details["rows_waiting"]) == (1, 1, 1)
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (3, None, None)]
    assert "1 row waiting, the oldest since " in equal(quick)
    planes(quick, 2, "c,Comet,7,I")
    flights(quick, 2, "4,c")
    assert quick.rows("ods.flights")[1:] == [(2, "c", "Comet"), (3, None, None), (4, "c", "Comet")]
    assert waiting(quick) == []
    equal(quick)


def test_rows_are_due_when_a_table_that_they_look_up_changed_or_their_wait_has_ended(quick, monkeypatch):
    declared(quick, rule=WAIT)

    def due():
        return due_now(quick.settings, quick.settings.table("ods.flights"))

    assert not due(), "there is no table yet"
    flights(quick, 1, "1,a", "2,c")
    assert not due()
    planes(quick, 1, "a,Airbus,100,I")
    assert due()
    quick.load("ods.flights")
    assert not due()
    with monkeypatch.context() as patched:
        patched.setattr(due_rows, "time", SimpleNamespace(time=lambda: time.time() + 3 * 86_400))
        assert due()
    planes(quick, 2, "c,Comet,7,I")
    with monkeypatch.context() as patched:
        patched.setattr(load, "publish_waiting", lambda *_: None)
        flights(quick, 2, "3,x")
    assert due(), "which rows wait is not committed"
    quick.load("ods.flights")
    assert (due(), waiting(quick)) == (False, [3])


@pytest.mark.parametrize("after", ["reject", "null"])
def test_a_row_that_has_waited_long_enough(quick, after):
    declared(quick, rule=f"missing: wait, max_wait: 1 ms, after_wait: {after}", share="0")
    flights(quick, "1", "1,a")
    result = flights(quick, "2", "2,b")
    assert waiting(quick) == [2], "the waiting row counts neither as read nor in the share of rejects"
    assert result.details["rows_waited"] == 1
    if after == "null":
        assert quick.rows("ods.flights") == [(1, "a", None)]
    else:
        assert [row[:3] for row in rejects(quick)] == [
            ("1.csv", "tail", "dim.planes has no row with id = 'a', and the row has waited for 0.001 s")
        ]
    equal(quick)


@pytest.mark.parametrize("after", ["reject", "null"])
def test_a_source_that_delivers_all_rows_again_does_not_begin_the_wait_again(quick, monkeypatch, after):
    declared(quick)
    lookup = f"{{table: dim.planes, on: {{tail: id}}, columns: {{model: model}}, {WAIT}, after_wait: {after}}}"
    columns = "columns: {flight: BIGINT, tail: STRING, model: STRING}\nprimary_key: flight\n"
    source = f"source: {{type: database, url: 'sqlite:///f.db', table: f, lookup: [{lookup}]}}\n"
    quick.declare("ods.flights", f"{columns}{source}rejects: {{max_share: 0}}\n")
    with contextlib.closing(sqlite3.connect(quick.folder / "f.db")) as database:
        database.executescript("CREATE TABLE f (flight INT, tail TEXT); INSERT INTO f VALUES (1, 'x')")
    begun = datetime.now(UTC)
    for days, still_waits in ((0, [1]), (1, [1]), (3, []), (4, [1])):  # after the end of a wait, a new one begins
        step = partial(LoadStep, at=begun + timedelta(days=days))
        monkeypatch.setattr(load, "LoadStep", step)
        quick.load("ods.flights")
        assert waiting(quick) == still_waits, f"after {days} days"
        if days == 3 and after == "reject":
            assert len(rejects(quick)) == 2, "the row that waited, and the row of the source"
    assert quick.rows("ods.flights") == ([(1, "x", None)] if after == "null" else [])
    equal(quick)


def test_changes_without_rows_try_rows_that_wait(quick, monkeypatch):
    declared(quick, rule=WAIT)
    flights(quick, 1, "1,a", "2,b")
    planes(quick, 1, "a,Airbus,100,I")
    source = PostgresChangesSource(type="postgres_changes", url="postgresql://lake@db.example/shop", table="s.o")
    loads = PostgresChangesLoads(source)
    empty = NetBatch(pa.RecordBatch.from_pylist([], pa.schema([("flight", pa.int64())])))
    monkeypatch.setattr(
        FileLoads, "plan", lambda self, step: PlannedLoad(lambda: loads._write(step, "s.o", None, empty, []), {}, {})
    )
    assert quick.load("ods.flights").details["rows_waited"] == 1
    assert quick.rows("ods.flights") == [(1, "a", "Airbus")]
    assert waiting(quick) == [2]


def test_a_newer_row_replaces_a_row_that_waits(quick):
    declared(quick, key=DELETING, rule=WAIT)
    planes(quick, 1, "a,Airbus,100,I")
    rows = ["1,x,I", "2,x,I", "3,x,I", "4,x,I", "5,a,I", "4,a,U", "5,x,U"]
    flights(quick, 1, *rows, head="flight,tail,op")
    assert waiting(quick) == [1, 2, 3, 5], "the row 4 that waited was replaced in the same load"
    flights(quick, 2, "1,a,U", "2,,D", "3,y,U", head="flight,tail,op")
    assert waiting(quick) == [3, 5]
    planes(quick, 2, "x,Xian,1,I")
    flights(quick, 3, "5,,D", head="flight,tail,op")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (4, "a", "Airbus")]
    planes(quick, 3, "y,Yak,1,I")
    quick.load("ods.flights")
    assert quick.rows("ods.flights")[1] == (3, "y", "Yak")
    assert waiting(quick) == []
    equal(quick)


def test_the_sequence_field_orders_rows_that_wait(quick):
    declared(quick, rule=WAIT)
    path = quick.folder / "tables" / "ods.flights.yaml"
    path.write_text(path.read_text().replace("tail: STRING", "tail: STRING, at: INT") + "order_by: at\n")
    head = "flight,tail,at"
    flights(quick, 1, "1,x,5", "2,x,5", head=head)
    planes(quick, 1, "a,Airbus,100,I")
    flights(quick, 2, "1,a,3", "2,a,7", head=head)
    assert waiting(quick) == [1], "an older row does not replace a row that waits"
    planes(quick, 2, "x,Xian,1,I")
    quick.load("ods.flights")
    assert quick.rows("ods.flights") == [(1, "x", 5, "Xian"), (2, "a", 7, "Airbus")]


def test_a_table_without_a_key(quick):
    declared(quick, key="", rule=WAIT)
    flights(quick, 1, "1,a", "1,a", "2,b")
    planes(quick, 1, "a,Airbus,100,I")
    flights(quick, 2, "1,a", "3,b")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus")] * 3
    assert waiting(quick) == [2, 3]
    equal(quick)
    quick.load("ods.flights", reload=True)
    assert quick.rows("ods.flights") == [(1, "a", "Airbus")] * 3
    assert waiting(quick) == [2, 3], "a reload that replaces all rows also replaces the rows that wait"


def test_a_column_that_only_the_source_has(quick):
    declared(quick)
    text = FLIGHTS.replace("tail: STRING, ", "") % ("STRING", KEYED, WAIT, "0")
    quick.declare("ods.flights", text)
    planes(quick, 1, "a,Airbus,100,I")
    flights(quick, 1, "1,a", "2,b")
    planes(quick, 2, "b,Boeing,100,I")
    quick.load("ods.flights")
    assert quick.rows("ods.flights") == [(1, "Airbus"), (2, "Boeing")]


def test_a_rollback_brings_rows_back_that_waited(quick):
    declared(quick, rule=WAIT)
    planes(quick, 1, "a,Airbus,100,I")
    first = flights(quick, 1, "1,a", "2,b")
    planes(quick, 2, "b,Boeing,100,I")
    flights(quick, 2, "3,b", "4,c")
    assert waiting(quick) == [4]
    quick.table("ods.flights").rollback(snapshot=first.snapshot_id)
    quick.load("ods.flights")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (2, "b", "Boeing"), (3, "b", "Boeing")]
    assert waiting(quick) == [4]


@pytest.mark.parametrize("loads_before", [0, 1])
@pytest.mark.parametrize("copies", ["tag", "expire"])
def test_a_copy_of_the_ledger_after_a_rollback(quick, copies, loads_before):
    declared(quick, rule=WAIT)
    path = quick.folder / "tables" / "ods.flights.yaml"
    path.write_text(path.read_text() + "retention: {keep_snapshots: 1, keep_hours: 0}\n")
    planes(quick, 1, "a,Airbus,100,I")
    for number in range(loads_before):
        flights(quick, number, f"{number},a")
    first = flights(quick, 7, "7,b" if loads_before else "7,a")
    planes(quick, 2, "b,Boeing,100,I")
    for number in (8, 9):
        flights(quick, number, f"{number},b", f"{number}0,c")
    quick.table("ods.flights").rollback(snapshot=first.snapshot_id)
    for number in (1, 2):
        if copies == "tag":
            tag(quick.settings, "ods.flights", f"t{number}")
        else:
            quick.table("ods.flights").write([{"flight": 99, "tail": "a", "model": "Airbus"}])
            expire(quick.spark, quick.settings, "ods.flights")
    assert waiting(quick) == [7] * loads_before
    quick.load("ods.flights")
    assert [row[0] for row in quick.rows("ods.flights") if row[0] in (7, 8, 9)] == [7, 8, 9]
    assert waiting(quick) == [80, 90]


def test_rows_that_wait_are_not_forgotten_with_the_declaration(quick):
    declared(quick, rule=WAIT)
    planes(quick, 1, "a,Airbus,100,I")
    flights(quick, 1, "1,x")
    declared(quick)
    with pytest.raises(PipelineError, match=r"ods.flights: 1 rows wait in ods.flights__waiting, and no lookup of the"):
        quick.load("ods.flights")


def test_a_dimension_is_followed_by_its_changes(quick):
    declared(quick)
    dimensions._CACHES.clear()
    planes(quick, 0, *(f"p{n},m{n},1,I" for n in range(100)))
    for number in range(1, 8):
        planes(quick, number, f"p{number},new,1,U", f"p{number + 50},,,D")
        flights(quick, number, f"{number},p{number}", f"{number + 50},p{number + 50}", f"{number + 90},p{number + 90}")
    (cached,) = dimensions._CACHES.values()
    assert cached.whole_reads == 1
    assert len(cached.segments) <= dimensions.MOST_SEGMENTS
    expected = [(n, f"p{n}", "new") for n in range(1, 8)] + [(n, f"p{n}", None) for n in range(51, 58)]
    assert quick.rows("ods.flights") == [*expected, *((n, f"p{n}", f"m{n}") for n in range(91, 98))]


def test_a_key_of_a_dimension_moves_to_another_partition(quick):
    declared(quick)
    dimensions._CACHES.clear()
    partitioned = (
        PLANES.replace("seats: INT", "seats: INT, region: STRING") + "partition_by: region\noptions: {bucket: '-1'}\n"
    )
    quick.declare("dim.planes", partitioned)
    for number, plane in enumerate(["a,Airbus,1,z,I", "a,Antonov,1,c,U"]):
        quick.file(f"planes/{number}.csv", f"id,model,seats,region,op\n{plane}\n")
        quick.load("dim.planes")
        flights(quick, number, f"{number},a")
    assert quick.rows("ods.flights") == [(0, "a", "Airbus"), (1, "a", "Antonov")]


def test_a_dimension_that_is_too_large(quick):
    declared(quick, rule="cache_bytes: 1048576")
    planes(quick, 1, *(f"{n},{'x' * 200},1,I" for n in range(6000)))
    with pytest.raises(PipelineError, match=r"the looked-up columns of dim.planes need more than 1,048,576 bytes"):
        flights(quick, 1, "1,5")


def test_a_dimension_whose_columns_changed(quick):
    declared(quick)
    planes(quick, 1, "a,Airbus,100,I")
    altered = quick.table("dim.planes").alter("ALTER COLUMN seats TYPE BIGINT", "RENAME COLUMN model TO name")
    altered.write([{"id": "b", "name": "Boeing", "seats": 1}])
    with pytest.raises(PipelineError, match=r"the lookup of dim.planes does not fit: it has no column 'model'"):
        flights(quick, 1, "1,a")


def test_an_empty_dimension(quick):
    declared(quick)
    with pytest.raises(PipelineError, match=r"dim.planes is not in the lake .* load it first"):
        flights(quick, 1, "1,a")
    quick.create("dim.planes")
    with pytest.raises(PipelineError, match=r"ods.flights: it looks up rows of dim.planes, which is empty: load it"):
        quick.load("ods.flights")


def test_rows_of_a_database(quick):
    declared(quick)
    planes(quick, 1, "a,Airbus,100,I")
    source = "{type: database, url: 'sqlite:///f.db', table: f, lookup: [%s]}"
    lookup = "{table: dim.planes, on: {tail: id}, columns: {model: model}, missing: reject}"
    columns = "columns: {flight: BIGINT, tail: STRING, model: STRING}\nprimary_key: flight\n"
    quick.declare("ods.flights", f"{columns}source: {source % lookup}\nrejects: {{max_share: 1}}\n")
    with contextlib.closing(sqlite3.connect(quick.folder / "f.db")) as database:
        database.executescript("CREATE TABLE f (flight INT, tail TEXT); INSERT INTO f VALUES (1, 'a'), (2, 'b')")
    quick.load("ods.flights")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus")]
    assert [row[1:3] for row in rejects(quick)] == [("tail", "dim.planes has no row with id = 'b'")]
