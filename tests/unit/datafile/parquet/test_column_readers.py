"""Texts are decoded with 64-bit offsets, in a second reader beside dictionaries; rows and types are the same."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.datafile.parquet import column_readers as readers_room
from paimon_core.datafile.parquet.column_readers import ColumnReader, column_readers, decoded_batches
from paimon_core.types import parse_type

COUNT = readers_room._MANY_ROWS
TYPES = {"k": "BIGINT", "t": "STRING", "b": "BYTES", "c": "STRING", "s": "ROW<x STRING, y INT>", "l": "ARRAY<STRING>"}
WANTED = {name: parse_type(text) for name, text in TYPES.items()}


def rows_of(count):
    at = np.arange(count)
    texts = [None if n % 7 == 0 else f"tëxt {n}" for n in range(count)]
    return pa.table(
        {
            "k": at,
            "t": pa.array(texts),
            "b": pa.array([None if n % 5 == 0 else bytes([n % 256]) * (n % 4) for n in range(count)], pa.binary()),
            "c": pa.array([f"city {n % 9}" for n in range(count)]),
            "s": pa.array([{"x": f"x{n}", "y": n} for n in range(count)]),
            "l": pa.array([[f"l{n}"] * (n % 3) for n in range(count)]),
        }
    )


def file_of(rows, groups=1):
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, store_schema=False, use_dictionary=["c"], row_group_size=-(-len(rows) // groups))
    source = pa.BufferReader(sink.getvalue())
    return source, pq.read_metadata(source)


def opened(source, metadata, wanted=WANTED, dictionaries=("c",)):
    return column_readers(source, metadata, metadata.schema.to_arrow_schema(), wanted, dictionaries)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("batch_rows", [1000, 7_777, 100_000])
def test_two_readers_give_the_rows_of_one(groups, batch_rows):
    rows = rows_of(COUNT)
    source, metadata = file_of(rows, groups)
    readers = opened(source, metadata)
    assert [list(r.columns) for r in readers] == [["k", "t", "b"], ["c", "s", "l"]]
    found = list(decoded_batches(readers, list(range(groups)), batch_rows, use_threads=True))
    assert {str(b.schema.field("t").type) for b in found} == {"string"}
    assert {str(b.schema.field("b").type) for b in found} == {"binary"}
    assert all(pa.types.is_dictionary(b.schema.field("c").type) for b in found)
    assert max(map(len, found)) <= batch_rows
    plain = [b.set_column(b.schema.names.index("c"), "c", b["c"].cast(pa.string())) for b in found]
    joined = pa.Table.from_batches(plain).select(rows.column_names)
    assert joined.equals(rows.cast(joined.schema))


def test_one_reader_where_a_second_saves_nothing():
    source, metadata = file_of(rows_of(COUNT - 1))
    assert len(opened(source, metadata)) == 1
    source, metadata = file_of(rows_of(COUNT))
    assert len(opened(source, metadata, {"k": WANTED["k"], "c": WANTED["c"]})) == 1
    (reader,) = opened(source, metadata, {"t": WANTED["t"]}, ())
    assert reader.columns == ["t"]
    (batch,) = decoded_batches([reader], [0], COUNT, use_threads=False)
    assert batch.schema.types == [pa.string()]


def test_readers_with_different_numbers_of_rows_are_an_error():
    (one, first), (two, second) = file_of(rows_of(10)), file_of(rows_of(11))
    readers = [
        ColumnReader(pq.ParquetFile(one, metadata=first), ["k"]),
        ColumnReader(pq.ParquetFile(two, metadata=second), ["t"]),
    ]
    with pytest.raises(pa.ArrowInvalid, match="different numbers of rows"):
        list(decoded_batches(readers, [0], 100, use_threads=False))
