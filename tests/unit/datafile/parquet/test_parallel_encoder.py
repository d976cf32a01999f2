"""A file whose columns are encoded by several threads has the same bytes as a file of one thread."""

import threading

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.datafile.parquet import parallel_encoder
from paimon_core.datafile.parquet.parallel_encoder import ParallelEncoder, is_worth_threads, settings_by_column
from paimon_core.errors import StorageError
from paimon_core.parallel_work import own_processors, run_parallel
from tests.support.data_files import STORAGE, Bucket, schema_of

TYPES = {
    "k": "INT NOT NULL",
    "same": "STRING",
    "other": "STRING",
    "f": "DOUBLE",
    "long": "TIMESTAMP(9)",
    "d": "DECIMAL(20, 2)",
    "parts": "ARRAY<STRING>",
    "row": "ROW<x INT, y MAP<STRING, INT>>",
    "b": "BYTES",
}


def rows_of(count, schema):
    at = np.arange(count)
    columns = {
        "k": at,
        "same": pa.array([f"s{n % 3}" for n in range(count)]),
        "other": pa.array([None if n % 7 == 0 else f"text {n}" for n in range(count)]),
        "f": at * 0.5,
        "long": pa.array(at * 1001 - 10**9, pa.timestamp("ns")),
        "d": pa.array(at).cast(pa.decimal128(21, 2)).cast(pa.decimal128(20, 2)),
        "parts": pa.array([[f"p{n % 5}"] * (n % 3) for n in range(count)]),
        "row": pa.array(
            [None if n % 5 == 0 else {"x": n, "y": [("a", n)]} for n in range(count)], _type(schema, "row")
        ),
        "b": pa.array([bytes([n % 251]) for n in range(count)], pa.binary()),
    }
    return pa.table([pa.array(columns[f.name]).cast(f.type.to_arrow()) for f in schema.fields], names=list(TYPES))


def _type(schema, name):
    return schema.by_name[name].type.to_arrow()


def processors(monkeypatch, count):
    monkeypatch.setattr("paimon_core.processors.usable", lambda: count)


@pytest.fixture
def encoders(monkeypatch):
    """The parallel encoders that were created."""
    found = []
    create = ParallelEncoder.__init__

    def created(self, *args):
        found.append(self)
        create(self, *args)

    monkeypatch.setattr(ParallelEncoder, "__init__", created)
    monkeypatch.setattr(parallel_encoder, "LEAST_VALUES", 1000)
    monkeypatch.setattr(parallel_encoder, "LEAST_ROWS", 100)
    return found


@pytest.mark.parametrize("keys", [[], ["k"]])
@pytest.mark.parametrize("options", [{}, {"file.compression": "none"}, {"file.compression": "snappy"}])
def test_the_file_does_not_depend_on_the_number_of_threads(monkeypatch, encoders, keys, options):
    monkeypatch.setattr("paimon_core.datafile.writing.rolling_writer.ROW_GROUP_ROWS", 1500)
    bucket = Bucket(schema_of(TYPES, keys=keys, options=options))
    rows = rows_of(4000, bucket.schema)
    if keys:
        key = [
            ("_KEY_k", rows["k"]),
            ("_SEQUENCE_NUMBER", pa.array(range(4000))),
            ("_VALUE_KIND", pa.array([0] * 4000, pa.int8())),
        ]
        rows = pa.table([c for _, c in key] + rows.columns, names=[n for n, _ in key] + rows.column_names)
    written = {}
    for count in (1, 4):
        processors(monkeypatch, count)
        (file,) = bucket.write(rows)
        written[count] = (STORAGE.read(bucket.path(file)), file.value_stats, file.file_size, file.row_count)
        assert bucket.read(file).num_rows == 4000
    assert written[1] == written[4]
    assert len(encoders) == 1
    assert bucket.parquet(file).metadata.num_row_groups == 3


