import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.codec.parquet.footer_checksum import is_sealed, sealed
from paimon_core.codec.parquet.thrift import parse_struct, serialize_struct
from paimon_core.datafile.parquet.footer import (
    bytes_as_int96,
    file_end,
    footer_of,
    has_int96,
    int96_as_bytes,
    read_footer,
    repeating_texts,
)

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


def tree_of(data: bytes) -> dict:
    return parse_struct(read_footer(pa.BufferReader(data)), whole=True)


def test_a_footer_survives_its_tree():
    data = parquet(sorting_columns=[pq.SortingColumn(0)], write_page_index=True)
    assert serialize_struct(tree_of(data)) == footer_of(data)[1]


def test_texts_that_repeat_are_distinguished_from_those_that_do_not():
    data = parquet(use_dictionary=["city"])
    assert repeating_texts(pq.read_metadata(pa.BufferReader(data)), ["city", "name"]) == ["city"]


def test_int96_as_bytes_and_back():
    data = parquet(use_deprecated_int96_timestamps=True)
    source = pa.BufferReader(data)
    assert has_int96(pq.read_metadata(source))
    raw = pq.ParquetFile(source, metadata=int96_as_bytes(tree_of(data))).read(["t", "n"])
    assert raw["t"].type == pa.binary(12)
    assert raw["n"].to_pylist() == list(range(ROWS))

    body, footer = footer_of(parquet(raw))
    again = pq.ParquetFile(pa.BufferReader(body + file_end(bytes_as_int96(footer))))
    assert again.read()["t"].equals(TABLE["t"])
    assert again.metadata.num_row_groups == 3


@pytest.mark.parametrize("tree", [{}, {2: (5, 1)}, {2: (9, (12, [{1: (5, 3), 4: (8, b"t")}]))}])
def test_int96_needs_a_schema_and_row_groups(tree):
    with pytest.raises(ValueError, match="lacks a part"):
        int96_as_bytes(tree)


@pytest.mark.parametrize("rows", [0, 1, 8])
def test_a_footer_is_found_whatever_its_length(rows):
    table = pa.table({f"column-{n}": pa.array(range(rows)) for n in range(300)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=max(1, rows // 4))
    data = sink.getvalue().to_pybytes()
    assert read_footer(pa.BufferReader(data)) == footer_of(data)[1]


def test_a_checksum_is_no_matter_to_other_readers():
    body, footer = footer_of(parquet())
    data = body + file_end(sealed(footer))
    assert pq.ParquetFile(pa.BufferReader(data)).read().equals(TABLE)
    assert is_sealed(read_footer(pa.BufferReader(data)))
    assert not is_sealed(read_footer(pa.BufferReader(parquet())))


def test_a_footer_with_a_checksum_is_checked_too():
    """Arrow ends the process at a chunk whose type is not that of the column."""
    body, footer = footer_of(parquet())
    tree = parse_struct(footer)
    tree[4][1][1][0][1][1][1][0][3][1][1] = (5, 1)
    data = body + file_end(sealed(serialize_struct(tree)))
    with pytest.raises(ValueError, match="another type"):
        read_footer(pa.BufferReader(data))


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1PAR1", b"PAR1\x09\0\0\0PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"x" * 40]
)
def test_what_is_no_parquet_file_is_a_value_error(data):
    with pytest.raises(ValueError, match=r"footer|truncated|Parquet"):
        read_footer(pa.BufferReader(data))
