import os
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core.datafile.writing.rolling_writer import RollingWriter
from paimon_core.errors import InvalidRequest, StorageError
from paimon_core.write import bucket_writer, table_writer
from paimon_core.write.bucketing import split_by_bucket
from paimon_core.write.spill import SpillSpace

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.int64()), ("v", pa.string())])
TINY = {"bucket": "1", "write-only": "true", "write-buffer-size": "1 b"}


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def create(tmp_path):
    catalog = paimon.open_catalog(str(tmp_path / "warehouse"))
    catalog.create_database("db")
    return lambda **options: catalog.create_table(
        "db.t", SCHEMA, primary_key=["k"], options=TINY | {k.replace("_", "-"): v for k, v in options.items()}
    )


def rows(*values):
    return pa.table([list(column) for column in zip(*values, strict=True)], schema=SCHEMA)


def data_files(table, pattern="*"):
    return sorted(Path(table.location, "bucket-0").glob(pattern))


def write_parts(writer, count, size=10):
    """Upsert the keys 0 .. size-1, and one key of its own, in each part; the last part wins."""
    for n in range(count):
        writer.write(rows(*[(k, n, f"{n}.{k}") for k in range(size)], (100 + n, n, "own")))


def expected(count, size=10):
    last = [{"k": k, "s": count - 1, "v": f"{count - 1}.{k}"} for k in range(size)]
    return last + [{"k": 100 + n, "s": n, "v": "own"} for n in range(count)]


def test_a_commit_beyond_memory_is_one_file(create, scratch):
    table = create()
    with table.writer() as writer:
        write_parts(writer, 4)
        assert len(os.listdir(scratch)) == 1
        (message,) = writer.flush()
        assert os.listdir(scratch) == []
        (file,) = message.new_files
        assert (file.level, file.row_count, file.min_sequence_number, file.max_sequence_number) == (0, 14, 10, 43)
        table.commit([message])
    assert table.scan().to_arrow().sort_by("k").to_pylist() == expected(4)


def test_a_run_rolls_into_disjoint_files(create):
    table = create(**{"target-file-row-num": "5"})
    with table.writer() as writer:
        write_parts(writer, 3)
        (message,) = writer.flush()
        table.commit([message])
    assert [f.row_count for f in message.new_files] == [5, 5, 3]
    bounds = [(f.min_key, f.max_key) for f in message.new_files]
    assert all(earlier[1] < later[0] for earlier, later in pairwise(bounds))


@pytest.mark.parametrize(
    "options", [{"write-buffer-spillable": "false"}, {"write-buffer-spill.max-disk-size": "1 b"}], ids=["off", "full"]
)
def test_without_spill_each_full_buffer_is_a_file(create, scratch, options):
    table = create(**options)
    with table.writer() as writer:
        write_parts(writer, 4)
        (message,) = writer.flush()
        table.commit([message])
    assert len(message.new_files) == (4 if "write-buffer-spillable" in options else 2)
    assert os.listdir(scratch) == []
    assert table.scan().to_arrow().sort_by("k").to_pylist() == expected(4)


@pytest.fixture
def streams(monkeypatch):
    """Append rows to open files, also if they are few; return the sizes of the runs that are spilled nevertheless."""
    spilled, put = [], SpillSpace.put
    monkeypatch.setattr(bucket_writer, "_STREAMED_BYTES", 1)
    monkeypatch.setattr(SpillSpace, "put", lambda *given: spilled.append(put(*given)) or spilled[-1])
    return spilled


@pytest.mark.parametrize("producer", ["none", "input"])
def test_rows_that_arrive_by_key_are_not_spilled(create, streams, producer):
    table = create(**{"changelog-producer": producer})
    with table.writer() as writer:
        for start in range(0, 40, 10):
            writer.write(rows(*[(k, 0, f"{k}") for k in range(start, start + 10)]))
        assert streams == []
        (message,) = writer.flush()
        table.commit([message])
    (file,) = message.new_files
    assert (file.row_count, file.min_sequence_number, file.max_sequence_number) == (40, 0, 39)
    assert [f.row_count for f in message.changelog_files] == ([40] if producer == "input" else [])
    assert table.scan().to_arrow()["v"].to_pylist() == [f"{k}" for k in range(40)]


