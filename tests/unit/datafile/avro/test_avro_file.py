import datetime
import io
import json

import fastavro
import pyarrow as pa
import pytest

from paimon_core.codec.avro.container import write_avro
from paimon_core.datafile.avro import avro_file
from paimon_core.errors import CorruptTable, StorageError, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import parse_type
from tests.support.data_files import STORAGE, Bucket, retyped, schema_of


def bucket_of(types, **options):
    return Bucket(
        schema_of(types, options={"file.format": "avro"} | {k.replace("_", "."): v for k, v in options.items()})
    )


def foreign(bucket, schema, records, name="foreign.avro"):
    """Create a file of these fields as another writer would."""
    fields = [{"name": n, "type": t} for n, t in schema.items()]
    data = write_avro({"type": "record", "name": "record", "fields": fields}, records)
    return bucket.put_bytes(data, len(records), name)


def test_other_readers_of_avro_read_the_file():
    bucket = bucket_of({"k": "INT NOT NULL", "m": "STRING", "t": "TIMESTAMP(3)", "d": "DECIMAL(9, 2)"})
    (file,) = bucket.write(bucket.table({"k": [1, 2], "m": ["a", None], "t": [1, None], "d": [5, None]}))
    reader = fastavro.reader(io.BytesIO(STORAGE.read(bucket.path(file))))
    assert reader.metadata["avro.codec"] == "zstandard"
    assert json.loads(reader.metadata["avro.schema"])["namespace"] == "org.apache.paimon.avro.generated"
    rows = list(reader)
    assert [row["t"] for row in rows] == [datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, datetime.UTC), None]
    assert [(row["k"], row["m"]) for row in rows] == [(1, "a"), (2, None)]


@pytest.mark.parametrize(
    ("option", "codec"), [("zstd", "zstandard"), ("snappy", "snappy"), ("gzip", "deflate"), ("none", "null")]
)
def test_codecs(option, codec):
    bucket = bucket_of({"k": "INT"}, file_compression=option)
    (file,) = bucket.write(bucket.table({"k": range(100)}))
    assert codec.encode() in STORAGE.read(bucket.path(file))
    assert bucket.read(file)["k"].to_pylist() == list(range(100))


@pytest.mark.parametrize("step", [100, 1 << 20])
def test_batches_come_in_order_and_as_small_as_asked(monkeypatch, step):
    monkeypatch.setattr(avro_file, "_STEP_BYTES", step)
    bucket = bucket_of({"k": "BIGINT", "s": "STRING"})
    rows = bucket.table({"k": range(5000), "s": [f"{n * 2654435761 % 2**32:x}" for n in range(5000)]})
    (file,) = bucket.write(rows)
    assert bucket.read(file).equals(rows)
    assert bucket.read(file, batch_rows=100, batch_bytes=1).equals(rows)
    assert bucket.read(file, bucket.schema.fields[1:]).equals(rows.select(["s"]))
    later = DataField(9, "later", parse_type("INT"))
    assert bucket.read(file, [later])["later"].null_count == 5000


def test_files_roll_at_the_target_size():
    bucket = bucket_of({"s": "STRING"}, **{"target-file-size": "50 kb", "file.compression": "none"})
    rows = bucket.table({"s": [f"{n * 2654435761 % 2**64:x}" for n in range(30_000)]})
    files = bucket.write(rows)
    assert len(files) > 3
    assert all(50 << 10 <= f.file_size < 200_000 for f in files[:-1])
    assert pa.concat_tables([bucket.read(f) for f in files]).equals(rows)


def test_nulls_and_columns_that_are_not_what_the_schema_says():
    bucket = bucket_of({"k": "INT NOT NULL"})
    with pytest.raises(CorruptTable, match=r"foreign\.avro has no column 'k', which is NOT NULL"):
        bucket.read(foreign(bucket, {"x": "int"}, [{"x": 1}]))
    with pytest.raises(CorruptTable, match=r"foreign\.avro: column 'k' is NOT NULL and has 1 nulls"):
        bucket.read(foreign(bucket, {"k": ["null", "int"]}, [{"k": None}]))
    with pytest.raises(CorruptTable, match=r"foreign\.avro: column 'k' is stored as string"):
        bucket.read(foreign(bucket, {"k": "string"}, [{"k": "a"}]))
    with pytest.raises(CorruptTable, match=r"foreign\.avro.*union of several types"):
        bucket.read(foreign(bucket, {"k": ["int", "string"]}, [{"k": 1}]))


def test_a_later_schema_casts_its_columns():
    bucket = bucket_of({"k": "INT", "t": "TIMESTAMP(3)"})
    (file,) = bucket.write(bucket.table({"k": [1], "t": [datetime.datetime(2020, 1, 1)]}))
    found = bucket.read(file, retyped(bucket.schema, k="BIGINT", t="TIMESTAMP(6)"))
    assert found.to_pylist() == [{"k": 1, "t": datetime.datetime(2020, 1, 1)}]


def test_wrong_counts_and_garbage_are_refused_by_name():
    bucket = bucket_of({"k": "INT"})
    for data in (b"", b"Obj\x01", b"Obj\x01" + b"\xff" * 50):
        with pytest.raises(CorruptTable, match=r"foreign\.avro is not a complete Avro file"):
            bucket.read(bucket.put_bytes(data, 1, "foreign.avro"))
    (file,) = bucket.write(bucket.table({"k": [1]}))
    data = STORAGE.read(bucket.path(file))
    later = [DataField(9, "later", parse_type("INT"))]
    for fields in (None, later):
        with pytest.raises(CorruptTable, match=r"foreign\.avro has 1 rows in its body, not 2"):
            bucket.read(bucket.put_bytes(data, 2, "foreign.avro"), fields)
        with pytest.raises(CorruptTable, match=r"foreign\.avro"):
            bucket.read(bucket.put_bytes(data[:-3], 1, "foreign.avro"), fields)


def test_a_codec_of_others():
    bucket = bucket_of({"k": "INT"})
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "r", "fields": [{"name": "k", "type": "int"}]}, [], codec="null")
    data = out.getvalue().replace(b"\x08null", b"\x06lz4")
    with pytest.raises(UnsupportedFeature, match=r"foreign\.avro: Avro codec lz4"):
        bucket.read(bucket.put_bytes(data, 0, "foreign.avro"))


def test_a_store_that_fails_is_no_damage(monkeypatch):
    class Failing(pa.PythonFile):
        def read(self, size=None):
            raise OSError(5, "Input/output error")

    bucket = bucket_of({"k": "INT"})
    (file,) = bucket.write(bucket.table({"k": [1]}))
    data = STORAGE.read(bucket.path(file))
    monkeypatch.setattr(type(STORAGE), "open_input", lambda self, path: Failing(io.BytesIO(data), "r"))
    with pytest.raises(StorageError, match=r"cannot read .*\.avro"):
        bucket.read(file)
