"""Tables of metadata only: data files contain a few bytes, because commits and expiry never open them."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import time
from collections.abc import Iterator

import pyarrow as pa

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit import numbering
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.expiry.snapshots import ExpireReport, expire
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.schema import new_schema
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.storage import Storage
from paimon_core.types import parse_type
from tests.support.commits import commit

_numbers = itertools.count()
EVERYTHING = Retention(retain_min=1, retain_max=1000, older_than_millis=10**15, limit=1000)
"""A retention that expires as many snapshots as possible."""
RULES = tuple(f.name for f in dataclasses.fields(Retention))
FAST = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "4 ms"}


def fake_table(
    storage: Storage | None = None, *, root: str | None = None, keyed: bool = True, **options: str
) -> TableContext:
    """Create a table (p string partition, k int key, v int), in memory by default."""
    storage = storage or FsspecStorage("memory")
    root = root or f"/fake-{next(_numbers)}/db.db/t"
    schema = new_schema(
        pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int32())]),
        primary_key=["p", "k"] if keyed else [],
        partition_by=["p"],
        options={"bucket": "2" if keyed else "-1", **FAST, **{k.replace("_", "."): v for k, v in options.items()}},
    )
    context = TableContext.of("db.t", storage, root, schema)
    assert context.schemas.publish(schema)
    return context


@contextlib.contextmanager
def fake_rows() -> Iterator[None]:
    """Patch renumbering to change only the entries of files, because fake files have no rows."""
    real = numbering.renumber
    numbering.renumber = lambda context, flush, file, shift: (
        dataclasses.replace(
            file,
            min_sequence_number=file.min_sequence_number + shift,
            max_sequence_number=file.max_sequence_number + shift,
        ),
    )
    try:
        yield
    finally:
        numbering.renumber = real


def reopened(context: TableContext, storage: Storage) -> TableContext:
    """Return the same table with another storage and empty caches."""
    return TableContext.of(context.name, storage, context.paths.root, context.schema)


def replaced(context: TableContext) -> TableContext:
    """Drop the table and create another one with the same columns at its path; return its context."""
    context.storage.delete_directory(context.paths.root)
    schema = dataclasses.replace(context.schema, time_millis=context.schema.time_millis + 1)
    context.schemas.publish(schema)
    return context.reopened(schema)


def partition(value: str | None) -> bytes:
    return encode_row([value], [parse_type("STRING")])


def key(value: int) -> bytes:
    return encode_row([value], [parse_type("INT NOT NULL")])


def fake_file(
    context: TableContext,
    low: int = 0,
    high: int = 9,
    *,
    level: int = 0,
    rows: int = 10,
    of: str = "a",
    bucket: int = 0,
    name: str | None = None,
) -> DataFile:
    """Write a fake data file, and return its metadata with keys from low to high."""
    name = name or f"data-00000000-0000-4000-8000-{next(_numbers):012d}-0.parquet"
    path = context.paths.data_file(context.partition_path(partition(of)), bucket, name)
    context.storage.write(path, b"rows")
    millis = time.time_ns() // 1_000_000
    local = millis + time.localtime(millis // 1000).tm_gmtoff * 1000
    keys = (key(low), key(high)) if context.is_keyed else (DataFile("", 0, 0, 0).min_key,) * 2
    numbers = (next(_numbers) * 1000 + 1, next(_numbers) * 1000) if level == 0 else (0, 0)
    return DataFile(
        name,
        4,
        rows,
        0,
        level,
        *keys,
        min_sequence_number=numbers[0],
        max_sequence_number=numbers[1],
        creation_time_millis=local,
        delete_row_count=0,
    )


def message(
    context: TableContext,
    *new: DataFile,
    of: str | None = "a",
    bucket: int = 0,
    total: int | None = None,
    deleted: tuple[DataFile, ...] = (),
    before: tuple[DataFile, ...] = (),
    after: tuple[DataFile, ...] = (),
    changelog: tuple[DataFile, ...] = (),
    compact_changelog: tuple[DataFile, ...] = (),
) -> CommitMessage:
    total = (2 if context.is_keyed else -1) if total is None else total
    return CommitMessage(partition(of), bucket, total, new, deleted, before, after, changelog, compact_changelog)


def append(context: TableContext, *files: DataFile, user: str = "u", **kwargs) -> Snapshot:
    """Commit files (default: a fresh one) to partition a, bucket 0."""
    (snapshot,) = commit([message(context, *(files or (fake_file(context),)))], context=context, user=user, **kwargs)
    return snapshot


def live(context: TableContext, snapshot: Snapshot | None = None) -> set[tuple[str, int, str]]:
    """Return (bucket directory, level, file name) of every live file."""
    snapshot = snapshot or context.snapshots.latest()
    entries = context.manifests.entries_of(snapshot) if snapshot else []
    return {
        (f"{context.partition_path(e.partition)}/bucket-{e.bucket}", e.file.level, e.file.file_name) for e in entries
    }


def changelog_entries(context: TableContext, snapshot: Snapshot) -> list[ManifestEntry]:
    """Return the entries of the snapshot's changelog files."""
    name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    manifests = [] if name is None else context.manifests.read_list(name, size)
    return [e for m in manifests for e in context.manifests.read_manifest(m.file_name, m.file_size)]


