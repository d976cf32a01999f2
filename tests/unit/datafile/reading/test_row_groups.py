import datetime
import decimal

import pyarrow as pa
import pytest

from paimon_core.datafile.reading.row_groups import KeyRange, row_group_keys
from paimon_core.datafile.writing import rolling_writer
from paimon_core.errors import CorruptTable
from tests.support.data_files import STORAGE, Bucket, schema_of

D = decimal.Decimal


def ranges(monkeypatch, types, *columns, group_rows=2):
    """Return the key range of each row group in a file with these key columns."""
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", group_rows)
    names = [f"k{n}" for n in range(len(types))]
    bucket = Bucket(schema_of(dict(zip(names, types, strict=True)), keys=names, options={"bucket": "1"}))
    rows = len(columns[0])
    values = dict(zip(names, columns, strict=True))
    values |= {f"_KEY_{name}": column for name, column in values.items()}
    (file,) = bucket.write(bucket.table(values | {"_SEQUENCE_NUMBER": [0] * rows, "_VALUE_KIND": [0] * rows}))
    return row_group_keys(STORAGE, bucket.path(file), bucket.schema.file_fields[: len(types)])


@pytest.mark.parametrize(
    ("kind", "values", "stored"),
    [
        ("INT", [-5, 7], [-5, 7]),
        ("BIGINT", [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        ("TINYINT", [-128, 127], [-128, 127]),
        ("BOOLEAN", [False, True], [False, True]),
        ("STRING", ["a", "é"], ["a", "é"]),
        ("DECIMAL(9, 2)", [D("-1.50"), D("2.00")], [D("-1.50"), D("2.00")]),
        ("DECIMAL(18, 2)", [D("-1.50"), D("2.00")], [D("-1.50"), D("2.00")]),
        ("DECIMAL(38, 2)", [D("-1.50"), D("2.00")], [D("-1.50"), D("2.00")]),
        ("DATE", [datetime.date(1969, 12, 31), datetime.date(1970, 1, 3)], [-1, 2]),
        ("TIME(3)", [datetime.time(0, 0, 1), datetime.time(0, 0, 2)], [1000, 2000]),
        ("TIMESTAMP(3)", [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 1)], [0, 1000]),
        ("TIMESTAMP(6)", [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 1)], [0, 1_000_000]),
    ],
)
def test_keys_as_storage_values(monkeypatch, kind, values, stored):
    assert ranges(monkeypatch, [kind], values) == [KeyRange((stored[0],), (stored[1],))]


@pytest.mark.parametrize(
    ("kind", "values"), [("DOUBLE", [1.0, float("nan")]), ("BYTES", [b"a", b"b"]), ("TIMESTAMP(9)", [0, 1])]
)
def test_nothing_is_known_of_types_whose_bounds_are_not_of_our_order(monkeypatch, kind, values):
    assert ranges(monkeypatch, [kind], values) == [KeyRange()]


def test_a_further_column_counts_while_those_before_are_constant(monkeypatch):
    found = ranges(monkeypatch, ["INT", "INT", "STRING"], [1, 1, 1, 2, 3, 3], [5, 5, 6, 0, 7, 7], list("abcdef"))
    assert found == [
        KeyRange((1, 5, "a"), (1, 5, "b")),
        KeyRange((1,), (2,)),
        KeyRange((3, 7, "e"), (3, 7, "f")),
    ]


def test_files_that_do_not_say(monkeypatch):
    bucket = Bucket(schema_of({"k": "INT"}, keys=["k"], options={"bucket": "1"}))
    fields = bucket.schema.file_fields[:1]
    silent = bucket.put(pa.table({"_KEY_k": [1, 2]}), "silent.parquet", write_statistics=False)
    other = bucket.put(pa.table({"x": [1, 2]}), "other.parquet")
    nulls = bucket.put(pa.table({"_KEY_k": [None, 2]}), "nulls.parquet")
    for file in (silent, other, nulls):
        assert row_group_keys(STORAGE, bucket.path(file), fields) == [KeyRange()]
    thin = bucket.put(pa.table({"k": [1, 2]}), "thin.parquet")
    assert row_group_keys(STORAGE, bucket.path(thin), fields) == [KeyRange((1,), (2,))]
    broken = bucket.put_bytes(b"PAR1 and no footer PAR1", 1, "broken.parquet")
    with pytest.raises(CorruptTable, match="broken"):
        row_group_keys(STORAGE, bucket.path(broken), fields)