def test_long_rows_are_spilled_in_any_order(create, streams):
    table = create()
    with table.writer() as writer:
        writer.write(rows(*[(k, 0, "x" * 2000) for k in range(10)]))
        writer.write(rows(*[(k, 0, "x" * 2000) for k in range(10, 20)]))
        assert sum(run.rows for run in streams) == 20
        (message,) = writer.flush()
    assert [file.row_count for file in message.new_files] == [20]


def test_where_the_order_breaks_later_rows_are_spilled_and_win(create, streams):
    table = create()
    with table.writer() as writer:
        for start in (0, 10, 5, 20, 15):
            writer.write(rows(*[(k, start, "v") for k in range(start, start + 10)]))
        assert [run.rows for run in streams] == [10, 10, 10]
        (message,) = writer.flush()
        table.commit([message])
    assert [file.row_count for file in message.new_files] == [20, 25]
    orders = {k: s for start in (0, 10, 5, 20, 15) for k, s in zip(range(start, start + 10), [start] * 10, strict=True)}
    assert table.scan().to_arrow().sort_by("k")["s"].to_pylist() == [orders[k] for k in range(30)]


def test_abort_deletes_files_that_are_open(create, streams):
    table = create(**{"changelog-producer": "input", "target-file-row-num": "3"})
    writer = table.writer()
    writer.write(rows(*[(k, 0, "v") for k in range(10)]))
    writer.write(rows(*[(k, 0, "v") for k in range(10, 20)]))
    assert streams == []
    assert len(data_files(table)) > 4
    writer.abort()
    assert data_files(table) == []


def test_few_buckets_have_open_files(create, streams, monkeypatch):
    monkeypatch.setattr(table_writer, "STREAMS", 2)
    table = create(bucket="4")
    with table.writer() as writer:
        for start in range(0, 400, 100):
            writer.write(rows(*[(k, 0, "v") for k in range(start, start + 100)]))
        assert sum(run.rows for run in streams) > 100
        messages = writer.flush()
        assert [len(message.new_files) for message in messages] == [1] * 4
        table.commit(messages)
        streams.clear()
        for start in range(400, 600, 100):
            writer.write(rows(*[(k, 0, "v") for k in range(start, start + 100)]))
        assert sum(run.rows for run in streams) < 200, "no file may be open after a flush"
        table.commit(writer.flush())
    assert table.scan().count() == 600


def test_small_rests_of_buckets_with_open_files_are_written(create, streams, monkeypatch):
    monkeypatch.setattr(table_writer, "STREAMS", 64)
    monkeypatch.setattr(bucket_writer, "thread_count", lambda count: 1)
    table = create(bucket="32", **{"write-buffer-size": "16 kb"})
    with table.writer() as writer:
        for start in range(0, 2010, 67):
            writer.write(rows(*[(k, 0, "v") for k in range(start, start + 67)]))
        written = list(writer._buckets.values())
        assert all(bucket._is_streaming for bucket in written)
        assert sum(bucket.buffered_bytes > 0 for bucket in written) >= 8, "small enough to be finished together"
        messages = writer.flush()
        table.commit(messages)
    assert streams == []
    assert [len(message.new_files) for message in messages] == [1] * 32
    assert table.scan().to_arrow().sort_by("k")["k"].to_pylist() == list(range(2010))


def test_abort_leaves_neither_files_nor_spilled_rows(create, scratch):
    table = create(**{"write-buffer-spill.max-disk-size": "1 b", "changelog-producer": "input"})
    writer = table.writer()
    write_parts(writer, 3)
    assert data_files(table)
    assert os.listdir(scratch)
    writer.abort()
    assert data_files(table) == []
    assert os.listdir(scratch) == []


