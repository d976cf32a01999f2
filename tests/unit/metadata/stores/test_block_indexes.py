"""A process that starts cold, with the index of a manifest in the local cache, unpacks few of its blocks."""

import os
import random
import uuid
from dataclasses import replace

import pytest

from paimon_core.codec.avro.blocks import read_blocks, record_counts
from paimon_core.codec.avro.container import AvroReader
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.errors import CorruptTable
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.block_partitions import BlockPartitions
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns, values_of
from paimon_core.metadata.manifests.manifest_file import encode_entries
from paimon_core.metadata.stores import block_indexes, manifest_store
from paimon_core.metadata.stores.block_indexes import index_name
from paimon_core.metadata.stores.manifest_cache import PARTIAL_READS, ManifestCache
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.local_cache import LocalCache
from paimon_core.storage.paths import TablePaths
from paimon_core.types import parse_type

DAY = [parse_type("INT NOT NULL")]
DAYS = 50


def entries(count, day):
    return [
        ManifestEntry(FileKind.ADD, encode_row([day(n)], DAY), 0, 1, DataFile(f"data-{uuid.uuid4()}-0.orc", 1, n, 0))
        for n in range(count)
    ]


ORDERED = entries(5000, lambda n: n * DAYS // 5000)
MIXED = entries(5000, lambda n: random.Random(n).randrange(DAYS))
DATA = encode_entries(ORDERED, "zstd")


@pytest.fixture
def unpacked(monkeypatch):
    """A list that gets an item for each block that is unpacked."""
    calls = []
    next_block = AvroReader.next_block

    def counted(self, limit):
        found = next_block(self, limit)
        calls.extend([found] if found is not None else [])
        return found

    monkeypatch.setattr(AvroReader, "next_block", counted)
    return calls


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A function that returns the store of a new process, with or without the local cache."""
    monkeypatch.setattr(block_indexes, "LEAST_BYTES", 1000)
    monkeypatch.setattr(manifest_store, "WHOLE_BYTES", 1000)
    files = LocalCache(str(tmp_path / "cache"), 1 << 30, "store")
    paths = TablePaths(str(tmp_path / "table"))

    def opened(cached=True):
        return ManifestStore(FsspecStorage(), paths, DAY, cache=ManifestCache(files if cached else None))

    return opened


def test_blocks_that_are_not_chosen_are_not_unpacked(unpacked):
    counts = record_counts(DATA, "m")
    assert (len(counts) > 8, sum(counts), unpacked) == (True, 5000, [])
    _, every = read_blocks(DATA, "m")
    chosen = [n % 3 == 1 for n in range(len(counts) - 2)]
    unpacked.clear()
    _, some = read_blocks(DATA, "m", chosen)
    assert [b.data for b in some] == [b.data for b, keep in zip(every, [*chosen, True, True], strict=True) if keep]
    assert unpacked == some


def test_an_index_names_the_blocks_of_each_partition():
    index = BlockPartitions.of(EntryColumns.of_entries(ORDERED), DATA, "m")
    again = BlockPartitions.from_bytes(index.to_bytes())
    _, blocks = read_blocks(DATA, "m")
    for day in (0, 7, DAYS - 1, DAYS):
        text = encode_row([day], DAY)
        found = index.holding([text])
        assert found == again.holding([text]) == [text in block.data for block in blocks]
        assert sum(found) <= 2
    assert index.holding([]) == [False] * len(blocks)


def test_bytes_that_are_no_index_are_not_used():
    data = BlockPartitions.of(EntryColumns.of_entries(ORDERED), DATA, "m").to_bytes()
    assert all(BlockPartitions.from_bytes(data[:size]) is None for size in range(18))
    assert BlockPartitions.from_bytes(data[:-1]) is None
    assert BlockPartitions.from_bytes(data + b"x") is None
    assert BlockPartitions.from_bytes(b"x" + data[1:]) is None
    for at in range(4, len(data) - 4, 97):  # whatever a number says, nothing but an index or None is returned
        changed = data[:at] + os.urandom(4) + data[at + 4 :]
        found = BlockPartitions.from_bytes(changed)
        assert found is None or len(found.holding([b"x"])) == len(found.counts)


def test_a_manifest_whose_blocks_have_all_partitions_has_no_index():
    data = encode_entries(MIXED, "zstd")
    assert BlockPartitions.of(EntryColumns.of_entries(MIXED), data, "m") is None
    assert BlockPartitions.of(EntryColumns.of_entries(MIXED[1:]), data, "m") is None  # not the entries of this file


def test_a_process_that_starts_cold_unpacks_few_blocks(opened, unpacked):
    (manifest,) = opened().write_manifests(ORDERED, 1 << 30)
    text = encode_row([7], DAY)
    wanted = [e for e in ORDERED if e.partition == text]

    def of_day(store):
        unpacked.clear()
        return [e for found in store.read_each([manifest], [text]) for e in values_of(found) if e.partition == text]

    assert of_day(opened()) == wanted
    every = len(unpacked)
    opened().read_each([manifest])
    assert of_day(opened()) == wanted
    assert len(unpacked) <= 2 < every
    same = opened()
    for _ in range(PARTIAL_READS + 2):  # more reads of a part are no reason to read the whole manifest
        assert of_day(same) == wanted
        assert len(unpacked) <= 2
    assert of_day(opened(cached=False)) == wanted
    assert len(unpacked) == every


def test_an_index_is_not_used_for_another_manifest_of_the_same_name(opened):
    (manifest,) = opened().write_manifests(ORDERED, 1 << 30)
    opened().read_each([manifest])
    store, text = opened(), encode_row([7], DAY)
    other = encode_entries(ORDERED[:4000][::-1], "zstd")
    store.storage.overwrite(store.paths.manifest(manifest.file_name), other)
    (found,) = store.read_each([replace(manifest, file_size=len(other))], [text])
    wanted = [e for e in ORDERED[::-1] if e.partition == text]
    assert [e for e in values_of(found) if e.partition == text] == wanted
    assert not store.cache.files.has(index_name(store.paths.manifest(manifest.file_name)))


def test_a_damaged_index_and_a_damaged_copy_are_replaced(opened, unpacked, tmp_path):
    (manifest,) = opened().write_manifests(ORDERED, 1 << 30)
    opened().read_each([manifest])
    store, text = opened(), encode_row([7], DAY)
    files, path = store.cache.files, store.paths.manifest(manifest.file_name)
    wanted = [e for e in ORDERED if e.partition == text]
    files.keep(index_name(path), b"no index")  # with a valid checksum
    unpacked.clear()
    (found,) = store.read_each([manifest], [text])
    assert [e for e in values_of(found) if e.partition == text] == wanted
    assert len(unpacked) > 2
    files.keep(path, b"Obj\x01".ljust(manifest.file_size, b"x"))
    with pytest.raises(CorruptTable):
        opened().read_each([manifest])
    assert (files.has(path), files.has(index_name(path))) == (False, False)
    opened().read_each([manifest])
    assert (files.has(path), files.has(index_name(path))) == (True, True)
