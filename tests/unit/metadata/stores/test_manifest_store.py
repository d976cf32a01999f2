import math
import pickle
import random
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pytest

from paimon_core.codec.binary_row.rows import decode_row, encode_row
from paimon_core.errors import CorruptTable, SnapshotNotFound, StorageError
from paimon_core.metadata.column_stats import EMPTY_ROW, EMPTY_STATS
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests import entry_decoder
from paimon_core.metadata.manifests.described import describe, partition_stats
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores import manifest_cache, manifest_store
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from paimon_core.types import parse_type

STRING = parse_type("STRING")


@pytest.fixture
def store():
    storage, root = FsspecStorage("memory"), f"/{uuid.uuid4()}"
    yield ManifestStore(storage, TablePaths(root), [])
    storage.delete_directory(root)


def entry(name, *, kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, **file):
    return ManifestEntry(kind, partition, bucket, 2, DataFile(name, 1, 10, **({"schema_id": 0} | file)))


def snapshot_of(store, base, delta):
    """An unpublished snapshot of these entries."""
    lists = [store.write_list(store.write_manifests(entries, 1 << 20)) for entries in (base, delta)]
    (base_name, base_size), (delta_name, delta_size) = lists
    sizes = {"base_manifest_list_size": base_size, "delta_manifest_list_size": delta_size}
    return Snapshot(1, 0, base_name, delta_name, "u", 1, CommitKind.APPEND, 0, 0, 0, **sizes)


def test_what_is_written_is_read(store):
    entries = [entry("a"), entry("b", kind=FileKind.DELETE)]
    (file,) = store.write_manifests(entries, 1 << 20)
    assert (file.num_added_files, file.num_deleted_files) == (1, 1)
    assert store.read_manifest(file.file_name, file.file_size) == entries
    name, size = store.write_list([file])
    assert store.read_list(name) == store.read_list(name, size) == [file]
    assert size == len(store.storage.read(store.paths.manifest(name)))


def test_no_entries_write_no_manifest_but_a_list(store):
    assert store.write_manifests([], 1) == []
    assert store.read_list(*store.write_list([])) == []


def test_the_live_files_of_a_snapshot(store):
    base = [entry("a"), entry("b", level=0)]
    delta = [entry("b", kind=FileKind.DELETE), entry("b", level=5), entry("never there", kind=FileKind.DELETE)]
    assert store.entries_of(snapshot_of(store, base, delta)) == [entry("a"), entry("b", level=5)]


def test_manifests_roll_at_the_target_size(store):
    entries = [entry(f"data-{number}", min_key=random.randbytes(50)) for number in range(1000)]
    target = 12_000
    files = store.write_manifests(entries, target)
    assert len(files) > 3
    assert all(target <= file.file_size < 1.3 * target for file in files[:-1])
    assert files[-1].file_size < 1.3 * target
    assert [e for file in files for e in store.read_manifest(file.file_name, file.file_size)] == entries


def test_a_target_below_any_manifest(store):
    assert len(store.write_manifests([entry("a"), entry("b")], 1)) == 2


def test_entries_of_uneven_sizes_roll_too(store):
    entries = [entry(f"big-{n}", embedded_index=random.randbytes(256 * n)) for n in (1, 40, 40, 1, 1, 1)]
    entries += [entry(f"small-{n}") for n in range(300)]
    files = store.write_manifests(entries, 4000)
    assert all(file.file_size >= 4000 for file in files[:-1])
    assert [e for file in files for e in store.read_manifest(file.file_name)] == entries


def test_a_failed_write_leaves_no_manifest(store, monkeypatch):
    real = FsspecStorage.write
    left = iter([True])

    def write_one(self, path, data):
        if not next(left, False):
            raise StorageError(f"cannot write {path}")
        real(self, path, data)

    monkeypatch.setattr(FsspecStorage, "write", write_one)
    with pytest.raises(StorageError):
        store.write_manifests([entry("a"), entry("b")], 1)
    assert store.storage.list(store.paths.manifest_directory) == []


