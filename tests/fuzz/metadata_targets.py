"""Targets: the metadata files of a table, and the records that processes send to each other."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest import mock

import paimon_core as paimon
from paimon_core.codec.avro.container import write_avro
from paimon_core.codec.binary_row.rows import decode_row, encode_row, row_decoder, to_array
from paimon_core.codec.partition_text import partition_values
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.errors import PaimonError
from paimon_core.group.record import GroupVersion, Intent, Member, Mode, Part
from paimon_core.maintain.planning.plan import Plan
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests import entry_decoder
from paimon_core.metadata.manifests.entry_columns import values_of
from paimon_core.metadata.manifests.index_names import index_file_names
from paimon_core.metadata.manifests.manifest_file import decode_entries, decode_list, live_entries
from paimon_core.metadata.statistics import Statistics
from paimon_core.metadata.stores import consumer_store
from paimon_core.metadata.stores.branch_store import BranchStore
from paimon_core.metadata.stores.changelog_store import ChangelogStore
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.metadata.stores.tag_store import TagStore
from paimon_core.metadata.success_file import write_success_file
from paimon_core.plan.split import Split
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths, partition_path
from paimon_core.types import parse_type
from tests.fuzz.containers import of_avro
from tests.fuzz.mutators import of_bytes, of_json
from tests.fuzz.target import Target
from tests.support import broken_tables

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
STORAGE = FsspecStorage("memory")
PATHS = TablePaths("/fuzz/db.db/t")
TYPES = tuple(
    parse_type(t)
    for t in (
        "INT",
        "STRING",
        "DECIMAL(30, 4)",
        "TIMESTAMP(9)",
        "DOUBLE",
        "DATE",
        "BYTES",
        "BOOLEAN",
        "TIME(3)",
        "DECIMAL(9, 2)",
        "FLOAT",
        "TIMESTAMP_LTZ(3)",
    )
)


def _golden(*patterns: str) -> list[bytes]:
    return [p.read_bytes() for pattern in patterns for p in sorted(GOLDEN.glob(pattern)) if p.is_file()]


@cache
def _table() -> paimon.Table:
    table = broken_tables.real_table(40, **{"changelog-producer": "lookup", "write-only": "false"})
    table.tags.create("t", keep_for=datetime.timedelta(days=1))
    table.delete(paimon.col("k") < 20)
    table.analyze()
    return table


def _own(part: str) -> list[bytes]:
    storage = _table().context.storage
    walk = sorted(i.path for i in storage.walk(_table().context.paths.root))
    return [storage.read(p) for p in walk if part in p]


def _manifests(lists: bool) -> list[bytes]:
    files = _golden("*/**/manifest/manifest-*") + _own("/manifest/manifest-")
    names = [str(p) for p in sorted(GOLDEN.glob("*/**/manifest/manifest-*"))]
    storage = _table().context.storage
    names += [
        p for p in sorted(i.path for i in storage.walk(_table().context.paths.root)) if "/manifest/manifest-" in p
    ]
    return [f for f, name in zip(files, names, strict=True) if ("manifest-list-" in name) == lists]


def _stored(path: str, read: Callable[[], object]) -> Callable[[bytes], object]:
    """Return a parser that stores the bytes under ``path`` and reads them."""

    def run(data: bytes) -> object:
        STORAGE.overwrite(path, data)
        return read()

    return run


def _schema(data: bytes) -> object:
    STORAGE.overwrite(PATHS.schema(0), data)
    schema = SchemaStore(STORAGE, PATHS).read(0)
    context = TableContext.of("db.t", STORAGE, PATHS.root, schema)
    found = context.schema.arrow, context.schema.file_fields, context.bucket_keys, context.options.ignored
    context.schema.to_json()
    return found


def _manifest(data: bytes) -> object:
    with mock.patch.object(entry_decoder, "FEW_BYTES", -1):
        entries = list(values_of(entry_decoder.decode_manifests([(data, "m")])[0]))
    assert entries == decode_entries(data, "m")
    for entry in entries[:50]:
        for row in (entry.partition, entry.file.min_key, entry.file.max_key):
            with contextlib.suppress(PaimonError):
                decode_row(row, TYPES[:1])
    return live_entries(entries)


def _manifest_list(data: bytes) -> object:
    store = ManifestStore(STORAGE, PATHS, TYPES[:1])
    return [store.may_hold(f, [b"\0\0\0\1" + bytes(16)]) for f in decode_list(data, "l")]


def _binary_row(data: bytes) -> object:
    types = TYPES[data[0] % len(TYPES) :] if data else TYPES
    types = types[: data[1] % len(types) + 1] if len(data) > 1 else types
    return [to_array([value], t) for value, t in zip(row_decoder(types)(data[2:]), types, strict=True)]


def _partition(data: bytes) -> object:
    types = (TYPES[data[0] % len(TYPES)],) if data else TYPES[:1]
    values = row_decoder(types)(data[2:])
    for legacy in (True, False):
        with contextlib.suppress(PaimonError):
            texts = partition_values(values, types, legacy=legacy, default_name="__DEFAULT_PARTITION__")
            path = partition_path(("p",), texts)
            assert path.count("/") == 0
            assert path not in (".", "..")
    return None


def _rows() -> list[bytes]:
    values = [7, "a longer text", None, None, 1.5, 3, b"xyz", True, 5, None, 2.5, 10**12]
    rows = [bytes([0, len(TYPES) - 1]) + encode_row(values, TYPES)]
    return rows + [bytes([n, 0]) + encode_row(values[n : n + 1], TYPES[n : n + 1]) for n in range(len(TYPES))]


_HINTS = (PATHS.hint("LATEST"), PATHS.consumer("c"), PATHS.branch_mark("b"), "/fuzz/_SUCCESS")


def _small_files(data: bytes) -> object:
    for path in _HINTS:
        STORAGE.overwrite(path, data)
    write_success_file(STORAGE, _HINTS[3], 1)
    with contextlib.suppress(PaimonError):
        BranchStore(STORAGE, PATHS).mark("b")
    with contextlib.suppress(PaimonError), mock.patch.object(consumer_store, "_PAUSES", ()):
        consumer_store.ConsumerStore(STORAGE, PATHS).list()
    return SnapshotStore(STORAGE, PATHS).latest_id(), SnapshotStore(STORAGE, PATHS).earliest_id()


def _records() -> list[bytes]:
    table = _table()
    latest = table.context.snapshots.latest()
    assert latest is not None
    entries = table.context.manifests.entries_of(latest)
    messages = [CommitMessage(e.partition, e.bucket, e.total_buckets, (e.file,)) for e in entries[:2]]
    files = tuple(e.file for e in entries[:2])
    return [
        messages[0].to_bytes(),
        table.scan().splits()[0].to_bytes(),
        table.maintenance.plan_tag_deletion("t").to_bytes(),
        Intent(1, "t", {"db.t": Part(Mode.APPEND, tuple(messages))}, {"a": "b"}).to_bytes(),
        GroupVersion(1, {"db.t": Member(1, "t")}, 5, {"a": "b"}).to_bytes(),
        CompactionTask(b"", 0, 1, AppendUnit((files,))).to_bytes(),
    ]


def _record(data: bytes) -> object:
    out = []
    for kind in (CommitMessage, Split, Plan, Intent, GroupVersion, CompactionTask):
        with contextlib.suppress(PaimonError):
            out.append(kind.from_bytes(data))
    return out


def _seeds(*groups: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    return lambda: [one for group in groups for one in group()]


_SNAPSHOTS = _seeds(lambda: _golden("*/**/snapshot/snapshot-*"), lambda: _own("/snapshot/snapshot-"))
TARGETS = (
    Target("snapshot", _stored(PATHS.snapshot(1), lambda: SnapshotStore(STORAGE, PATHS).read(1)), _SNAPSHOTS, of_json),
    Target(
        "changelog", _stored(PATHS.changelog(1), lambda: ChangelogStore(STORAGE, PATHS).read(1)), _SNAPSHOTS, of_json
    ),
    Target(
        "schema", _schema, _seeds(lambda: _golden("*/**/schema/schema-*"), lambda: _own("/schema/schema-")), of_json
    ),
    Target(
        "tag",
        _stored(PATHS.tag("t"), lambda: TagStore(STORAGE, PATHS).read("t")),
        _seeds(lambda: _golden("*/**/tag/tag-*"), lambda: _own("/tag/tag-")),
        of_json,
    ),
    Target("manifest", _manifest, lambda: _manifests(False), of_avro),
    Target("manifest-list", _manifest_list, lambda: _manifests(True), of_avro),
    Target("index-manifest", lambda data: index_file_names(data, "i"), lambda: [_index()], of_avro),
    Target(
        "statistics",
        _stored("/fuzz/stat", lambda: Statistics.read(STORAGE, "/fuzz/stat")),
        lambda: _own("/statistics/stat"),
        of_json,
    ),
    Target("binary-row", _binary_row, _rows, of_bytes),
    Target("partition", _partition, lambda: _rows()[1:], of_bytes),
    Target("small-files", _small_files, lambda: [b"5", b'{\n  "nextSnapshot" : 5\n}', b'{"doing": "rename"}'], of_json),
    Target("records", _record, _records, of_json),
)


def _index() -> bytes:
    record = {
        "_VERSION": 1,
        "_KIND": 0,
        "_PARTITION": b"",
        "_BUCKET": 0,
        "_INDEX_TYPE": "DELETION_VECTORS",
        "_FILE_NAME": "index-1",
        "_FILE_SIZE": 9,
        "_ROW_COUNT": 1,
        "_DELETIONS_VECTORS_RANGES": [{"f0": "data-1.parquet", "f1": 1, "f2": 22, "_CARDINALITY": 1}],
    }
    return write_avro(broken_tables._INDEX, [record])
