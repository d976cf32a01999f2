"""Tables with one fault each, that no writer would create: a check must find the fault and name its invariant."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

import paimon_core as paimon
from paimon_core.codec.avro.container import write_avro
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.table.table import Table
from tests.support.fake_tables import append, fake_file, fake_table, key, partition, reopened

_INDEX = {
    "type": "record",
    "name": "record",
    "fields": [
        {"name": "_VERSION", "type": "int"},
        {"name": "_KIND", "type": "int"},
        {"name": "_PARTITION", "type": "bytes"},
        {"name": "_BUCKET", "type": "int"},
        {"name": "_INDEX_TYPE", "type": "string"},
        {"name": "_FILE_NAME", "type": "string"},
        {"name": "_FILE_SIZE", "type": "long"},
        {"name": "_ROW_COUNT", "type": "long"},
        {
            "name": "_DELETIONS_VECTORS_RANGES",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "range",
                        "fields": [
                            {"name": "f0", "type": "string"},
                            {"name": "f1", "type": "int"},
                            {"name": "f2", "type": "int"},
                            {"name": "_CARDINALITY", "type": ["null", "long"]},
                        ],
                    },
                },
            ],
        },
    ],
}
_numbers = iter(range(10**9))


def fresh(context: TableContext) -> TableContext:
    """Return the table with empty caches."""
    return reopened(context, context.storage)


def three_appends() -> TableContext:
    """Return a table of metadata only with three snapshots that add one file each."""
    context = fake_table()
    for at in (1000, 2000, 3000):
        append(context, now_millis=at)
    return context


def rewrite(context: TableContext, snapshot_id: int, **changes: object) -> Snapshot:
    """Change members of a snapshot file."""
    snapshot = replace(context.snapshots.read(snapshot_id), **changes)
    context.storage.overwrite(context.paths.snapshot(snapshot_id), snapshot.to_json().encode())
    return snapshot


def edit_json(context: TableContext, path: str, **changes: object) -> None:
    """Change members of a JSON file."""
    members = json.loads(context.storage.read(path)) | changes
    context.storage.overwrite(path, json.dumps(members).encode())


def listed(context: TableContext, entries: Sequence[ManifestEntry]) -> dict[str, object]:
    """Write a delta manifest list of the entries, and return the members of a snapshot that reference it."""
    name, size = context.manifests.write_list(context.manifests.write_manifests(entries, 1 << 20) if entries else [])
    return {"delta_manifest_list": name, "delta_manifest_list_size": size}


def record(context: TableContext, *entries: ManifestEntry) -> TableContext:
    """Replace the files of snapshot 1, the only snapshot, by exactly these files."""
    rows = sum(e.file.row_count for e in entries)
    rewrite(context, 1, **listed(context, entries), total_record_count=rows, delta_record_count=rows)
    return context


def added(file: DataFile, *, bucket: int = 0, total: int = 2, of: str = "a") -> ManifestEntry:
    """Return an entry that adds a file of a fake table."""
    return ManifestEntry(FileKind.ADD, partition(of), bucket, total, file)


def one_append() -> TableContext:
    """Return a fake table with one snapshot, whose metadata the caller replaces."""
    context = fake_table()
    append(context)
    return context


def real_table(rows: int = 20, *, key: bool = True, **options: str | None) -> Table:
    """Return a table (k int key, v string) with one snapshot, two buckets and no compaction or expiry."""
    catalog = paimon.open_catalog(f"memory://broken-{next(_numbers)}")
    catalog.create_database("db")
    schema = pa.schema([("k", pa.int32()), ("v", pa.string())])
    keys = {"primary_key": ["k"]} if key else {}
    options = {"bucket": "2", "write-only": "true", **({} if key else {"bucket-key": "k"}), **options}
    known = {name: value for name, value in options.items() if value is not None}
    table = catalog.create_table("db.t", schema, **keys, options=known)
    table.write(some_rows(range(rows)))
    return table


def some_rows(keys: Sequence[int], value: str = "v") -> pa.Table:
    """Return rows of a real table."""
    return pa.table({"k": pa.array(keys, pa.int32()), "v": [f"{value}{k}" for k in keys]})


def changed_record(change: Callable[[ManifestEntry], ManifestEntry]) -> TableContext:
    """Return a real table whose first data file has changed metadata."""
    context = real_table().context
    first, *others = context.manifests.entries_of(context.snapshots.read(1))
    return record(context, change(first), *others)


def of_file(**changes: object) -> Callable[[ManifestEntry], ManifestEntry]:
    """Return a function that changes these members of a file."""
    return lambda entry: replace(entry, file=replace(entry.file, **changes))


# -- one function per fault --------------------------------------------------------------------------------------------


def a_gap() -> TableContext:
    context = three_appends()
    context.snapshots.delete([2])
    return context


def a_missing_data_file() -> TableContext:
    context = three_appends()
    (entry,) = context.manifests.read_manifest(
        context.manifests.read_list(context.snapshots.read(2).delta_manifest_list)[0].file_name
    )
    context.storage.delete([context.paths.data_file("p=a", 0, entry.file.file_name)])
    return context


def a_data_file_of_another_size() -> TableContext:
    context = three_appends()
    entry = context.manifests.entries_of(context.snapshots.read(1))[0]
    context.storage.overwrite(context.paths.data_file("p=a", 0, entry.file.file_name), b"more rows")
    return context


def a_missing_manifest() -> TableContext:
    context = three_appends()
    manifest = context.manifests.read_list(context.snapshots.read(3).delta_manifest_list)[0]
    context.storage.delete([context.paths.manifest(manifest.file_name)])
    return context


def a_torn_manifest_list() -> TableContext:
    context = three_appends()
    path = context.paths.manifest(context.snapshots.read(3).base_manifest_list)
    context.storage.overwrite(path, context.storage.read(path)[:-1])
    return context


def a_snapshot_that_is_no_json() -> TableContext:
    context = three_appends()
    context.storage.overwrite(context.paths.snapshot(3), b"{")
    return context


def a_snapshot_under_another_name() -> TableContext:
    context = three_appends()
    context.storage.overwrite(context.paths.snapshot(3), context.storage.read(context.paths.snapshot(2)))
    return context


def a_missing_index_manifest() -> TableContext:
    context = three_appends()
    rewrite(context, 3, index_manifest="index-manifest-gone")
    return context


def a_missing_statistics_file() -> TableContext:
    context = three_appends()
    rewrite(context, 3, statistics="stat-gone")
    return context


def a_consumer_that_is_none() -> TableContext:
    context = three_appends()
    context.storage.write(context.paths.consumer("c"), b'{"nextSnapshot": "soon"}')
    return context


def a_consumer_of_an_expired_snapshot() -> TableContext:
    context = three_appends()
    context.snapshots.delete([1])
    context.storage.write(context.paths.consumer("c"), b'{"nextSnapshot": 1}')
    return context


def a_changelog_without_its_list() -> TableContext:
    context = three_appends()
    kept = replace(context.snapshots.read(1), changelog_manifest_list="manifest-list-gone")
    context.snapshots.delete([1])
    assert context.changelogs.create(kept)
    return context


def a_base_that_forgets() -> TableContext:
    context = three_appends()
    last = context.snapshots.read(3)
    manifests = context.manifests.read_list(last.base_manifest_list)
    name, size = context.manifests.write_list(manifests[1:])
    rewrite(context, 3, base_manifest_list=name, base_manifest_list_size=size, total_record_count=20)
    return context


def a_file_added_twice() -> TableContext:
    context = three_appends()
    entry = context.manifests.entries_of(context.snapshots.read(1))[0]
    rewrite(context, 3, **listed(context, [entry]), total_record_count=20)
    return context


def a_delete_of_nothing() -> TableContext:
    context = three_appends()
    gone = replace(added(fake_file(context)), kind=FileKind.DELETE)
    rewrite(context, 3, **listed(context, [gone]), total_record_count=20, delta_record_count=-10)
    return context


def a_name_of_two_files() -> TableContext:
    context = one_append()
    file, other = fake_file(context, name="data-x.parquet"), fake_file(context, name="data-x.parquet", bucket=1)
    return record(context, added(file), added(other, bucket=1))


def levels_that_overlap() -> TableContext:
    context = one_append()
    return record(context, *(added(fake_file(context, low, low + 9, level=5)) for low in (0, 9)))


def keys_the_wrong_way_round() -> TableContext:
    context = one_append()
    return record(context, added(fake_file(context, 9, 0)))


def sequence_numbers_the_wrong_way_round() -> TableContext:
    context = one_append()
    file = replace(fake_file(context), min_sequence_number=7, max_sequence_number=6)
    return record(context, added(file))


def a_bucket_beyond_the_last() -> TableContext:
    context = one_append()
    return record(context, added(fake_file(context, bucket=2), bucket=2))


def two_numbers_of_buckets() -> TableContext:
    context = one_append()
    return record(context, added(fake_file(context)), added(fake_file(context, bucket=1), bucket=1, total=4))


def _vector(name: str, cardinality: int) -> TableContext:
    context = one_append()
    entry = context.manifests.entries_of(context.snapshots.read(1))[0]
    index = {
        "_VERSION": 1,
        "_KIND": 0,
        "_PARTITION": entry.partition,
        "_BUCKET": 0,
        "_INDEX_TYPE": "DELETION_VECTORS",
        "_FILE_NAME": "index-1",
        "_FILE_SIZE": 3,
        "_ROW_COUNT": 1,
        "_DELETIONS_VECTORS_RANGES": [
            {"f0": name or entry.file.file_name, "f1": 1, "f2": 2, "_CARDINALITY": cardinality}
        ],
    }
    context.storage.write(context.paths.index("index-1"), b"dvs")
    context.storage.write(context.paths.manifest("index-manifest-1"), write_avro(_INDEX, [index]))
    rewrite(context, 1, index_manifest="index-manifest-1")
    return context


def a_vector_of_no_file() -> TableContext:
    return _vector("data-gone.parquet", 1)


def a_vector_of_too_many_rows() -> TableContext:
    return _vector("", 11)


def a_vector_that_is_right() -> TableContext:
    return _vector("", 10)


def a_wrong_total() -> TableContext:
    context = three_appends()
    rewrite(context, 2, total_record_count=21)
    return context


def a_wrong_delta() -> TableContext:
    context = three_appends()
    rewrite(context, 2, delta_record_count=-5)
    return context


def a_wrong_number_of_changes() -> TableContext:
    context = three_appends()
    rewrite(context, 2, changelog_record_count=1)
    return context


def a_manifest_of_other_counts() -> TableContext:
    context = three_appends()
    last = context.snapshots.read(3)
    (manifest,) = context.manifests.read_list(last.delta_manifest_list)
    name, size = context.manifests.write_list([replace(manifest, num_added_files=2)])
    rewrite(context, 3, delta_manifest_list=name, delta_manifest_list_size=size)
    return context


def a_manifest_of_another_bucket_range() -> TableContext:
    context = three_appends()
    last = context.snapshots.read(3)
    (manifest,) = context.manifests.read_list(last.delta_manifest_list)
    name, size = context.manifests.write_list([replace(manifest, min_bucket=1, max_bucket=1)])
    rewrite(context, 3, delta_manifest_list=name, delta_manifest_list_size=size)
    return context


def a_tag_of_other_bytes() -> TableContext:
    context = three_appends()
    context.tags.create("t", context.snapshots.read(2))
    edit_json(context, context.paths.tag("t"), commitUser="somebody else")
    return context


def a_tag_that_is_none() -> TableContext:
    context = three_appends()
    context.storage.write(context.paths.tag("t"), b"[]")
    return context


def a_branch_without_schema() -> TableContext:
    context = three_appends()
    context.storage.write(f"{context.paths.branch_home('b')}/snapshot/LATEST", b"1")
    return context


def a_hint_that_is_none() -> TableContext:
    context = three_appends()
    context.storage.overwrite(context.paths.hint("LATEST"), b"\xffgarbage")
    return context


def a_stranger_among_the_snapshots() -> TableContext:
    context = three_appends()
    context.storage.write(f"{context.paths.snapshot_directory}/snapshot-04", b"{}")
    return context


def a_missing_schema() -> TableContext:
    context = three_appends()
    rewrite(context, 3, schema_id=77)
    return context


def a_file_of_a_missing_schema() -> TableContext:
    context = one_append()
    return record(context, added(replace(fake_file(context), schema_id=9)))


def a_gap_in_the_schemas() -> TableContext:
    context = three_appends()
    assert context.schemas.publish(replace(context.schema, id=2))
    return context


def a_field_id_used_again() -> TableContext:
    context = three_appends()
    *others, last = context.schema.fields
    assert context.schemas.publish(replace(context.schema, id=1, fields=tuple(others)))
    again = replace(last, name="w")
    assert context.schemas.publish(replace(context.schema, id=2, fields=(*others, again)))
    return context


def a_clock_that_went_back() -> TableContext:
    context = three_appends()
    rewrite(context, 3, time_millis=1500)
    return context


def a_watermark_that_went_back() -> TableContext:
    context = three_appends()
    rewrite(context, 2, watermark=10)
    rewrite(context, 3, watermark=9)
    return context


def a_name_that_leaves_the_table() -> TableContext:
    context = three_appends()
    rewrite(context, 3, base_manifest_list="../../../../etc/passwd")
    return context


def a_data_file_elsewhere() -> TableContext:
    context = one_append()
    return record(context, added(replace(fake_file(context), external_path="s3://elsewhere/x")))


# -- faults in rows ----------------------------------------------------------------------------------------------------


def _bytes_of_first(context: TableContext) -> tuple[str, bytes]:
    entry = context.manifests.entries_of(context.snapshots.read(1))[0]
    path = context.paths.data_file("", entry.bucket, entry.file.file_name)
    return path, context.storage.read(path)


def rows_that_do_not_decode() -> TableContext:
    context = real_table().context
    path, data = _bytes_of_first(context)
    context.storage.overwrite(path, data[:40] + bytes([data[40] ^ 1]) + data[41:])
    return context


def a_state_that_cannot_be_merged() -> TableContext:
    catalog = paimon.open_catalog(f"memory://broken-{next(_numbers)}")
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    schema = pa.schema([("k", pa.int32()), ("v", pa.int8())])
    table = catalog.create_table("db.t", schema, primary_key=["k"], options=options)
    for _ in range(2):
        table.write(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([100], pa.int8())}))
    return table.context


def a_compaction_that_changes_rows() -> TableContext:
    table, other = real_table(), real_table(19)
    table.compact(full=True)
    context = table.context
    entries = context.manifests.entries_of(context.snapshots.read(2))
    lost = other.context.manifests.entries_of(other.context.snapshots.read(1))
    deleted = [replace(e, kind=FileKind.DELETE) for e in context.manifests.entries_of(context.snapshots.read(1))]
    new = []
    for entry in lost:
        path = other.context.paths.data_file("", entry.bucket, entry.file.file_name)
        context.storage.write(
            context.paths.data_file("", entry.bucket, entry.file.file_name), other.context.storage.read(path)
        )
        new.append(replace(entry, file=replace(entry.file, level=5)))
    assert len(entries) == len(new)
    snapshot = rewrite(context, 2, **listed(context, [*deleted, *new]), total_record_count=19, delta_record_count=-1)
    assert snapshot.commit_kind is CommitKind.COMPACT
    return context


def _with_vectors() -> TableContext:
    """Return a real table of two levels, in the higher of which a deletion vector deletes a row."""
    table = real_table(3000, **{"bucket": "1", "deletion-vectors.enabled": "true", "write-only": "false"})
    table.compact()
    table.write(some_rows([7], "new"))
    assert table.latest_snapshot().index_manifest is not None
    return table.context


def a_key_that_is_visible_twice() -> TableContext:
    context = _with_vectors()
    rewrite(context, context.snapshots.latest_id() or 0, index_manifest=None)
    return context


def a_vector_with_another_bit() -> TableContext:
    context = _with_vectors()
    (index,) = context.storage.list(context.paths.index_directory)
    data = bytearray(context.storage.read(index.path))
    data[-5] ^= 1
    context.storage.overwrite(index.path, bytes(data))
    return context


def _with_dynamic_buckets() -> TableContext:
    return real_table(4, **{"bucket": "-1", "dynamic-bucket.target-row-num": "2"}).context


def a_dynamic_bucket_without_index() -> TableContext:
    context = _with_dynamic_buckets()
    snapshot = context.snapshots.read(1)
    entries = context.manifests.read_indexes(snapshot.index_manifest)
    rewrite(context, 1, index_manifest=context.manifests.write_indexes(entries[1:]))
    context.storage.delete([context.paths.manifest(snapshot.index_manifest or "")])
    return context


def a_key_hash_in_another_bucket() -> TableContext:
    context = _with_dynamic_buckets()
    first, second = (f.path for f in context.storage.list(context.paths.index_directory))
    swapped = context.storage.read(second), context.storage.read(first)
    for path, data in zip((first, second), swapped, strict=True):
        context.storage.overwrite(path, data)
    return context


def a_key_hash_that_is_missing() -> TableContext:
    context = _with_dynamic_buckets()
    path = context.storage.list(context.paths.index_directory)[0].path
    context.storage.overwrite(path, context.storage.read(path)[:4] + bytes(4))
    return context


def a_least_key_that_is_not() -> TableContext:
    return changed_record(of_file(min_key=key(-5)))


def other_sequence_numbers() -> TableContext:
    return changed_record(of_file(max_sequence_number=99))


def rows_in_another_bucket() -> TableContext:
    context = real_table().context
    entries = context.manifests.entries_of(context.snapshots.read(1))
    moved = []
    for entry in entries:
        source = context.paths.data_file("", entry.bucket, entry.file.file_name)
        context.storage.write(
            context.paths.data_file("", 1 - entry.bucket, entry.file.file_name), context.storage.read(source)
        )
        moved.append(replace(entry, bucket=1 - entry.bucket))
    return record(context, *moved)


def statistics_that_lie() -> TableContext:
    def lie(entry: ManifestEntry) -> ManifestEntry:
        most = entry.file.value_stats.max_values
        return of_file(value_stats=ColumnStats(most, most, (0, 0)))(entry)

    return changed_record(lie)


def nulls_that_are_none() -> TableContext:
    return changed_record(lambda e: of_file(value_stats=replace(e.file.value_stats, null_counts=(0, 3)))(e))


def deletes_that_are_none() -> TableContext:
    return changed_record(of_file(delete_row_count=1))


def _with_row_ids() -> Table:
    return real_table(key=False, **{"bucket": "-1", "bucket-key": None, "row-tracking.enabled": "true"})


def a_row_id_beyond_the_last() -> TableContext:
    context = _with_row_ids().context
    rewrite(context, 1, next_row_id=19)
    return context


def row_ids_of_two_files() -> TableContext:
    """The second file contains the ids 21 to 39, and the first one has them from 2 on."""
    table = _with_row_ids()
    table.write(some_rows(range(30, 50)))
    table.delete(paimon.col("k") == 30)
    context = table.context
    entries = context.manifests.entries_of(context.snapshots.read(3))
    context.storage.delete([context.paths.snapshot(snapshot_id) for snapshot_id in (2, 3)])
    context.storage.overwrite(context.paths.hint("LATEST"), b"1")
    rewrite(context, 1, next_row_id=40)
    return record(context, *(of_file(first_row_id=2)(e) if e.file.write_cols is None else e for e in entries))


def a_changelog_that_is_not_told() -> TableContext:
    table = real_table(**{"changelog-producer": "lookup", "write-only": "false"})
    table.write(some_rows(range(5), "w"))
    last = table.context.snapshots.latest()
    assert last is not None
    assert last.changelog_manifest_list is not None
    rewrite(
        table.context,
        last.id,
        changelog_manifest_list=None,
        changelog_manifest_list_size=None,
        changelog_record_count=None,
    )
    return table.context
