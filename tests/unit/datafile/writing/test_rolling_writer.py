import time
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest

from paimon_core.codec.binary_row.rows import decode_row, encode_row
from paimon_core.datafile.writing import rolling_writer
from paimon_core.errors import SchemaMismatch, StorageError
from paimon_core.metadata.column_stats import EMPTY_ROW, EMPTY_STATS
from paimon_core.metadata.data_file import FileSource
from paimon_core.types import BIGINT, STRING, parse_type
from tests.support.data_files import STORAGE, Bucket, schema_of

KEYED = {"id": "BIGINT NOT NULL", "name": "STRING"}


@pytest.fixture
def keyed():
    return Bucket(schema_of(KEYED, keys=["id"], options={"bucket": "1"}))


@pytest.fixture
def append():
    return Bucket(schema_of({"n": "INT", "s": "STRING"}))


def keyed_rows(bucket: Bucket, ids: range, kinds: list[int] | None = None, first: int = 0) -> pa.Table:
    return bucket.table(
        {
            "_KEY_id": list(ids),
            "_SEQUENCE_NUMBER": [first + n for n in range(len(ids))],
            "_VALUE_KIND": kinds or [0] * len(ids),
            "id": list(ids),
            "name": [f"{n * 2654435761 % 2**32:x}" for n in ids],
        }
    )


def test_a_keyed_file_says_everything_of_its_rows(keyed):
    (file,) = keyed.write(
        keyed_rows(keyed, range(3, 7), [0, 1, 2, 3], first=10), level=2, file_source=FileSource.COMPACT
    )
    assert file.file_name.startswith("data-")
    assert file.file_name.endswith("-0.parquet")
    assert file.file_size == len(STORAGE.read(keyed.path(file)))
    assert (file.row_count, file.delete_row_count, file.level, file.schema_id) == (4, 2, 2, 0)
    assert (file.min_sequence_number, file.max_sequence_number) == (10, 13)
    assert (file.min_key, file.max_key) == (encode_row([3], [BIGINT]), encode_row([6], [BIGINT]))
    assert (file.file_source, file.extra_files, file.value_stats_cols) == (FileSource.COMPACT, (), None)
    assert decode_row(file.key_stats.min_values, [BIGINT]) == (3,)
    assert decode_row(file.key_stats.max_values, [BIGINT]) == (6,)
    assert file.key_stats.null_counts == (0,)
    assert decode_row(file.value_stats.max_values, [BIGINT, STRING]) == (6, "daa66d13")
    assert file.value_stats.null_counts == (0, 0)


def test_an_append_file_has_no_key(append):
    (file,) = append.write(append.table({"n": [5, None, 1], "s": ["a", None, None]}))
    assert (file.min_key, file.max_key, file.key_stats) == (EMPTY_ROW, EMPTY_ROW, EMPTY_STATS)
    assert (file.min_sequence_number, file.max_sequence_number, file.delete_row_count) == (0, 2, 0)
    assert file.value_stats.null_counts == (1, 2)
    assert decode_row(file.value_stats.min_values, [parse_type("INT"), STRING]) == (1, "a")


def test_no_rows_make_no_file(append):
    assert append.write(append.table({"n": [], "s": []})) == []
    assert append.writer().close() == []
    assert STORAGE.list(append.paths.bucket("", 0)) == []


