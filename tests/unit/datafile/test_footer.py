import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.datafile.footer import bytes_as_int96, int96_as_bytes, int96_columns, read_footer, repeating_texts
from paimon_core.datafile.thrift import serialize_struct

ROWS = 2000
TABLE = pa.table(
    {
        "n": pa.array(range(ROWS)),
        "city": [f"city-{n % 9}" for n in range(ROWS)],
        "name": [f"name-{n}" for n in range(ROWS)],
        "t": pa.array(range(ROWS), pa.timestamp("ns")),
    }
)


def parquet(table: pa.Table = TABLE, **settings) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=700, **settings)
    return sink.getvalue().to_pybytes()


def test_a_footer_survives_its_tree():
    data = parquet(sorting_columns=[pq.SortingColumn(0)], write_page_index=True)
    length = int.from_bytes(data[-8:-4], "little")
    assert serialize_struct(read_footer(pa.BufferReader(data))) == data[-8 - length : -8]


def test_texts_that_repeat_are_told_from_those_that_do_not():
    data = parquet(use_dictionary=["city"])
    assert repeating_texts(read_footer(pa.BufferReader(data)), ["city", "name"]) == ["city"]


def test_int96_as_bytes_and_back():
    data = parquet(use_deprecated_int96_timestamps=True)
    source = pa.BufferReader(data)
    assert int96_columns(pq.read_metadata(source)) == {"t"}
    raw = pq.ParquetFile(source, metadata=int96_as_bytes(read_footer(source), ["t"])).read(["t", "n"])
    assert raw["t"].type == pa.binary(12)
    assert raw["n"].to_pylist() == list(range(ROWS))

    found: list[pq.FileMetaData] = []
    twelve = parquet(raw, metadata_collector=found)
    again = pq.ParquetFile(pa.BufferReader(twelve + bytes_as_int96(found[0], ["t"])))
    assert again.read()["t"].equals(TABLE["t"])
    assert again.metadata.num_row_groups == 3


@pytest.mark.parametrize("tree", [{}, {2: (5, 1), 4: (5, 1)}, {2: (9, (12, [])), 4: (9, (12, [{1: (5, 7)}]))}])
def test_a_footer_without_its_parts_is_a_value_error(tree):
    with pytest.raises(ValueError, match="lacks a part"):
        repeating_texts(tree, ["t"])


@pytest.mark.parametrize("tree", [{}, {2: (5, 1)}, {2: (9, (12, [{1: (5, 3), 4: (8, b"t")}]))}])
def test_int96_needs_a_schema_and_row_groups(tree):
    with pytest.raises(ValueError, match="lacks a part"):
        int96_as_bytes(tree, ["t"])
