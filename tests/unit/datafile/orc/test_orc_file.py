import datetime

import pyarrow as pa
import pytest
from pyarrow import orc

from paimon_core.datafile.evolution.column_mapping import match_columns
from paimon_core.datafile.orc import orc_file
from paimon_core.errors import CorruptTable, InvalidRequest, StorageError, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import parse_type
from tests.support.data_files import STORAGE, Bucket, retyped, schema_of

OPTIONS = {"file.format": "orc"}


def bucket_of(types, **options):
    return Bucket(schema_of(types, options=OPTIONS | {k.replace("_", "."): v for k, v in options.items()}))


def orc_of(bucket, file):
    return orc.ORCFile(STORAGE.open_input(bucket.path(file)))


def foreign(bucket, table, name="foreign.orc"):
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink)
    return bucket.put_bytes(sink.getvalue().to_pybytes(), len(table), name)


def test_columns_carry_field_ids_and_a_time_is_an_integer():
    bucket = bucket_of({"k": "INT NOT NULL", "t": "TIME(3)"})
    (file,) = bucket.write(bucket.table({"k": [1], "t": [datetime.time(0, 0, 1)]}))
    held = orc_of(bucket, file).schema
    assert [(f.name, f.type, f.metadata) for f in held] == [
        ("k", pa.int32(), {b"paimon.id": b"0"}),
        ("t", pa.int32(), {b"paimon.id": b"1"}),
    ]
    assert bucket.read(file)["t"].to_pylist() == [datetime.time(0, 0, 1)]


@pytest.mark.parametrize(
    ("option", "codec"),
    [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("gzip", "ZLIB"), ("lz4", "LZ4"), ("none", "UNCOMPRESSED")],
)
def test_codecs(option, codec):
    bucket = bucket_of({"k": "INT"}, file_compression=option)
    (file,) = bucket.write(bucket.table({"k": range(100)}))
    assert orc_of(bucket, file).compression == codec
    assert bucket.read(file)["k"].to_pylist() == list(range(100))


def test_batches_come_in_order_and_as_small_as_asked(monkeypatch):
    monkeypatch.setattr(orc_file, "STRIPE_BYTES", 1 << 12)
    bucket = bucket_of({"k": "BIGINT", "s": "STRING"})
    rows = bucket.table({"k": range(20_000), "s": [f"{n * 2654435761 % 2**32:x}" for n in range(20_000)]})
    (file,) = bucket.write(rows)
    assert orc_of(bucket, file).nstripes > 1
    assert bucket.read(file, batch_rows=100).equals(rows)
    assert bucket.read(file, batch_bytes=1).equals(rows)
    later = DataField(9, "later", parse_type("INT"))
    assert bucket.read(file, [later])["later"].null_count == 20_000


def test_files_roll_at_the_target_size(monkeypatch):
    monkeypatch.setattr(orc_file, "STRIPE_BYTES", 1 << 12)
    bucket = bucket_of({"s": "STRING"}, **{"target-file-size": "50 kb"})
    rows = bucket.table({"s": [f"{n * 2654435761 % 2**64:x}" for n in range(30_000)]})
    files = bucket.write(rows)
    assert len(files) > 1
    assert all(f.file_size < 100_000 for f in files)
    assert [f.file_size for f in files] == [len(STORAGE.read(bucket.path(f))) for f in files]
    assert pa.concat_tables([bucket.read(f) for f in files]).equals(rows)


@pytest.mark.parametrize("kind", ["INT", "STRING", "ARRAY<ROW<b INT>>", "ROW<c ROW<d BYTES>>", "MAP<INT, STRING>"])
def test_values_behind_a_null_row_inside_a_row(kind):
    """Arrow alone writes such rows wrongly: a later row takes the values of the null one."""
    value = {"INT": 5, "STRING": "0", "ARRAY<ROW<b INT>>": [{"b": 1}], "MAP<INT, STRING>": [(1, "x")]}
    bucket = bucket_of({"r": f"ROW<a ROW<v {kind}>>"})
    found = value.get(kind, {"c": {"d": b"1"}})
    rows = [{"a": None}, {"a": {"v": found}}, {"a": None}, {"a": {"v": None}}, {"a": {"v": found}}]
    (file,) = bucket.write(bucket.table({"r": rows}))
    assert bucket.read(file)["r"].to_pylist() == rows


