"""Files in ORC and Avro: Java reads ours, we read Java's, by table, by level and of changelogs."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from tests.interop.test_java_both_ways import ALL, NANOS, VALUES, agree, arrow_column, name_of
from tests.interop.test_nested_types import ARROW, JAVA, JSON, ROWS
from tests.support.java_rows import json_rows

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])
FORMATS = ["orc", "avro"]
KEYED = {"bucket": "1", "write-only": "true"}


def new_catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def formats(table):
    """The formats of the files of each level."""
    files = table.inspect.files()
    found = {}
    for level, name in zip(files["level"].to_pylist(), files["file_name"].to_pylist(), strict=True):
        found.setdefault(level, set()).add(name.rpartition(".")[2])
    return found


def held_by(kind):
    return [text for text in ALL if kind == "orc" or text not in NANOS]


def every_type(kind, rows=2):
    """A key and a column of each type that the format holds, with nulls in the last row."""
    texts = held_by(kind)
    columns = {"k": pa.array(range(rows + 1), pa.int32())}
    columns |= {name_of(t): arrow_column(t, [*ALL[t][:rows], None]) for t in texts}
    return pa.table(columns), {name_of(t): t for t in texts}


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("kind", FORMATS)
def test_every_type_in_both_directions(oracle, warehouse, kind, keyed):
    catalog = new_catalog(warehouse)
    rows, types = every_type(kind)
    options = {"file.format": kind} | (KEYED if keyed else {})
    key = {"primary_key": ["k"]} if keyed else {}
    ours = catalog.create_table("db.ours", rows.schema, types={"k": "INT", **types}, options=options, **key)
    ours.write(rows)
    assert formats(ours) == {0: {kind}}
    agree(oracle, warehouse, ours, rows, name="db.ours")
    fields = [{"name": "k", "type": "INT NOT NULL"}, *({"name": n, "type": t} for n, t in types.items())]
    create = {"op": "create", "table": "db.theirs", "fields": fields, "options": options}
    create |= {"primaryKeys": ["k"]} if keyed else {}
    oracle.run(warehouse, [create, {"op": "write", "table": "db.theirs", "rows": json_rows(rows)}])
    theirs = catalog.table("db.theirs")
    assert formats(theirs) == {0: {kind}}
    agree(oracle, warehouse, theirs, rows, name="db.theirs")
    assert theirs.scan(where=col("k") == 1).to_arrow().num_rows == 1
    wanted = theirs.scan(["c_string"], where=col("c_string").is_null()).to_arrow()
    assert wanted.to_pylist() == [{"c_string": None}]
    if keyed:
        oracle.run(warehouse, [{"op": "compact", "table": "db.ours"}])
        theirs.compact(full=True)
        agree(oracle, warehouse, ours, rows, name="db.ours")
        agree(oracle, warehouse, theirs, rows, name="db.theirs")
