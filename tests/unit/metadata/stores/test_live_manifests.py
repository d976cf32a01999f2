"""LiveManifests: the same live files as the joined manifests, also when the files are gone after the first read."""

import random
import uuid

import pytest

from paimon_core.errors import CorruptTable
from paimon_core.metadata.column_stats import EMPTY_ROW
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests import entry_decoder
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.manifest_file import live_entries
from paimon_core.metadata.stores import live_manifests
from paimon_core.metadata.stores.live_manifests import LiveManifests
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths


def entry(name, kind=FileKind.ADD, bucket=0, **file):
    return ManifestEntry(kind, EMPTY_ROW, bucket, 2, DataFile(name, 1, 10, 0, **file))


@pytest.fixture
def store():
    storage, root = FsspecStorage("memory"), f"/{uuid.uuid4()}"
    yield ManifestStore(storage, TablePaths(root), [])
    storage.delete_directory(root)


@pytest.fixture(params=[0, 100_000], ids=["one by one", "joined"])
def joined_files(request, monkeypatch):
    monkeypatch.setattr(live_manifests, "JOINED_FILES", request.param)


def commits(seed, large):
    """Return the entries of some manifests: files are added, upgraded and deleted; some names are in two buckets."""
    choose = random.Random(seed)
    present, out = [], []
    for number in range(6):
        some = []
        for _ in range(choose.randrange(3)):
            if present:
                gone = present.pop(choose.randrange(len(present)))
                some.append(entry(gone.file.file_name, FileKind.DELETE, gone.bucket, level=gone.file.level))
                if choose.random() < 0.5:
                    some.append(entry(gone.file.file_name, bucket=gone.bucket, level=gone.file.level + 1))
                    present.append(some[-1])
        for at in range(choose.randrange(1, 60 if large else 4)):
            for bucket in (0, 1) if choose.random() < 0.2 else (0,):
                some.append(entry(f"f{number}-{at}", bucket=bucket, extra_files=()))
                present.append(some[-1])
        out.append(some)
    return out


@pytest.mark.parametrize("large", [False, True], ids=["values", "columns"])
@pytest.mark.parametrize("seed", range(3))
def test_the_live_files_are_those_of_the_joined_manifests(store, joined_files, monkeypatch, seed, large):
    if large:
        monkeypatch.setattr(entry_decoder, "FEW_BYTES", 0)
    parts = commits(seed, large)
    listed = [m for some in parts for m in store.write_manifests(some, 1 << 30)]
    found = LiveManifests(store, listed)
    store.storage.delete([store.paths.manifest(m.file_name) for m in listed])
    expected = live_entries(e for some in parts for e in some)
    for _ in range(2):
        assert [e for columns in found for e in columns.entries()] == expected


def test_a_file_that_is_added_twice_is_refused(store, joined_files):
    listed = [store.write_manifests([entry("a"), entry(f"b{n}")], 1 << 30)[0] for n in range(2)]
    with pytest.raises(CorruptTable, match="data file a of bucket 0, level 0 is added twice"):
        LiveManifests(store, listed)


def test_no_manifests(store, joined_files):
    assert list(LiveManifests(store, [])) == []