def test_stores_that_were_copied_never_share_a_name(store):
    stores = [store, store, pickle.loads(pickle.dumps(store))]  # noqa: S301
    names = {s.write_manifests([entry("a")], 1)[0].file_name for s in stores} | {s.write_list([])[0] for s in stores}
    assert len(names) == 6


def test_missing_and_changed_files_are_named(store):
    (file,) = store.write_manifests([entry("a")], 1 << 20)
    with pytest.raises(
        CorruptTable, match=rf"manifest/{file.file_name} has {file.file_size} bytes, but 7 are recorded"
    ):
        store.read_manifest(file.file_name, 7)
    with pytest.raises(CorruptTable, match="manifest/manifest-list-x is missing"):
        store.read_list("manifest-list-x")
    with pytest.raises(CorruptTable, match="not a plain name"):
        store.read_manifest("../../etc/passwd")
    store.storage.overwrite(store.paths.manifest("garbage"), b"garbage")
    with pytest.raises(CorruptTable, match="manifest/garbage"):
        store.read_manifest("garbage")


def test_a_missing_manifest_of_an_expired_snapshot(store):
    snapshot = snapshot_of(store, [], [entry("a")])
    store.storage.delete([store.paths.manifest(snapshot.delta_manifest_list)])
    with pytest.raises(SnapshotNotFound, match=r"snapshot 1 .*has expired"):
        store.entries_of(snapshot)
    store.storage.write(store.paths.snapshot(1), snapshot.to_json().encode())
    with pytest.raises(CorruptTable, match="is missing"):
        store.entries_of(snapshot)


def test_manifests_are_read_once_within_bounds(store, monkeypatch):
    store.cache = manifest_cache.ManifestCache(max_bytes=5 * manifest_cache.VALUE_BYTES)
    reads = []
    real = FsspecStorage.read
    monkeypatch.setattr(
        FsspecStorage, "read", lambda self, path: (reads.append(path.rsplit("/")[-1]), real(self, path))[1]
    )
    names = {}
    for name, count in (("a", 2), ("b", 2), ("c", 2), ("d", 4), ("e", 6)):
        names[name] = store.write_manifests([entry(f"{name}{n}") for n in range(count)], 1 << 20)[0].file_name

    def read(order):
        reads.clear()
        for name in order:
            assert len(store.read_manifest(names[name])) == (4 if name == "d" else 6 if name == "e" else 2)
        return "".join(key for read in reads for key, value in names.items() if value == read)

    assert read("aabba") == "ab"
    assert read("ca") == "c"  # c replaced b, which was used longest ago
    assert read("b") == "b"
    assert read("d") == "d"  # there is no room for two more entries
    assert read("bd") == "bd"
    assert read("ee") == "ee"  # too large to be cached
    assert pickle.loads(pickle.dumps(store)).cache.find(store.paths.manifest(names["e"])) is None  # noqa: S301


def test_a_caller_may_change_the_returned_list(store):
    (file,) = store.write_manifests([entry("a")], 1 << 20)
    store.read_manifest(file.file_name).clear()
    assert store.read_manifest(file.file_name) == [entry("a")]


def test_what_a_list_records_of_a_manifest():
    entries = [
        entry("a", bucket=3, level=0, schema_id=2),
        entry("b", bucket=1, level=5, schema_id=4),
        entry("c", kind=FileKind.DELETE, bucket=2, level=2),
    ]
    assert describe("m", 99, entries, []) == ManifestFile("m", 99, 2, 1, EMPTY_STATS, 4, 1, 3, 0, 5, None, None)


def test_row_ids_are_recorded_when_every_file_has_them():
    tracked = [entry("a", first_row_id=40), entry("b", first_row_id=5)]
    assert (describe("m", 1, tracked, []).min_row_id, describe("m", 1, tracked, []).max_row_id) == (5, 49)
    assert describe("m", 1, [*tracked, entry("c")], []).max_row_id is None