def test_the_creation_time_is_the_local_clock_as_utc(append, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        (file,) = append.write(append.table({"n": [1], "s": ["x"]}))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert abs(file.creation_time_millis - (time.time() * 1000 + 5.5 * 3_600_000)) < 60_000


def test_one_big_table_rolls_into_disjoint_files_near_the_target():
    small = Bucket(schema_of(KEYED, keys=["id"], options={"bucket": "1", "target-file-size": "64 kb"}))
    files = small.write(keyed_rows(small, range(60_000)))
    assert len(files) > 2
    assert sum(f.row_count for f in files) == 60_000
    assert all(0.9 * 65_536 < f.file_size < 1.5 * 65_536 for f in files[:-1])
    keys = [(decode_row(f.min_key, [BIGINT])[0], decode_row(f.max_key, [BIGINT])[0]) for f in files]
    assert all(before[1] + 1 == after[0] for before, after in pairwise(keys))
    assert len({f.file_name for f in files}) == len(files)
    rows = pa.concat_tables([small.read(f) for f in files])
    assert rows["id"].to_pylist() == list(range(60_000))


def test_small_writes_share_row_groups(append):
    writer = append.writer()
    for n in range(200):
        writer.write(append.table({"n": [n], "s": [str(n)]}))
    (file,) = writer.close()
    assert append.parquet(file).metadata.num_row_groups == 1
    assert append.read(file)["n"].to_pylist() == list(range(200))


def test_many_small_pieces_are_joined_before_they_are_encoded(append, monkeypatch):
    pieces = []
    write = rolling_writer._OpenFile.write
    monkeypatch.setattr(
        rolling_writer._OpenFile, "write", lambda self, rows: pieces.append(rows["n"].num_chunks) or write(self, rows)
    )
    small = [append.table({"n": [n], "s": [str(n)]}) for n in range(200)]
    for tables in (small, [pa.concat_tables(small)], small[:64]):
        writer = append.writer()
        for table in tables:
            writer.write(table)
        (file,) = writer.close()
        assert append.read(file)["n"].to_pylist() == list(range(file.row_count))
    assert pieces == [1, 1, 64]
    monkeypatch.setattr(rolling_writer, "_SMALL_PIECE", 1)
    append.write(pa.concat_tables(small))
    assert pieces[3:] == [200], "larger pieces need no copy"


def test_row_groups_are_bounded_by_rows_and_bytes(append, monkeypatch):
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 10)
    (file,) = append.write(append.table({"n": range(25), "s": ["x"] * 25}))
    metadata = append.parquet(file).metadata
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [10, 10, 5]
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_BYTES", 4000)
    (file,) = append.write(append.table({"n": range(8), "s": ["x" * 1000] * 8}))
    assert append.parquet(file).metadata.row_group(0).num_rows == 4


def test_a_row_group_of_rows_that_are_longer_than_the_mean_is_bounded_too(append, monkeypatch):
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_BYTES", 10_000)
    texts = ["x" * 5000] * 20 + ["y"] * 5000
    files = append.write(append.table({"n": range(5020), "s": texts}))
    sizes = [
        len("".join(append.parquet(f).read_row_group(g)["s"].to_pylist())) for f in files for g in groups_of(append, f)
    ]
    assert max(sizes) <= 20_000
    assert [text for file in files for text in append.read(file)["s"].to_pylist()] == texts


def groups_of(bucket, file):
    return range(bucket.parquet(file).metadata.num_row_groups)


def test_a_flush_frees_what_is_buffered(append):
    writer = append.writer()
    writer.write(append.table({"n": [1], "s": ["x"]}))
    assert writer.buffered_bytes > 0
    writer.flush()
    assert writer.buffered_bytes == 0
    writer.write(append.table({"n": [2], "s": ["y"]}))
    (file,) = writer.close()
    assert append.read(file)["n"].to_pylist() == [1, 2]


@pytest.mark.parametrize(("bucket", "ranges"), [("-1", [(7, 1006), (7, 1006)]), ("1", [(7, 1006), (1007, 2006)])])
def test_sequence_numbers_run_on_in_buckets_and_restart_without(bucket, ranges):
    table = Bucket(schema_of({"n": "INT"}, options={"bucket": bucket, "target-file-size": "1 b"}))
    files = table.write(table.table({"n": range(2000)}), first_sequence=7)
    assert [(f.min_sequence_number, f.max_sequence_number) for f in files] == ranges


def test_nan_takes_the_bounds_away():
    bucket = Bucket(schema_of({"x": "DOUBLE", "y": "FLOAT"}))
    (file,) = bucket.write(bucket.table({"x": [1.0, float("nan"), None], "y": [1.0, float("inf"), None]}))
    types = [f.type for f in bucket.schema.fields]
    assert decode_row(file.value_stats.min_values, types) == (None, 1.0)
    assert decode_row(file.value_stats.max_values, types) == (None, float("inf"))
    assert file.value_stats.null_counts == (1, 1)


def test_abort_deletes_finished_and_open_files():
    small = Bucket(schema_of({"n": "INT", "s": "STRING"}, options={"target-file-size": "1 b"}))
    writer = small.writer()
    writer.write(small.table({"n": range(3000), "s": ["x"] * 3000}))
    assert STORAGE.list(small.paths.bucket("", 0))
    writer.abort()
    assert STORAGE.list(small.paths.bucket("", 0)) == []
    assert writer.close() == []


def test_abort_after_close_deletes_too(append):
    writer = append.writer()
    writer.write(append.table({"n": [1], "s": ["x"]}))
    (file,) = writer.close()
    writer.abort()
    assert not STORAGE.exists(append.path(file))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pa.table({"n": pa.array([1], pa.int32())}), "columns n, s"),
        (pa.table({"s": ["x"], "n": pa.array([1], pa.int32())}), "columns n, s"),
        (pa.table({"n": pa.array([1], pa.int64()), "s": ["x"]}), r"'n' must be INT \(int32 in Arrow\), not int64"),
    ],
)
def test_rows_of_another_shape_are_refused(append, rows, message):
    with pytest.raises(SchemaMismatch, match=message):
        append.writer().write(rows)