def test_blanks_that_fill_a_char_are_no_part_of_it():
    bucket = bucket_of({"c": "CHAR(4)", "v": "VARCHAR(4)"})
    file = foreign(bucket, pa.table({"c": ["ab  ", None], "v": ["ab  ", "x"]}))
    assert bucket.read(file).to_pydict() == {"c": ["ab", None], "v": ["ab  ", "x"]}


def test_a_reader_that_stops_early_does_no_harm():
    bucket = bucket_of({"k": "INT"})
    (file,) = bucket.write(bucket.table({"k": range(50_000)}))
    for _ in range(5):
        source = STORAGE.open_input(bucket.path(file))
        batches = orc_file.OrcInput(source, "f", legacy_ltz=True).batches(
            {"k": bucket.schema.fields[0].type},
            None,
            batch_rows=10,
            batch_bytes=1 << 20,
            use_threads=True,
        )
        next(batches)
        batches.close()
        source.close()


def test_a_missing_not_null_column_and_a_null_in_one():
    bucket = bucket_of({"k": "INT NOT NULL"})
    with pytest.raises(CorruptTable, match=r"foreign\.orc has no column 'k', which is NOT NULL"):
        bucket.read(foreign(bucket, pa.table({"x": pa.array([1], pa.int32())})))
    with pytest.raises(CorruptTable, match=r"foreign\.orc: column 'k' is NOT NULL and has 1 nulls"):
        bucket.read(foreign(bucket, pa.table({"k": pa.array([None], pa.int32())})))
    with pytest.raises(CorruptTable, match=r"foreign\.orc: column 'k' is stored as string"):
        bucket.read(foreign(bucket, pa.table({"k": ["a"]})))


def test_a_later_schema_casts_its_columns():
    bucket = bucket_of({"k": "INT", "t": "TIMESTAMP(3)"})
    (file,) = bucket.write(bucket.table({"k": [1], "t": [datetime.datetime(2020, 1, 1)]}))
    found = bucket.read(file, retyped(bucket.schema, k="BIGINT", t="TIMESTAMP(6)"))
    assert found.to_pylist() == [{"k": 1, "t": datetime.datetime(2020, 1, 1)}]
    assert match_columns(bucket.schema, retyped(bucket.schema, k="BIGINT"), found.schema, "f")[0].cast is not None


def test_wrong_sizes_and_garbage_are_refused_by_name():
    bucket = bucket_of({"k": "INT"})
    for data in (b"", b"ORC", b"ORC and no footer" * 9):
        with pytest.raises(CorruptTable, match=r"foreign\.orc"):
            bucket.read(bucket.put_bytes(data, 1, "foreign.orc"))
    (file,) = bucket.write(bucket.table({"k": [1]}))
    data = STORAGE.read(bucket.path(file))
    with pytest.raises(CorruptTable, match=r"foreign\.orc has 1 rows, not 2"):
        bucket.read(bucket.put_bytes(data, 2, "foreign.orc"))


def test_a_timestamp_of_a_far_year_in_a_foreign_file():
    bucket = bucket_of({"t": "TIMESTAMP(6)"})
    file = foreign(bucket, pa.table({"t": pa.array([2**62], pa.timestamp("us"))}))
    with pytest.raises(UnsupportedFeature, match=r"foreign\.orc: years before 1678 and after 2261"):
        bucket.read(file)


def test_a_timestamp_that_would_not_be_read_again_is_not_written():
    bucket = bucket_of({"t": "TIMESTAMP(6)"})
    writer = bucket.writer()
    writer.write(bucket.table({"t": [-1]}))
    with pytest.raises(InvalidRequest, match=r"'t'.*whole milliseconds"):
        writer.close()
    writer.abort()
    assert not STORAGE.list(bucket.paths.bucket("", 0))


def test_a_full_disk_is_a_storage_error_that_names_the_file(monkeypatch):
    class Full(pa.BufferOutputStream):
        def close(self):
            raise OSError(28, "No space left on device")

    bucket = bucket_of({"n": "INT"})
    monkeypatch.setattr(type(STORAGE), "open_output", lambda self, path: Full())
    writer = bucket.writer()
    writer.write(bucket.table({"n": [1]}))
    with pytest.raises(StorageError, match=r"cannot write .*data-.*\.orc.*No space left"):
        writer.close()
    writer.abort()
