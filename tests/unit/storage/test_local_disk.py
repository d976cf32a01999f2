import errno
import os

import pytest

from paimon_core.errors import CommitStateUnknown, StorageError
from paimon_core.storage import local_disk
from paimon_core.storage.fsspec_storage import FsspecStorage

STORAGE = FsspecStorage("file")


@pytest.fixture
def tmp_path(disk_path):
    return disk_path


class Failing:
    """Replaces a function of ``os``: fails from the n-th call on, either before or after the real call."""

    def __init__(self, real, code, *, from_call=1, after=False):
        self.real, self.code, self.from_call, self.after = real, code, from_call, after
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        if self.calls < self.from_call:
            return self.real(*args, **kwargs)
        if self.after:
            self.real(*args, **kwargs)
        raise OSError(self.code, os.strerror(self.code))


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP])
def test_without_hard_links_nothing_is_published(tmp_path, monkeypatch, code):
    monkeypatch.setattr(os, "link", Failing(os.link, code))
    with pytest.raises(StorageError, match="hard links"):
        STORAGE.create_exclusive(f"{tmp_path}/snapshot-1", b"x")
    assert os.listdir(tmp_path) == []


def test_a_failing_link_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", Failing(os.link, errno.EIO))
    with pytest.raises(StorageError, match="snapshot-1"):
        STORAGE.create_exclusive(f"{tmp_path}/snapshot-1", b"x")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("code", [errno.EIO, errno.EEXIST])
def test_a_link_that_was_created_but_reported_as_failed_counts(tmp_path, monkeypatch, code):
    monkeypatch.setattr(os, "link", Failing(os.link, code, after=True))
    assert STORAGE.create_exclusive(f"{tmp_path}/snapshot-1", b"x")
    assert os.listdir(tmp_path) == ["snapshot-1"]


def test_a_name_taken_between_the_check_and_the_link(tmp_path, monkeypatch):
    (tmp_path / "snapshot-1").write_bytes(b"first")
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    assert not STORAGE.create_exclusive(f"{tmp_path}/snapshot-1", b"second")
    assert os.listdir(tmp_path) == ["snapshot-1"]
    assert (tmp_path / "snapshot-1").read_bytes() == b"first"


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", Failing(os.fsync, errno.ENOSPC))
    for call in (STORAGE.create_exclusive, STORAGE.write, STORAGE.overwrite):
        with pytest.raises(StorageError, match=r"snapshot-1.*No space"):
            call(f"{tmp_path}/snapshot-1", b"x")
        assert os.listdir(tmp_path) == []


def test_an_unconfirmed_directory_is_an_unknown_state(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", Failing(os.fsync, errno.EIO, from_call=2))
    with pytest.raises(CommitStateUnknown, match="snapshot-1"):
        STORAGE.create_exclusive(f"{tmp_path}/snapshot-1", b"x")
    assert os.listdir(tmp_path) == ["snapshot-1"]


def test_a_directory_that_cannot_be_synced_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", Failing(os.fsync, errno.EINVAL, from_call=2))
    assert STORAGE.create_exclusive(f"{tmp_path}/snapshot-1", b"x")


def test_overwriting_keeps_the_old_bytes_when_it_fails(tmp_path, monkeypatch):
    (tmp_path / "LATEST").write_bytes(b"1")
    monkeypatch.setattr(os, "replace", Failing(os.replace, errno.EIO))
    with pytest.raises(StorageError, match="LATEST"):
        STORAGE.overwrite(f"{tmp_path}/LATEST", b"2")
    assert os.listdir(tmp_path) == ["LATEST"]
    assert (tmp_path / "LATEST").read_bytes() == b"1"


def test_an_existing_file_is_not_overwritten(tmp_path):
    STORAGE.write(f"{tmp_path}/manifest-1", b"first")
    with pytest.raises(StorageError, match="manifest-1"):
        STORAGE.write(f"{tmp_path}/manifest-1", b"second")
    assert (tmp_path / "manifest-1").read_bytes() == b"first"


def test_files_and_their_directories_are_synced(tmp_path, monkeypatch):
    synced = []

    def fsync(descriptor):
        synced.append(os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), tmp_path))

    monkeypatch.setattr(os, "fsync", fsync)
    STORAGE.write(f"{tmp_path}/a/manifest", b"x")
    with STORAGE.open_output(f"{tmp_path}/b/c/data") as out:
        out.write(b"x")
        assert "b/c/data" not in synced
    assert synced == [".", "a/manifest", "a", ".", "b", "b/c/data", "b/c"]


