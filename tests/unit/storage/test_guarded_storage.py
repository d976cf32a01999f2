"""A guarded storage checks before each change and after each small file, which it deletes again."""

import pytest

from paimon_core.errors import StorageError, TableNotFound
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.guarded_storage import GuardedStorage

ROOT = "/guarded"


class Check:
    """A check that fails from the call number ``fails_at`` on."""

    def __init__(self, fails_at=None, then=lambda: None):
        self.calls, self.fails_at, self.then = 0, fails_at, then

    def __call__(self):
        self.calls += 1
        if self.fails_at is not None and self.calls > self.fails_at:
            self.then()
            raise TableNotFound("gone")


@pytest.fixture
def inner():
    storage = FsspecStorage("memory")
    storage.write(f"{ROOT}/old", b"old")
    yield storage
    storage.delete_directory(ROOT)


CHANGES = {
    "write": lambda s: s.write(f"{ROOT}/new", b"x"),
    "overwrite": lambda s: s.overwrite(f"{ROOT}/new", b"x"),
    "create_exclusive": lambda s: s.create_exclusive(f"{ROOT}/new", b"x"),
    "open_output": lambda s: s.open_output(f"{ROOT}/new").close(),
    "move": lambda s: s.move(f"{ROOT}/old", f"{ROOT}/new"),
    "make_directory": lambda s: s.make_directory(f"{ROOT}/folder"),
    "delete": lambda s: s.delete([f"{ROOT}/old"]),
    "delete_directory": lambda s: s.delete_directory(ROOT),
    "remove_empty_directory": lambda s: s.remove_empty_directory(ROOT),
    "move_directory": lambda s: s.move_directory(ROOT, f"{ROOT}-2"),
}
SMALL = ("write", "overwrite", "create_exclusive")


def names(storage):
    return sorted(f.name for f in storage.list(ROOT))


@pytest.mark.parametrize("name", CHANGES)
def test_nothing_is_changed_when_the_check_fails(inner, name):
    with pytest.raises(TableNotFound):
        CHANGES[name](GuardedStorage(inner, Check(fails_at=0)))
    assert names(inner) == ["old"]


@pytest.mark.parametrize("name", SMALL)
def test_a_small_file_is_deleted_when_the_check_after_it_fails(inner, name):
    with pytest.raises(TableNotFound):
        CHANGES[name](GuardedStorage(inner, Check(fails_at=1)))
    assert names(inner) == ["old"]
    CHANGES[name](GuardedStorage(inner, Check()))
    assert names(inner) == ["new", "old"]


@pytest.mark.parametrize("name", SMALL)
def test_a_file_that_has_other_content_by_then_stays(inner, name):
    check = Check(fails_at=1, then=lambda: inner.overwrite(f"{ROOT}/new", b"theirs"))
    with pytest.raises(TableNotFound):
        CHANGES[name](GuardedStorage(inner, check))
    assert inner.read(f"{ROOT}/new") == b"theirs"


def test_a_file_that_exists_is_not_created_and_not_checked_again(inner):
    check = Check(fails_at=1)
    assert GuardedStorage(inner, check).create_exclusive(f"{ROOT}/old", b"old") is False
    assert (check.calls, names(inner)) == (1, ["old"])


@pytest.mark.parametrize("name", SMALL)
def test_a_check_without_answer_deletes_no_file(inner, name):
    """Another process may have committed on a snapshot that was created here."""

    def fail():
        raise StorageError("no answer")

    CHANGES[name](GuardedStorage(inner, Check(fails_at=1, then=fail)))
    assert names(inner) == ["new", "old"]


def test_reads_are_not_checked(inner):
    check = Check(fails_at=0)
    storage = GuardedStorage(inner, check)
    assert storage.read(f"{ROOT}/old") == b"old"
    assert storage.open_input(f"{ROOT}/old").read() == b"old"
    assert (storage.exists(ROOT), storage.has_file(f"{ROOT}/old"), storage.is_local) == (True, True, inner.is_local)
    assert [f.name for f in storage.list(ROOT)] == [f.path.rsplit("/", 1)[1] for f in storage.walk(ROOT)] == ["old"]
    assert (check.calls, storage.is_remote, storage.file_sizes(ROOT)) == (0, inner.is_remote, inner.file_sizes(ROOT))