def test_small_files_and_busy_processors_use_one_thread(monkeypatch):
    rows = pa.table({"a": range(parallel_encoder.LEAST_VALUES // 2), "b": range(parallel_encoder.LEAST_VALUES // 2)})
    processors(monkeypatch, 2)
    assert is_worth_threads(rows)
    assert not is_worth_threads(rows.slice(1))
    assert not is_worth_threads(rows.select(["a"]))
    many = pa.table([range(parallel_encoder.LEAST_ROWS)] * 40, names=[f"c{at}" for at in range(40)])
    assert is_worth_threads(many)
    assert not is_worth_threads(many.slice(1)), "a file for each column takes longer than its few rows"
    processors(monkeypatch, 1)
    assert not is_worth_threads(rows)


def test_each_column_has_only_its_own_settings():
    settings = {
        "compression": {"a": "none", "b": "zstd", "b.c": "zstd", "b.list.element": "snappy"},
        "use_dictionary": ["b.c", "a"],
        "column_encoding": None,
        "write_page_checksum": True,
    }
    found = settings_by_column(["a", "b", "b.c", "x"], settings)
    same = {"column_encoding": None, "write_page_checksum": True}
    b = {"b": "zstd", "b.c": "zstd", "b.list.element": "snappy"}
    assert found == {
        "a": {"compression": {"a": "none"}, "use_dictionary": ["a"], **same},
        "b": {"compression": b, "use_dictionary": ["b.c"], **same},
        "b.c": {"compression": {"b.c": "zstd"}, "use_dictionary": ["b.c"], **same},
        "x": {"compression": {}, "use_dictionary": [], **same},
    }


def test_threads_of_parallel_work_share_the_processors(monkeypatch):
    processors(monkeypatch, 4)
    assert own_processors() == 4
    assert run_parallel(lambda _: own_processors(), range(2)) == [2, 2]
    assert set(run_parallel(lambda _: own_processors(), range(8))) == {1}
    assert run_parallel(lambda _: own_processors(), range(1)) == [4]
    assert run_parallel(lambda _: run_parallel(lambda _: own_processors(), range(2)), range(2)) == [[1, 1], [1, 1]]
    assert own_processors() == 4
    with pytest.raises(ZeroDivisionError):
        run_parallel(lambda _: 1 // 0, range(2))
    assert own_processors() == 4


def test_an_error_of_a_column_is_raised_and_no_file_is_left(monkeypatch, encoders):
    processors(monkeypatch, 4)
    monkeypatch.setattr("paimon_core.datafile.writing.rolling_writer._SMALL_BYTES", 0)
    bucket = Bucket(schema_of(TYPES))
    real = ParallelEncoder._encoded
    threads = threading.active_count()

    def failing(self, rows, at):
        if at == 3:
            raise OSError(28, "no space left on device")
        return real(self, rows, at)

    monkeypatch.setattr(ParallelEncoder, "_encoded", failing)
    writer = bucket.writer()
    writer.write(rows_of(2000, bucket.schema))
    with pytest.raises(StorageError, match="no space left"):
        writer.close()
    path = writer._created[0]
    writer.abort()
    assert not STORAGE.exists(path)
    assert threading.active_count() == threads


def test_columns_are_written_in_order_by_the_threads_that_add_them():
    begun, may_end, written = threading.Event(), threading.Event(), []

    def write(column):
        if column == "a":
            begun.set()
            assert may_end.wait(60)
        written.append((column, threading.current_thread()))
        return column.upper()

    ordered = parallel_encoder._InOrder(write)
    ordered.add(2, "c")
    assert ordered.results == []
    first = threading.Thread(target=ordered.add, args=(0, "a"))
    first.start()
    assert begun.wait(60)
    ordered.add(1, "b")  # does not wait for the thread that writes, which will write this column too
    assert written == []
    may_end.set()
    first.join()
    assert written == [("a", first), ("b", first), ("c", first)]
    ordered.add(3, "d")
    assert ordered.results == ["A", "B", "C", "D"]


def test_no_column_is_written_behind_one_that_failed():
    def write(column):
        if column == "b":
            raise OSError("the disk is full")
        written.append(column)

    written = []
    ordered = parallel_encoder._InOrder(write)
    ordered.add(0, "a")
    with pytest.raises(OSError, match="full"):
        ordered.add(1, "b")
    ordered.add(2, "c")
    assert written == ["a"]


def test_large_columns_begin_first_and_the_others_in_the_order_of_the_file(monkeypatch):
    processors(monkeypatch, 2)
    numbers, texts = pa.array(range(1000), pa.int32()), pa.array(["a text of some length"] * 1000)
    rows = pa.table([numbers, numbers, texts.cast(pa.binary()), numbers, pa.array(["x" * 90] * 1000)], names="abcde")
    assert ParallelEncoder._order(rows) == [4, 2, 0, 1, 3]
    assert ParallelEncoder._order(rows.slice(0, 0)) == [0, 1, 2, 3, 4]