def stats_of(types, rows):
    parsed = [parse_type(t) for t in types]
    stats = partition_stats([entry("f", partition=encode_row(row, parsed)) for row in rows], parsed)
    return decode_row(stats.min_values, parsed), decode_row(stats.max_values, parsed), stats.null_counts


def test_partition_ranges_are_never_shortened():
    long = "x" * 5000
    assert stats_of(["STRING"], [(long + "b",), (long + "a",)]) == ((long + "a",), (long + "b",), (0,))


def test_partition_ranges_by_type():
    types = ["INT", "STRING", "DECIMAL(20, 2)", "BYTES", "BOOLEAN", "TIMESTAMP(9)"]
    low = (-5, "Z", Decimal("-1.00"), b"\x01\xff", False, -1)
    high = (7, "ä", Decimal("1.00"), b"\xff", True, 2**62)
    assert stats_of(types, [high, low]) == (low, high, (0, 0, 0, 0, 0, 0))


def test_nulls_are_counted_per_entry():
    rows = [(None, 1), (None, 1), ("b", None), ("a", None), ("a", None)]
    assert stats_of(["STRING", "INT"], rows) == (("a", 1), ("b", 1), (2, 3))
    assert stats_of(["STRING"], [(None,), (None,)]) == ((None,), (None,), (2,))


def test_nan_partitions_are_ordered_last():
    low, high, _ = stats_of(["DOUBLE"], [(math.nan,), (0.0,), (-0.0,), (math.inf,)])
    assert math.copysign(1, low[0]) == -1
    assert low[0] == 0
    assert math.isnan(high[0])


def test_a_partition_that_does_not_decode():
    with pytest.raises(CorruptTable):
        partition_stats([entry("f", partition=b"\0\0\0\1")], [STRING])


def test_a_not_null_column_has_a_range(store):
    types = [parse_type("STRING NOT NULL")]
    keyed = ManifestStore(store.storage, store.paths, types)
    row = encode_row(["a"], types)
    (file,) = keyed.write_manifests([replace(entry("f"), partition=row)], 1 << 20)
    assert file.partition_stats.min_values == file.partition_stats.max_values == row


