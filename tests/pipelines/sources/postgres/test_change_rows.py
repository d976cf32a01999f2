"""Changes as rows of a table with kinds, and rejects; the rows of the table itself are given."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.types import parse_type
from paimon_lake.protocol import KIND
from paimon_lake.sources.database_rows import rows_of_database
from paimon_lake.sources.files.columns import arrow_field
from paimon_lake.sources.postgres.change_rows import ChangeRows, batch_of_changes
from paimon_lake.sources.postgres.pgoutput import UNCHANGED, LastChange

TYPES = {"id": ("int4", "BIGINT"), "n": ("numeric", "DECIMAL(3, 1)"), "t": ("text", "STRING")}


def change_rows(*required):
    names = list(TYPES)
    source = pa.schema([pa.field(n, pa.string(), metadata={"POSTGRESQL:type": TYPES[n][0]}) for n in names])
    schema = pa.schema([arrow_field(n, parse_type(TYPES[n][1])) for n in names])
    rows = rows_of_database("db s.o", source, schema, frozenset(("id", *required)), is_postgresql=True)
    return ChangeRows(rows, ("id",))


def parsed(changes, current=None, required=()):
    batch = batch_of_changes(dict(enumerate(changes)), 3, [0])
    found = change_rows(*required).parsed(batch, current)
    rows = [
        tuple(str(v) if name == "n" and v is not None else v for name, v in r.items()) for r in found.rows.to_pylist()
    ]
    assert found.rows.schema.names == ["id", "n", "t", KIND]
    assert found.read == len(rows) + len(found.rejects)
    return rows, [(r["line"], r["column"], r["reason"]) for r in found.rejects.to_pylist()], found


def test_rows_and_deletions():
    changes = [LastChange((b"1", b"1.5", b"a"), 7), LastChange((b"2", None, None), 8, is_delete=True)]
    assert parsed(changes)[:2] == ([(1, "1.5", "a", "+U"), (2, None, None, "-D")], [])


def test_deletions_have_values_where_null_is_not_allowed():
    rows, rejects, _ = parsed([LastChange((b"2", None, None), 8, is_delete=True)], required=("n", "t"))
    assert (rows, rejects) == ([(2, "0.0", "", "-D")], [])


def test_a_row_that_does_not_fit_is_rejected_and_removed_from_the_table():
    changes = [LastChange((b"1", b"1.55", b"a"), 7), LastChange((b"2", b"1", b"b"), 8)]
    rows, rejects, found = parsed(changes, required=("t",))
    assert rows == [(1, None, "", "-D"), (2, "1.0", "b", "+U")]
    assert found.removals == 1
    assert rejects == [(7, "n", "'1.55' is not valid for DECIMAL(3, 1)")]
    assert json.loads(found.rejects["raw"][0].as_py()) == {"id": 1, "n": "1.55", "t": "a"}
    rows, rejects, _ = parsed([LastChange((b"1", b"1", None), 7)], required=("t",))
    assert (rows, rejects) == ([(1, None, "", "-D")], [(7, "t", "null in a column that must not be null")])


def test_a_row_whose_key_does_not_fit_is_only_rejected():
    for change in (LastChange((None, b"1", b"a"), 7), LastChange((None, None, None), 7, is_delete=True)):
        rows, rejects, _ = parsed([change])
        assert (rows, rejects) == ([], [(7, "id", "null in a column that must not be null")])


def test_unchanged_values_are_those_of_the_table():
    asked = []

    def current(keys, columns):
        asked.append((keys.to_pydict(), columns))
        return pa.table({"t": ["stored", None, None]}), np.array([True, False, False])

    changes = [
        LastChange((b"4", b"1", UNCHANGED), 7, (b"3",)),
        LastChange((b"5", b"1", b"new"), 8),
        LastChange((b"6", b"1", UNCHANGED), 9, (b"6",)),
    ]
    rows, rejects, _ = parsed(changes, current)
    assert asked == [({"id": [3, None, 6]}, ["t"])]
    assert rows == [(4, "1.0", "stored", "+U"), (5, "1.0", "new", "+U"), (6, None, None, "-D")]
    ((line, column, reason),) = rejects
    assert (line, column) == (9, "t")
    assert reason.startswith("the log does not repeat this large value, and the row is not in the table")


@pytest.mark.parametrize("required", [(), ("t",)])
def test_a_stored_null_is_no_lost_value(required):
    def current(keys, columns):
        return pa.table({"t": pa.array([None], pa.string())}), np.array([True])

    rows, rejects, _ = parsed([LastChange((b"4", b"1", UNCHANGED), 7, (b"4",))], current, required)
    assert (len(rows), [reject[2] for reject in rejects]) == (
        1,
        ["null in a column that must not be null"] if required else [],
    )


def test_no_changes():
    assert parsed([])[:2] == ([], [])
