import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest

COLUMNS = pa.schema([("k", pa.int32()), ("total", pa.int32()), ("most", pa.string()), ("s", pa.int32())])
FUNCTIONS = {"fields.total.aggregate-function": "sum", "fields.most.aggregate-function": "max"}


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return lambda **options: catalog.create_table(
        "db.t",
        COLUMNS,
        primary_key=["k"],
        options={"bucket": "1", "merge-engine": "aggregation", "write-only": "true"} | FUNCTIONS | options,
    )


def rows(*values):
    return pa.Table.from_pylist([dict(zip(COLUMNS.names, row, strict=True)) for row in values], schema=COLUMNS)


def read(table):
    return table.scan().to_arrow().sort_by("k").cast(COLUMNS)


def test_commits_add_up_and_stay_so_after_a_compaction(table):
    made = table()
    made.write(rows((1, 5, "a", None), (1, 6, "b", 1), (2, 1, "x", 2)))
    made.write(rows((1, -1, None, None), (3, 7, "c", 3)))
    expected = rows((1, 10, "b", 1), (2, 1, "x", 2), (3, 7, "c", 3))
    assert read(made) == expected
    made.compact(full=True)
    assert read(made) == expected
    assert made.scan(columns=["most"]).to_arrow()["most"].to_pylist() == ["b", "x", "c"]


def test_a_column_is_read_alone_in_the_order_of_another(table):
    made = table(**{"sequence.field": "s", "fields.total.aggregate-function": "last_value"})
    made.write(rows((1, 5, "a", 2)))
    made.write(rows((1, 6, "b", 1)))
    assert made.scan(columns=["total"]).to_arrow().to_pydict() == {"total": [5]}


def test_retracts_that_could_not_be_merged_are_refused_at_write(table):
    made = table()
    for kind in ("-U", "-D"):
        with pytest.raises(InvalidRequest, match="the aggregate function of column 'most' cannot retract values"):
            made.write(rows((1, 5, "a", 1)), kinds=pa.array([kind]))
    assert made.scan().count() == 0


def test_deletes_that_remove_are_taken_but_not_updates_before(table):
    made = table(**{"aggregation.remove-record-on-delete": "true"})
    made.write(rows((1, 5, "a", 1), (2, 5, "b", 1)))
    made.write(rows((1, 5, "a", 1)), kinds=pa.array(["-D"]))
    assert read(made) == rows((2, 5, "b", 1))
    with pytest.raises(InvalidRequest, match="column 'most'"):
        made.write(rows((2, 5, "b", 1)), kinds=pa.array(["-U"]))


def test_ignored_deletes_are_taken(table):
    made = table(**{"ignore-delete": "true"})
    made.write(rows((1, 5, "a", 1)))
    made.write(rows((1, 5, "a", 1), (1, 2, None, None)), kinds=pa.array(["-D", "+I"]))
    assert read(made) == rows((1, 7, "a", 1))
