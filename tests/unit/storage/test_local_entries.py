"""Directories of the local disk are listed without fsspec, with the facts that fsspec gives."""

import os

import fsspec
import pytest

from paimon_core.errors import CorruptTable
from paimon_core.storage import local_disk
from paimon_core.storage.fsspec_storage import FsspecStorage, confined


def facts(entry):
    return {name: entry[name] for name in ("name", "size", "type", "islink", "mtime", "ino")}


def by_name(entries):
    return sorted(map(facts, entries), key=lambda entry: entry["name"])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "inside").write_bytes(b"12")
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "empty").touch()
    (tmp_path / ".hidden").touch()
    os.symlink(tmp_path / "file", tmp_path / "link")
    os.symlink(tmp_path / "directory", tmp_path / "linked")
    os.symlink(tmp_path / "nothing", tmp_path / "broken")
    return tmp_path


@pytest.mark.parametrize("name", ["", "directory", "linked", "directory/"])
def test_entries_are_those_of_fsspec(folder, name):
    path = f"{folder}/{name}".rstrip("/") if name == "" else f"{folder}/{name}"
    expected = fsspec.filesystem("file").ls(path, detail=True)
    assert by_name(local_disk.entries(path)) == [
        entry if entry["islink"] is False else entry | {"type": entry["type"].replace("other", "file")}
        for entry in by_name(expected)
    ]


def test_a_file_and_a_missing_directory_have_no_entries(folder):
    storage = FsspecStorage()
    assert local_disk.entries(f"{folder}/file") == []
    assert storage.list(f"{folder}/file") == []
    assert storage.list(f"{folder}/nothing") == []
    with pytest.raises(FileNotFoundError):
        local_disk.entries(f"{folder}/nothing")
    with pytest.raises(NotADirectoryError):
        local_disk.entries(f"{folder}/file/below")


def test_the_sizes_of_the_files_of_a_directory_without_links_or_directories(folder):
    storage = FsspecStorage()
    assert storage.file_sizes(f"{folder}/directory") == ([b"inside"], [2])
    (folder / "directory" / "café").write_bytes(b"123")
    names, sizes = storage.file_sizes(f"{folder}/directory")
    assert dict(zip(names, sizes, strict=True)) == {b"inside": 2, "café".encode(): 3}
    for name in ("nothing", "file", "file/below", ""):
        assert storage.file_sizes(f"{folder}/{name}") is None
    os.symlink(folder / "file", folder / "directory" / "link")
    assert storage.file_sizes(f"{folder}/directory") is None
    with pytest.raises(CorruptTable):
        confined(storage, str(folder)).file_sizes(f"{folder}/linked")
    assert FsspecStorage("memory").file_sizes("/nothing") is None
