import datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from paimon_core.arrow import conform, gather, read_tables
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.types import parse_type


def fields(**types: str) -> list[DataField]:
    return [DataField(n, name, parse_type(text)) for n, (name, text) in enumerate(types.items())]


ONE = fields(k="BIGINT")


def read(data, wanted=ONE, size=1 << 20):
    return [row for table in read_tables(data, wanted, size) for row in conform(table, wanted).to_pylist()]


@pytest.mark.parametrize(
    "data",
    [
        lambda: ({"k": n} for n in range(3)),
        lambda: iter(
            [pa.table({"k": [0]}), pa.record_batch({"k": pa.array([1], pa.uint8())}), pl.DataFrame({"k": [2]})]
        ),
        lambda: iter([{"k": 0}, pd.DataFrame({"k": [1]}), {"k": 2}]),
        lambda: pl.LazyFrame({"k": [0, 1]}).select(pl.col("k").append(2)),
        lambda: pa.StructArray.from_arrays([pa.array([0, 1, 2])], ["k"]),
        lambda: pd.DataFrame({"k": pd.Categorical([0, 1, 2])}),
    ],
    ids=["dicts", "batches", "mixed", "lazy", "struct", "categorical"],
)
def test_rows_in_any_form(data):
    assert read(data()) == [{"k": 0}, {"k": 1}, {"k": 2}]


def test_a_generator_is_read_in_parts():
    taken = []

    def rows():
        for n in range(40_000):
            taken.append(n)
            yield {"k": n}

    tables = read_tables(rows(), ONE, 1 << 17)
    assert len(next(tables)) == len(taken) == 1 << 14
    assert sum(map(len, tables)) == 40_000 - (1 << 14)


def test_combined_batches_do_not_exceed_the_size():
    batches = [pa.record_batch([["x" * 300] * n], names=["s"]) for n in (2, 2, 3, 1)]
    assert [len(table) for table in gather(batches, 1216)] == [4, 4]
    assert [len(table) for table in gather(batches, 1000)] == [2, 2, 3, 1]


def test_an_error_in_a_generator_has_the_number_of_the_row():
    rows = ({"k": "x" if n == 20_000 else n} for n in range(30_000))
    with pytest.raises(SchemaMismatch, match="row 20000: 'x' is a str"):
        list(read_tables(rows, ONE))


@pytest.mark.parametrize("data", [iter([5]), iter([{"k": 1}, 5]), object()])
def test_other_things_are_refused(data):
    with pytest.raises(InvalidRequest, match="Arrow stream"):
        list(read_tables(data, ONE))


def test_forms_of_arrow_are_matched_by_the_schema():
    wanted = fields(
        c="STRING",
        e="VARCHAR(3)",
        u="SMALLINT",
        v="STRING",
        l="ARRAY<STRING>",
        r="ROW<a INT, b ROW<x INT, y STRING>>",
        m="BIGINT",
    )
    data = pl.DataFrame(
        {
            "r": [{"b": {"y": "t", "x": 1}, "a": 5}, None],
            "l": pl.Series([["a"], None], dtype=pl.List(pl.Categorical)),
            "u": pl.Series([1, 2**15 - 1], dtype=pl.UInt64),
            "e": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
            "c": pl.Series(["x", "y"], dtype=pl.Categorical),
            "v": ["s", None],
        }
    )
    assert read(data, wanted) == [
        {"c": "x", "e": "a", "u": 1, "v": "s", "l": ["a"], "r": {"a": 5, "b": {"x": 1, "y": "t"}}, "m": None},
        {"c": "y", "e": "b", "u": 2**15 - 1, "v": None, "l": None, "r": None, "m": None},
    ]
    with pytest.raises(SchemaMismatch, match=r"'u'.*row is 1: 32768"):
        read(pl.DataFrame({"u": pl.Series([1, 2**15], dtype=pl.UInt64)}), wanted)


def test_members_of_lists_and_maps_of_any_form():
    wanted = fields(l="ARRAY<ROW<a INT, b STRING>>", m="MAP<STRING, ROW<a INT>>", f="ARRAY<INT>", t="TIME(3)", d="DATE")
    inner = pa.struct([("b", pa.large_string()), ("a", pa.uint8())])
    data = pa.table(
        {
            "l": pa.array([[{"b": "x", "a": 1}], [], None], pa.large_list(inner)),
            "m": pa.array([[("k", {})], None, []], pa.map_(pa.string(), pa.struct([]))),
            "f": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
            "t": pa.array([0, 86_399_999_000_000, None], pa.time64("ns")),
            "d": pa.array([0, None, 86_400_000], pa.date64()),
        }
    )
    rows = read(data.slice(1), wanted)
    assert rows == read(data, wanted)[1:]
    assert read(data, wanted)[0] == {
        "l": [{"a": 1, "b": "x"}],
        "m": [("k", {"a": None})],
        "f": [1, 2],
        "t": datetime.time(0),
        "d": datetime.date(1970, 1, 1),
    }
    with pytest.raises(SchemaMismatch, match=r"'t'.*row is 2"):
        read(pa.table({"t": pa.array([0, 0, 1], pa.time64("us"))}), wanted)


def test_a_batch_is_cut_by_the_bytes_of_its_decoded_rows():
    numbers = pa.array([0] * 1000, pa.int32())
    for values in (pa.array(["x" * 1000]), pa.array(["x" * 1000], pa.large_string()), pa.array([[1] * 125])):
        column = pa.DictionaryArray.from_arrays(numbers, values)
        for data in (column, pa.ListArray.from_arrays(list(range(1001)), column)):
            tables = list(read_tables(pa.table({"k": data}), ONE, 100_000))
            assert all(len(table) <= 200 for table in tables)  # two parts
            assert sum(map(len, tables)) == 1000