def changelog(context: TableContext, snapshot: Snapshot) -> set[str]:
    """Return the names of the snapshot's changelog files."""
    return {e.file.file_name for e in changelog_entries(context, snapshot)}


def check_whole(context: TableContext, *, contiguous: bool = True) -> None:
    """Check that all files of every live snapshot and tag exist, and that ids and row counts are right."""
    ids = context.snapshots.ids()
    assert not contiguous or not ids or ids == list(range(ids[0], ids[-1] + 1))
    snapshots = [context.snapshots.read(i) for i in ids]
    for snapshot in [*snapshots, *(t.snapshot for t in context.tags.list())]:
        entries = context.manifests.entries_of(snapshot)
        assert snapshot.total_record_count == sum(e.file.row_count for e in entries)
        changes = changelog_entries(context, snapshot) if snapshot.id in ids else []
        assert snapshot.id not in ids or (snapshot.changelog_record_count or 0) == sum(
            e.file.row_count for e in changes
        )
        for entry in [*entries, *changes]:
            directory = context.partition_path(entry.partition)
            path = context.paths.data_file(directory, entry.bucket, entry.file.file_name)
            assert context.storage.exists(path), f"snapshot {snapshot.id} lacks {path}"
    for before, after in itertools.pairwise(snapshots):
        assert before.time_millis <= after.time_millis


def files_on_storage(context: TableContext) -> set[str]:
    """Return the names of all existing data and metadata files, without hints."""
    root = context.paths.root
    found = set()
    folders = [root]
    while folders:
        for entry in context.storage.list(folders.pop()):
            if entry.is_directory:
                folders.append(entry.path)
            elif entry.name not in ("LATEST", "EARLIEST"):
                found.add(entry.path.removeprefix(root + "/"))
    return found


def compacted() -> tuple[TableContext, list[str]]:
    """Return a table with 5 snapshots: append a; append b; compact a and b to c (level 4); c to level 5; append d."""
    context = fake_table()
    a, b, c, d = fake_file(context), fake_file(context), fake_file(context, level=4, rows=20), fake_file(context)
    append(context, a, now_millis=1000)
    append(context, b, now_millis=2000)
    commit([message(context, before=(a, b), after=(c,))], context=context, user="c", now_millis=3000)
    commit([message(context, before=(c,), after=(c.upgraded(5),))], context=context, user="c", now_millis=4000)
    append(context, d, now_millis=5000)
    return context, [f.file_name for f in (a, b, c, d)]


def data_files(context: TableContext) -> set[str]:
    return {path.rsplit("/", 1)[1] for path in files_on_storage(context) if "/bucket-" in path}


def assert_nothing_is_left_over(context: TableContext) -> None:
    """Check that every file on the storage is used by a live snapshot or a tag, or is the last schema."""
    used = {f"schema/schema-{i}" for i in context.schemas.ids()}
    used |= {f"tag/tag-{t.name}" for t in context.tags.list()}
    used |= {f"snapshot/snapshot-{i}" for i in context.snapshots.ids()}
    snapshots = [context.snapshots.read(i) for i in context.snapshots.ids()]
    for snapshot in [*snapshots, *(t.snapshot for t in context.tags.list())]:
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            used.add(f"manifest/{name}")
            used |= {f"manifest/{m.file_name}" for m in context.manifests.read_list(name)}
        used |= {f"{place}/{name}".lstrip("/") for place, _, name in live(context, snapshot)}
    for snapshot in snapshots:
        if snapshot.changelog_manifest_list is not None:
            used.add(f"manifest/{snapshot.changelog_manifest_list}")
            used |= {f"manifest/{m.file_name}" for m in context.manifests.read_list(snapshot.changelog_manifest_list)}
        for entry in changelog_entries(context, snapshot):
            place = "/".join(filter(None, (context.partition_path(entry.partition), f"bucket-{entry.bucket}")))
            used.add(f"{place}/{entry.file.file_name}")
    assert files_on_storage(context) == used


def table_of(count: int, *, millis: int = 1000, **options: str) -> TableContext:
    """Return a table with snapshots 1, 2, ... committed at 1000, 2000, ... ms."""
    context = fake_table(**options)
    for number in range(1, count + 1):
        append(context, now_millis=number * millis)
    return context


def expire_all(context: TableContext, **kwargs) -> ExpireReport:
    """Expire with ``EVERYTHING``, changed by the given rules."""
    rules = {name: kwargs.pop(name) for name in RULES if name in kwargs}
    return expire(context, dataclasses.replace(EVERYTHING, **rules), **kwargs)
