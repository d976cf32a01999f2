import pytest

from paimon_core.errors import CommitStateUnknown, StorageError
from paimon_core.storage import exclusive_create
from paimon_core.storage.exclusive_create import create_once
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support.faulty_storage import FaultyStorage, Outcome


@pytest.fixture
def storage(tmp_path, monkeypatch):
    monkeypatch.setattr(exclusive_create, "FIRST_PAUSE_SECONDS", 0)
    return FaultyStorage(FsspecStorage())


@pytest.mark.parametrize(
    "outcomes",
    [
        [],
        [Outcome.LOSE],
        [Outcome.UNKNOWN],
        [Outcome.EXISTS],
        [Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.LOSE],
        [Outcome.UNKNOWN, Outcome.EXISTS],
    ],
)
def test_the_file_has_the_bytes_of_this_writer(storage, tmp_path, outcomes):
    storage.on("create_exclusive", "f", *outcomes)
    assert create_once(storage, f"{tmp_path}/f", b"ours")
    assert storage.read(f"{tmp_path}/f") == b"ours"


@pytest.mark.parametrize("outcomes", [[], [Outcome.UNKNOWN]])
def test_the_file_has_the_bytes_of_another_writer(storage, tmp_path, outcomes):
    storage.write(f"{tmp_path}/f", b"theirs")
    storage.on("create_exclusive", "f", *outcomes)
    assert not create_once(storage, f"{tmp_path}/f", b"ours")
    assert storage.read(f"{tmp_path}/f") == b"theirs"


def test_a_refused_creation_and_an_unknown_result(storage, tmp_path):
    storage.on("create_exclusive", "f", Outcome.FAIL, *[Outcome.UNKNOWN] * 5)
    with pytest.raises(StorageError):
        create_once(storage, f"{tmp_path}/f", b"ours")
    with pytest.raises(CommitStateUnknown, match="/f"):
        create_once(storage, f"{tmp_path}/f", b"ours")


def test_a_file_that_cannot_be_read_leaves_the_result_unknown(storage, tmp_path):
    storage.on("create_exclusive", "f", Outcome.UNKNOWN)
    storage.on("read", "f", *[Outcome.FAIL] * 4)
    assert create_once(storage, f"{tmp_path}/f", b"ours")
    storage.on("create_exclusive", "g", Outcome.LOSE, *[Outcome.EXISTS] * 4)
    storage.on("read", "g", *[Outcome.FAIL] * 5)
    with pytest.raises(CommitStateUnknown, match="/g"):
        create_once(storage, f"{tmp_path}/g", b"ours")