def test_a_large_manifest_is_read_in_part_until_it_is_cached(store, monkeypatch):
    monkeypatch.setattr(manifest_store, "WHOLE_BYTES", 0)
    monkeypatch.setattr(entry_decoder, "FEW_BYTES", -1)
    store.partition_types = (parse_type("INT"),)
    rows = [encode_row([p], store.partition_types) for p in range(4)]
    entries = [entry(f"f{at}", partition=rows[at // 300]) for at in range(1200)]
    (file,) = store.write_manifests(entries, 1 << 30)
    wanted = [e for e in entries if e.partition == rows[2]]
    monkeypatch.setattr(manifest_cache, "PARTIAL_READS", 4)
    for _ in range(2):
        assert store.read_holding(file, {rows[2]}) == wanted
        assert len(store.read_columns([file], {rows[2]})) < 1000
    assert store.cache.find(store.paths.manifest(file.file_name)) is None
    assert store.read_holding(file, {rows[2]}) == wanted
    assert store.cache.find(store.paths.manifest(file.file_name)).entries() == entries
    assert store.cache.find(store.paths.manifest(file.file_name)).nbytes < len(entries) * manifest_cache.VALUE_BYTES
    assert store.read_holding(file, {rows[0]}) == entries[:300]


@pytest.mark.parametrize("partitions", [1, 9])
def test_the_live_files_of_some_partitions_of_a_large_manifest(store, monkeypatch, partitions):
    monkeypatch.setattr(manifest_store, "WHOLE_BYTES", 0)
    store.partition_types = (STRING,)
    rows = [encode_row([f"p{p}" * (1 + p % 3)], store.partition_types) for p in range(12)]
    entries = [entry(f"f{at}", partition=rows[at % 12]) for at in range(600)]
    deletes = [replace(e, kind=FileKind.DELETE) for e in entries[::7]]
    snapshot = snapshot_of(store, entries, deletes)
    among = set(rows[:partitions])
    assert store.entries_of(snapshot, among) == [e for e in store.entries_of(snapshot) if e.partition in among]


@dataclass(frozen=True)
class Computed:
    """A result of ``size`` bytes that may share ``part`` with other results."""

    size: int
    part: np.ndarray | None = None

    def memory(self):
        return {id(self): self.size, **({} if self.part is None else {id(self.part): self.part.nbytes})}


def test_what_was_computed_from_manifests_is_kept_within_bounds():
    cache = manifest_cache.ManifestCache(max_bytes=80)

    def kept(key, size, part=None):
        return cache.computed(("a kind", key), lambda: Computed(size, part)).size

    assert (kept("a", 30), kept("b", 40)) == (30, 40)
    assert (kept("a", 0), kept("b", 0)) == (30, 40)
    assert kept("c", 60) == 60  # more than 80 bytes with either of the others
    assert (kept("c", 0), kept("a", 10)) == (60, 10)
    assert (kept("d", 81), kept("d", 82)) == (81, 82)
    shared = np.zeros(5, np.int64)
    assert [kept(key, 10, shared) for key in "efgh"] == [10] * 4  # 80 bytes, because the part counts once
    assert [kept(key, 0) for key in "efgh"] == [10] * 4
    assert (cache.nbytes, cache.keys("a kind"), cache.keys("other")) == (80, ["e", "f", "g", "h"], [])
    assert cache.known(("a kind", "e"), Computed).size == 10
    assert cache.known(("a kind", "a"), Computed) is None


def test_tables_used_in_turn_keep_their_results_and_one_table_only_its_newest():
    cache = manifest_cache.ManifestCache(max_bytes=10**6)
    for snapshot in range(3):
        for table in range(60):
            for kind in ("older", "parts"):
                cache.computed((kind, (f"/db/t{table}/manifest/m{snapshot}",)), lambda: Computed(1))
    found = cache.keys("parts")
    assert [name for (name,) in found if "/t7/" in name] == ["/db/t7/manifest/m1", "/db/t7/manifest/m2"]
    assert cache.nbytes == 60 * manifest_cache.KEPT_OF_TABLE
    for table in range(manifest_cache.KEPT_RESULTS):
        cache.computed(("parts", (f"/db/other{table}/manifest/m",)), lambda: Computed(1))
    assert cache.nbytes == manifest_cache.KEPT_RESULTS


def test_a_full_cache_removes_manifests_before_results(store):
    (file,) = store.write_manifests([entry("a")], 1 << 20)
    store.cache = manifest_cache.ManifestCache(max_bytes=manifest_cache.VALUE_BYTES)
    store.read_manifest(file.file_name)
    assert store.cache.nbytes == manifest_cache.VALUE_BYTES
    store.cache.computed(("a kind", "a"), lambda: Computed(1))
    assert (store.cache.nbytes, store.cache.find(store.paths.manifest(file.file_name))) == (1, None)


def test_the_default_memory_is_a_share_of_the_limit_of_the_container(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(manifest_cache, "_GROUP_LIMITS", (str(limit), str(tmp_path / "missing")))

    def found(text):
        limit.write_text(text)
        manifest_cache.default_bytes.cache_clear()
        return manifest_cache.default_bytes()

    try:
        whole = found("max")
        assert found(str(8 * (whole - 8))) == max(whole - 8, manifest_cache.LEAST_BYTES)
        assert found("1000") == manifest_cache.LEAST_BYTES
    finally:
        manifest_cache.default_bytes.cache_clear()
