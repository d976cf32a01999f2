import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.read.bucket_reader import WINDOW_ROWS, _rows_of_run
from paimon_core.schema import DataField
from paimon_core.types import parse_type

ROWS = 70_000
"""Enough rows for repeated texts to be decoded as dictionaries."""

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("city", pa.string())])


def rows(first, city):
    ids = range(first, first + ROWS)
    return pa.table({"id": ids, "city": [None if n % 5 == 0 else f"{city}{n % 3}" for n in ids]})


@pytest.mark.parametrize("options", [{}, {"sequence.field": "city"}])
def test_texts_that_repeat_are_merged_whether_they_decide_or_not(warehouse, options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true", **options}
    table = catalog.create_table("db.t", COLUMNS, primary_key=["id"], options=options)
    old, new = rows(0, "a"), rows(ROWS // 2, "b")
    for batch in (old, new, new.slice(1, 1)):
        table.write(batch)
    expected = pa.concat_tables([old.slice(0, ROWS // 2), new]).cast(COLUMNS)
    assert table.scan().to_arrow().sort_by("id").equals(expected)
    table.compact(full=True)
    assert table.scan().to_arrow().equals(expected)


@pytest.mark.parametrize(
    ("types", "rows"),
    [
        (["INT", "DECIMAL(20, 3)", "BOOLEAN"], 4 * WINDOW_ROWS),
        (["INT", "STRING"], WINDOW_ROWS),
    ],
)
def test_only_columns_of_known_width_are_read_in_large_windows(types, rows):
    assert _rows_of_run([DataField(n, f"c{n}", parse_type(t)) for n, t in enumerate(types)]) == rows