def test_a_full_local_disk_fails_the_write_and_abort_cleans(create, scratch, monkeypatch):
    table = create()
    made = scratch / "full"
    made.mkdir()
    (made / "run-0.arrow").symlink_to("/dev/full")
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: str(made))
    with table.writer() as writer:
        with pytest.raises(paimon.StorageError, match="No space left"):
            write_parts(writer, 2)
        with pytest.raises(paimon.InvalidRequest, match="write all rows again"):
            writer.flush()
    assert os.listdir(scratch) == []
    assert data_files(table) == []


def test_the_largest_buckets_go_first_and_no_more_than_needed(create, monkeypatch):
    table = create(**{"bucket": "4", "write-buffer-size": "6 kb"})
    spilled = []
    put = SpillSpace.put
    monkeypatch.setattr(
        SpillSpace, "put", lambda self, schema, batches: spilled.append(1) or put(self, schema, batches)
    )
    with table.writer() as writer:
        writer.write(rows(*[(k, 0, "small") for k in range(40)]))
        assert spilled == []
        before = {key: w.buffered_bytes for key, w in writer._buckets.items()}
        (largest,) = [key for key, size in before.items() if size == max(before.values())]
        writer.write(rows(*[(k, 0, "x" * 2400) for k in range(2)]))
        assert len(spilled) == 1
        assert writer._buckets[largest].buffered_bytes < before[largest]
        table.commit(writer.flush())
    assert table.scan().count() == 40


@pytest.mark.parametrize("size", ["1 b", "1 mb"])
def test_the_input_changelog_has_every_row_by_key_and_merge_order(create, size):
    table = create(**{"changelog-producer": "input", "sequence.field": "s", "write-buffer-size": size})
    with table.writer() as writer:
        writer.write(rows((2, 9, "a"), (1, 5, "b"), (2, 7, "c")), kinds=["+I", "+I", "+U"])
        writer.write(rows((2, 8, "d"), (1, 5, "e")), kinds=["-U", "-D"])
        (message,) = writer.flush()
    (data,), (changelog,) = message.new_files, message.changelog_files
    assert changelog.file_name.startswith("changelog-")
    assert (changelog.level, changelog.row_count, data.row_count) == (0, 5, 2)
    (path,) = data_files(table, "changelog-*")
    written = pq.read_table(path).select(["k", "v", "_SEQUENCE_NUMBER", "_VALUE_KIND"])
    assert list(zip(*written.to_pydict().values(), strict=True)) == [
        (1, "b", 1, 0),
        (1, "e", 4, 3),
        (2, "c", 2, 2),
        (2, "d", 3, 1),
        (2, "a", 0, 0),
    ]


def test_rows_that_are_ignored_are_in_no_changelog(create):
    table = create(**{"changelog-producer": "input", "ignore-delete": "true"})
    with table.writer() as writer:
        writer.write(rows((1, 0, "a"), (1, 0, "a"), (2, 0, "b")), kinds=["+I", "-D", "-U"])
        (message,) = writer.flush()
    assert [f.row_count for f in (*message.new_files, *message.changelog_files)] == [1, 1]


def test_an_overwrite_writes_no_changelog(create):
    table = create(**{"changelog-producer": "input"})
    table.write(rows((1, 0, "a")))
    table.overwrite(rows((2, 0, "b"), (2, 0, "c")))
    assert len(data_files(table, "changelog-*")) == 1
    assert table.scan().to_arrow()["v"].to_pylist() == ["c"]


@pytest.mark.parametrize("keyed", [True, False])
def test_a_shared_text_is_decoded_part_by_part(tmp_path, keyed):
    schema = pa.schema([pa.field("k", pa.int64(), nullable=not keyed), ("v", pa.string())])
    keys = {"primary_key": ["k"]} if keyed else {}
    options = {"write-buffer-size": "4 mb", **({"bucket": "1"} if keyed else {})}
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    table = catalog.create_table("db.t", schema, options=options, **keys)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 8000, pa.int32()), pa.array(["x" * 20_000]))
    pool = pa.default_memory_pool()
    with table.writer() as writer:
        before, writes = pool.bytes_allocated(), []
        write = writer._write
        writer._write = lambda *args: (writes.append(len(args[0])), write(*args))[1]
        writer.write(pa.table({"k": range(8000), "v": texts}))
        assert max(writes) * 20_000 <= 4 << 20
        assert pool.bytes_allocated() - before < 140 << 20
        table.commit(writer.flush())
    assert table.scan().count() == 8000


