"""Loads with lookups: columns of another table, rows without a row there, and rows that wait for it."""

from __future__ import annotations

PLANES = """\
columns: {id: STRING, model: STRING, seats: INT}
primary_key: id
source: {type: files, path: "planes/*.csv"}
"""
FLIGHTS = """\
columns: {flight: BIGINT, tail: STRING, model: STRING}
%s
source:
  type: files
  path: "flights/*.csv"
  lookup:
    - {table: dim.planes, on: {tail: id}, columns: {model: model}, %s}
rejects: {max_share: 1}
"""
KEYED = "primary_key: flight"


def declared(lake, key=KEYED, rule="missing: null"):
    lake.declare("dim.planes", PLANES)
    lake.declare("ods.flights", FLIGHTS % (key, rule))
    return lake


def planes(lake, name, *rows):
    lake.file(f"planes/{name}.csv", "id,model,seats\n" + "".join(f"{row}\n" for row in rows))
    return lake.load("dim.planes")


def flights(lake, name, *rows):
    lake.file(f"flights/{name}.csv", "flight,tail\n" + "".join(f"{row}\n" for row in rows))
    return lake.load("ods.flights")


def test_a_row_without_a_row_gets_nulls(quick):
    declared(quick)
    planes(quick, 1, "a,Airbus,100", "b,Boeing,200")
    result = flights(quick, 1, "1,a", "2,c", "3,", "4,b")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (2, "c", None), (3, None, None), (4, "b", "Boeing")]
    assert result.details["rows_without_dim.planes"] == 2


def test_wait(quick):
    declared(quick, KEYED, "missing: wait, max_wait: 2 d")
    planes(quick, 1, "a,Airbus,100", "b,Boeing,200")
    result = flights(quick, 1, "1,a", "2,c", "3,", "4,b")
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (3, None, None), (4, "b", "Boeing")]
    print(result.sentence(), result.details)
    result = quick.load("ods.flights")
    print(result.sentence(), result.details)
    planes(quick, 2, "c,Comet,7")
    result = quick.load("ods.flights")
    print(result.sentence(), result.details)
    assert quick.rows("ods.flights") == [(1, "a", "Airbus"), (2, "c", "Comet"), (3, None, None), (4, "b", "Boeing")]