def test_the_bytes_are_synced_before_the_link_and_the_link_before_the_return(tmp_path, monkeypatch):
    events = []
    link = os.link

    def fsync(descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        events.append("directory" if os.path.isdir(path) else (tmp_path / path).read_bytes())

    def recorded_link(source, target, **options):
        events.append("link")
        link(source, target, **options)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", recorded_link)
    assert STORAGE.create_exclusive(f"{tmp_path}/snapshot-1", b"whole")
    assert events == [b"whole", "link", "directory"]


def test_a_stream_that_cannot_be_synced_fails_when_closed(tmp_path, monkeypatch):
    out = local_disk.open_new(f"{tmp_path}/data")
    out.write(b"x")
    monkeypatch.setattr(os, "fsync", Failing(os.fsync, errno.EIO))
    with pytest.raises(StorageError, match="data"):
        out.close()
    assert out.closed


def test_a_directory_that_is_deleted_during_a_write(tmp_path, monkeypatch):
    """A write never reports that a file is missing."""
    monkeypatch.setattr(local_disk, "make_directory", lambda directory: None)
    for call in (STORAGE.write, STORAGE.overwrite, STORAGE.create_exclusive):
        with pytest.raises(StorageError, match="gone/x"):
            call(f"{tmp_path}/gone/x", b"1")
    with pytest.raises(StorageError, match="gone/x"):
        STORAGE.open_output(f"{tmp_path}/gone/x")


def test_a_store_that_fails_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="cannot read"):
        STORAGE.read(str(tmp_path))
    with pytest.raises(StorageError, match="cannot open"):
        STORAGE.open_input(str(tmp_path))
    with pytest.raises(StorageError, match="cannot delete"):
        STORAGE.delete([str(tmp_path)])
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot create directory"):
        STORAGE.make_directory(f"{tmp_path}/f")


# -- other processes create and delete the same directories


class Overtaken:
    """Replaces a function of ``os``: other processes act just before, or just after, its first calls."""

    def __init__(self, real, *, before=(), after=()):
        self.real, self.waiting, self.after = real, list(before), list(after)

    def __call__(self, *args, **kwargs):
        if self.waiting:
            self.waiting.pop(0)()
        try:
            return self.real(*args, **kwargs)
        finally:
            if self.after:
                self.after.pop(0)()


def test_a_parent_that_another_thread_creates_between_two_checks(tmp_path, monkeypatch):
    """mkdir finds no parent; before the next check another thread has created it."""
    made = tmp_path / "day=mon" / "bucket-1"
    monkeypatch.setattr(os, "mkdir", Overtaken(os.mkdir, after=[lambda mkdir=os.mkdir: mkdir(made.parent)]))
    local_disk.make_directory(str(made))
    assert made.is_dir()


def test_a_directory_that_another_thread_creates_first(tmp_path, monkeypatch):
    made = tmp_path / "bucket-1"
    monkeypatch.setattr(os, "mkdir", Overtaken(os.mkdir, before=[lambda mkdir=os.mkdir: mkdir(made)]))
    local_disk.make_directory(str(made))
    assert made.is_dir()


def test_a_directory_that_is_found_and_then_deleted(tmp_path, monkeypatch):
    """mkdir finds the directory, which is then deleted: this is not reported as a file at the path."""
    made = tmp_path / "bucket-1"
    mkdir = Overtaken(os.mkdir, before=[lambda mkdir=os.mkdir: mkdir(made)], after=[lambda: os.rmdir(made)])
    monkeypatch.setattr(os, "mkdir", mkdir)
    STORAGE.write(f"{made}/data-0", b"x")
    assert (made / "data-0").read_bytes() == b"x"


@pytest.mark.parametrize("verb", ["write", "overwrite", "create_exclusive", "open_output", "move", "move_directory"])
def test_a_directory_that_is_deleted_while_it_is_empty(tmp_path, monkeypatch, verb):
    """An expiry deletes the new directory twice, once with its parent, before the writer's file is in it."""
    bucket = tmp_path / "day=mon" / "bucket-1"
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "file").write_bytes(b"x")
    make = local_disk.make_directory
    cleaners = [lambda: os.rmdir(bucket), lambda: os.removedirs(bucket)]

    def created_and_deleted(directory):
        make(directory)
        if directory == str(bucket) and cleaners:
            cleaners.pop(0)()
            tmp_path.mkdir(exist_ok=True)

    monkeypatch.setattr(local_disk, "make_directory", created_and_deleted)
    match verb:
        case "open_output":
            with STORAGE.open_output(f"{bucket}/x") as out:
                out.write(b"x")
        case "move":
            STORAGE.move(f"{tmp_path}/source/file", f"{bucket}/x")
        case "move_directory":
            STORAGE.move_directory(f"{tmp_path}/source", f"{bucket}/x")
        case _:
            getattr(STORAGE, verb)(f"{bucket}/x", b"x")
    assert cleaners == []
    assert os.listdir(bucket) == ["x"]


def test_a_directory_in_which_nothing_can_be_created_is_named(monkeypatch):
    with pytest.raises(StorageError, match=r"cannot create directory /proc/none/deeper"):
        STORAGE.make_directory("/proc/none/deeper")


def test_a_deletion_continues_when_another_process_deletes_too(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        (tmp_path / "t" / name).mkdir(parents=True)
        (tmp_path / "t" / name / "file").write_bytes(b"x")
    monkeypatch.setattr(os, "unlink", Overtaken(os.unlink, before=[lambda: (tmp_path / "t" / "b" / "file").unlink()]))
    STORAGE.delete_directory(f"{tmp_path}/t")
    assert not (tmp_path / "t").exists()
