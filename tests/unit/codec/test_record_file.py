"""The records of manifests in Avro, ORC and Parquet."""

import datetime
import io

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from paimon_core.codec.avro.container import write_avro
from paimon_core.codec.record_file import read_records, unpacked_blocks
from paimon_core.errors import CorruptTable

FILE = pa.struct(
    [("_FILE_NAME", pa.string()), ("_CREATION_TIME", pa.timestamp("ms")), ("_COUNTS", pa.list_(pa.int64()))]
)
TABLE = pa.table(
    {
        "_VERSION": pa.array([2], pa.int32()),
        "_PARTITION": pa.array([b"\0\1"]),
        "_FILE": pa.array(
            [{"_FILE_NAME": "data-ü", "_CREATION_TIME": datetime.datetime(2024, 1, 15), "_COUNTS": [1, None]}], FILE
        ),
    }
)
RECORD = {
    "_VERSION": 2,
    "_PARTITION": b"\0\1",
    "_FILE": {"_FILE_NAME": "data-ü", "_CREATION_TIME": 1705276800000, "_COUNTS": [1, None]},
}


def written(kind: str, table: pa.Table = TABLE) -> bytes:
    sink = io.BytesIO()
    (orc if kind == "orc" else pq).write_table(table, sink)
    return sink.getvalue()


@pytest.mark.parametrize("kind", ["orc", "parquet"])
def test_records_in_columns_are_those_of_avro(kind):
    assert read_records(written(kind), "m") == [RECORD]
    (found,) = unpacked_blocks(written(kind), "m")
    assert "data-ü".encode() in found


def test_avro_is_the_default():
    schema = {"type": "record", "name": "r", "fields": [{"name": "name", "type": "string"}]}
    assert read_records(write_avro(schema, [{"name": "x"}]), "m") == [{"name": "x"}]
    assert b"x" in unpacked_blocks(write_avro(schema, [{"name": "x"}], "none"), "m")[0]


@pytest.mark.parametrize("kind", ["orc", "parquet"])
def test_a_torn_file_is_corrupt(kind):
    with pytest.raises(CorruptTable, match="manifest-1 does not decode"):
        read_records(written(kind)[:-9], "manifest-1")


@pytest.mark.parametrize("kind", ["orc", "parquet"])
def test_more_records_than_bytes_are_not_unpacked(kind):
    many = pa.table({"_VERSION": pa.array([2] * 1_000_000, pa.int32())})
    with pytest.raises(CorruptTable, match=r"manifest-1.*states 1000000 records"):
        read_records(written(kind, many), "manifest-1")