def test_a_large_table_is_buffered_in_pieces(create, monkeypatch):
    table = create(**{"write-buffer-size": "20 kb"})
    spilled = []
    put = SpillSpace.put
    monkeypatch.setattr(
        SpillSpace, "put", lambda self, schema, batches: spilled.append(1) or put(self, schema, batches)
    )
    with table.writer() as writer:
        writer.write(rows(*[(k, k, "v") for k in range(3500)]))
        assert len(spilled) >= 3
        (message,) = writer.flush()
        table.commit([message])
    assert [f.row_count for f in message.new_files] == [3500]


def test_a_table_that_ignores_deletes_takes_none(create):
    table = create(ignore_delete="true")
    with table.writer() as writer, pytest.raises(InvalidRequest, match="ignore-delete"):
        writer.delete(rows((1, 1, "a")))


def test_few_rows_are_parts_of_common_tables_and_more_are_copies(create, monkeypatch):
    """A slice keeps its whole table in memory, which the counted bytes of the slice do not show."""
    asked = []

    def split(rows, context, *, shares, assigner, keys):
        asked.append(shares)
        return split_by_bucket(rows, context, shares=shares, assigner=assigner, keys=keys)

    monkeypatch.setattr(table_writer, "split_by_bucket", split)
    table = create(write_buffer_size="4 kb", bucket="2")
    with table_writer.TableWriter(table.context) as writer:
        for n in range(10):
            writer.write(rows(*[(k, n, "text") for k in range(10)]))
        writer.flush()
        writer.write(rows((1, 1, "a"), (2, 2, "b")))
    assert (asked[0], asked[9], asked[10]) == (True, False, True)


def test_small_and_large_buckets_are_finished_in_one_flush(create):
    table = create(write_buffer_size="64 mb", bucket="8")
    table.write(
        rows(*[(k, 0, "x" * (100_000 if k == 3 else 3)) for k in range(40)], *[(k, 1, "new") for k in range(9)])
    )
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["k"])
    assert found == [{"k": k, "s": int(k < 9), "v": "new" if k < 9 else "xxx"} for k in range(40)]
    files = sorted(Path(table.location).glob("bucket-*/*.parquet"))
    assert [pq.read_table(f)["_KEY_k"].to_pylist() for f in files] == [
        sorted(pq.read_table(f)["k"].to_pylist()) for f in files
    ]
    assert len(files) == 8


@pytest.mark.parametrize("fails_in", ["write", "flush"])
def test_a_postponed_writer_that_lost_rows_cannot_be_flushed(create, monkeypatch, fails_in):
    table, write = create(bucket="-2"), RollingWriter.write

    def full(writer, data):
        if (writer.bucket < 0) == (fails_in == "write"):
            raise StorageError("the store is full")
        write(writer, data)

    with table.writer() as writer:
        writer.write(rows((1, 1, "before")))
        monkeypatch.setattr(RollingWriter, "write", full)
        with pytest.raises(StorageError, match="full"):
            writer.write(rows((2, 2, "lost"))) if fails_in == "write" else writer.flush()
        monkeypatch.undo()
        with pytest.raises(InvalidRequest, match="write all rows again"):
            writer.flush()
        writer.abort()
        writer.write(rows((3, 3, "again")))
        table.commit(writer.flush())
    assert table.scan().to_arrow()["k"].to_pylist() == [3]


def test_a_partition_that_was_emptied_may_get_another_number_of_buckets(create):
    table = create()
    table.write(rows((1, 1, "old")))
    with table.writer() as writer:
        table.rescale(2)
        with pytest.raises(InvalidRequest, match="was written with 2 buckets"):
            writer.write(rows((2, 2, "new")))
        writer.abort()
        table.overwrite(SCHEMA.empty_table())
        writer.write(rows((2, 2, "new")))
        table.commit(writer.flush())
    assert table.scan().to_arrow()["k"].to_pylist() == [2]