def test_null_in_a_required_column_is_refused():
    bucket = Bucket(schema_of({"n": "INT NOT NULL"}))
    with pytest.raises(SchemaMismatch, match="'n' is NOT NULL but 1 values are null"):
        bucket.writer().write(bucket.table({"n": [1, None]}))


def test_a_full_disk_is_a_storage_error_that_names_the_file(append, monkeypatch):
    class Full(pa.BufferOutputStream):
        def close(self):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(STORAGE), "open_output", lambda self, path: Full())
    writer = append.writer()
    writer.write(append.table({"n": [1], "s": ["x"]}))
    with pytest.raises(StorageError, match=r"cannot write .*data-.*\.parquet.*No space left"):
        writer.close()
    writer.abort()


def codecs(bucket, file):
    return {bucket.parquet(file).metadata.row_group(0).column(n).compression for n in range(5)}


def test_the_level_decides_the_compression():
    options = {"bucket": "1", "file.compression.per.level": "0:none,3:snappy"}
    bucket = Bucket(schema_of(KEYED, keys=["id"], options=options))
    for level, codec in ((0, "UNCOMPRESSED"), (1, "ZSTD"), (3, "SNAPPY")):
        (file,) = bucket.write(keyed_rows(bucket, range(9)), level=level)
        assert codecs(bucket, file) == {codec}


@pytest.mark.parametrize("pieces", [[10], [1] * 10, [3, 7], [4, 4, 2]])
def test_files_of_new_rows_roll_at_a_number_of_rows(pieces):
    bucket = Bucket(schema_of(KEYED, keys=["id"], options={"bucket": "1", "target-file-row-num": "4"}))
    rows = keyed_rows(bucket, range(10))
    counts = {}
    for source in FileSource:
        writer, start = bucket.writer(file_source=source), 0
        for size in pieces:
            writer.write(rows.slice(start, size))
            start += size
        counts[source] = [f.row_count for f in writer.close()]
    assert counts == {FileSource.APPEND: [4, 4, 2], FileSource.COMPACT: [10]}


def test_a_changelog_file_may_repeat_keys():
    options = {"bucket": "1", "changelog-file.compression": "gzip", "changelog-file.stats-mode": "none"}
    bucket = Bucket(schema_of(KEYED, keys=["id"], options=options | {"target-file-row-num": "1"}))
    rows = bucket.table(
        {
            "_KEY_id": [1, 1, 1, 2],
            "_SEQUENCE_NUMBER": [7, 9, 8, 5],
            "_VALUE_KIND": [1, 2, 3, 0],
            "id": [1, 1, 1, 2],
            "name": ["a", "b", "b", "c"],
        }
    )
    (file,) = bucket.write(rows, changelog=True, level=4)
    assert file.file_name.startswith("changelog-")
    assert (file.row_count, file.delete_row_count, file.level, file.file_source) == (4, 2, 4, FileSource.APPEND)
    assert (file.min_key, file.max_key) == (encode_row([1], [BIGINT]), encode_row([2], [BIGINT]))
    assert (file.min_sequence_number, file.max_sequence_number) == (5, 9)
    assert (file.value_stats, file.value_stats_cols) == (EMPTY_STATS, ())
    assert decode_row(file.key_stats.max_values, [BIGINT]) == (2,)
    assert codecs(bucket, file) == {"GZIP"}
    assert bucket.read(file).to_pydict() == rows.to_pydict()


def test_a_small_file_is_the_same_whether_it_is_put_together_in_memory_or_streamed(monkeypatch):
    types = {"k": "INT NOT NULL", "f": "FLOAT", "s": "STRING", "t": "TIMESTAMP(6)", "n": "TIMESTAMP(9)"}
    bucket = Bucket(schema_of(types, keys=["k"], options={"bucket": "1"}))
    number = {"_KEY_k": [1, 2, 3], "_SEQUENCE_NUMBER": [7, 8, 9], "_VALUE_KIND": [0, 3, 0], "k": [1, 2, 3]}
    rows = bucket.table(number | {"f": [-0.0, 0.0, 2.5], "s": ["b", "", "a"], "t": [3, 1, 2], "n": [1, None, 0]})

    def written():
        (file,) = bucket.write(rows)
        return STORAGE.read(bucket.path(file)), replace(file, file_name="", creation_time_millis=0)

    in_memory = written()
    monkeypatch.setattr(rolling_writer, "_SMALL_BYTES", 0)
    assert written() == in_memory
