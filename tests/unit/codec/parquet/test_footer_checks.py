import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.codec.parquet.footer_checks import check_footer, leaves_of
from paimon_core.codec.parquet.thrift import BINARY, I32, I64, LIST, STRUCT, Struct, parse_struct
from paimon_core.datafile.parquet.footer import footer_of
from paimon_core.limits import STORED_DEPTH

TABLE = pa.table(
    {
        "n": pa.array([1, None, 3], pa.int32()),
        "s": ["a", None, "c"],
        "l": [[1, 2], None, [3]],
        "r": [{"x": 1, "y": {"z": "a"}}, None, {"x": 2, "y": None}],
    }
)
ROOT, NUMBER = 0, 1


def footer(**settings) -> tuple[Struct, int]:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, row_group_size=2, **settings)
    before, raw = footer_of(sink.getvalue().to_pybytes())
    return parse_struct(raw), len(before)


def element(tree: Struct, number: int) -> Struct:
    return tree[2][1][1][number]


def group(tree: Struct, number: int = 0) -> Struct:
    return tree[4][1][1][number]


def chunk(tree: Struct, column: int = 0, number: int = 0) -> Struct:
    return group(tree, number)[1][1][1][column][3][1]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"version": "1.0", "data_page_version": "2.0", "compression": "zstd", "use_dictionary": False},
        {"write_page_index": True, "sorting_columns": [pq.SortingColumn(0)], "write_statistics": ["n"]},
        {"store_schema": False, "use_byte_stream_split": False, "column_encoding": None},
    ],
)
def test_a_footer_of_another_writer_is_taken(settings):
    check_footer(*footer(**settings))


FAULTS = {
    "encrypted": lambda t: t.update({8: (STRUCT, {})}),
    "lacks field 2": lambda t: t.pop(2),
    "lacks field 4": lambda t: t.pop(4),
    "lacks field 3": lambda t: t.pop(3),
    "field 3 of the file": lambda t: t.update({3: (BINARY, b"3")}),
    "4 rows, and its row groups have 3": lambda t: t.update({3: (I64, 4)}),
    "not a tree": lambda t: element(t, ROOT).update({5: (I32, 5)}),
    "schema that is not a tree": lambda t: element(t, ROOT).update({5: (I32, 3)}),
    "schema of -1 columns": lambda t: element(t, ROOT).update({5: (I32, -1)}),
    "repetition 3": lambda t: element(t, NUMBER).update({3: (I32, 3)}),
    "type 8": lambda t: element(t, NUMBER).update({1: (I32, 8)}),
    "another type or path in a row group": lambda t: element(t, NUMBER).update({4: (BINARY, b"m")}),
    "can't decode": lambda t: element(t, NUMBER).update({4: (BINARY, b"\xff")}),
    "4 chunks for 5": lambda t: group(t)[1][1][1].pop(),
    "-2 rows": lambda t: group(t).update({3: (I64, -2)}),
    "another file": lambda t: group(t)[1][1][1][0].update({1: (BINARY, b"x")}),
    "3 values in 2": lambda t: chunk(t).update({5: (I64, 3)}),
    "field 9 of the file": lambda t: group(t)[1][1][1][0].update({9: (I32, 1)}),
    "codec 8": lambda t: chunk(t).update({4: (I32, 8)}),
    "encodings": lambda t: chunk(t).update({2: (LIST, (I32, [99]))}),
    "dictionary after its data": lambda t: chunk(t).update({11: (I64, 10**6)}),
    "overlaps another one": lambda t: chunk(t).update({7: (I64, -1)}),
    "ends at": lambda t: chunk(t, 4, 1).update({7: (I64, 10**6)}),
    "histogram": lambda t: chunk(t).update({16: (STRUCT, {3: (LIST, (I64, [1, 1, 0]))})}),
    "3 nulls of 2": lambda t: chunk(t)[12][1].update({3: (I64, 3)}),
    "not of 4 bytes": lambda t: chunk(t)[12][1].update({5: (BINARY, b"\0" * 8)}),
    "two different minimums": lambda t: chunk(t)[12][1].update({6: (BINARY, b"\0" * 4)}),
    "greater than the maximum": lambda t: chunk(t, 1)[12][1].update({6: (BINARY, b"z")}),
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_fault_is_named(message):
    tree, end = footer()
    FAULTS[message](tree)
    with pytest.raises(ValueError, match=message):
        check_footer(tree, end)


@pytest.mark.parametrize(("depth", "is_read"), [(STORED_DEPTH, True), (STORED_DEPTH + 1, False)])
def test_columns_are_nested_at_most_so_deep(depth, is_read):
    groups = [{3: (I32, 0), 4: (BINARY, b"g"), 5: (I32, 1)}] * depth
    elements = [{4: (BINARY, b"root"), 5: (I32, 1)}, *groups, {1: (I32, 1), 3: (I32, 0), 4: (BINARY, b"n")}]
    if is_read:
        (leaf,) = leaves_of(elements)
        assert len(leaf.path) == depth + 1
    else:
        with pytest.raises(ValueError, match=f"a schema of 1 columns {depth} deep"):
            leaves_of(elements)
