import gc
import os
import tempfile

import pyarrow as pa
import pytest

from paimon_core.errors import StorageError
from paimon_core.options import TableOptions
from paimon_core.write import spill
from paimon_core.write.spill import SpillSpace

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])
BATCHES = [pa.record_batch([[1, 2], ["a", None]], schema=SCHEMA), pa.record_batch([[3], ["c" * 9000]], schema=SCHEMA)]


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def space(**options):
    return SpillSpace.of(TableOptions.parse({key.replace("_", "-"): value for key, value in options.items()}))


@pytest.mark.parametrize(("codec", "level"), [("zstd", "1"), ("zstd", "9"), ("lz4", "1"), ("none", "1")])
def test_a_run_comes_back_as_it_was_put(scratch, codec, level):
    options = {"spill-compression": codec, "spill-compression.zstd-level": level}
    disk = SpillSpace.of(TableOptions.parse(options))
    run = disk.put(SCHEMA, iter(BATCHES))
    assert list(run.batches()) == BATCHES
    assert disk.used_bytes == os.path.getsize(run.path)
    assert (disk.used_bytes > 9000) == (codec == "none")
    run.delete()
    assert (disk.used_bytes, os.path.exists(run.path)) == (0, False)
    disk.close()


def test_nothing_is_made_before_the_first_run_and_nothing_is_left_after_close(scratch):
    disk = space()
    assert os.listdir(scratch) == []
    disk.put(SCHEMA, iter(BATCHES))
    disk.put(SCHEMA, iter([]))
    (folder,) = os.listdir(scratch)
    assert len(os.listdir(scratch / folder)) == 2
    disk.close()
    assert (os.listdir(scratch), disk.used_bytes) == ([], 0)
    assert list(disk.put(SCHEMA, iter(BATCHES)).batches()) == BATCHES
    disk.close()


def test_a_space_that_is_dropped_leaves_nothing(scratch):
    disk = space()
    disk.put(SCHEMA, iter(BATCHES))
    del disk
    gc.collect()
    assert os.listdir(scratch) == []


def test_a_forked_process_leaves_the_files_to_its_parent(scratch, monkeypatch):
    disk = space()
    disk.put(SCHEMA, iter(BATCHES))
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        disk.close()
    assert len(os.listdir(scratch)) == 1


def test_room_ends_at_the_limit():
    disk = SpillSpace.of(TableOptions.parse({"write-buffer-spill.max-disk-size": "1 b"}))
    assert disk.has_room
    run = disk.put(SCHEMA, iter(BATCHES))
    assert not disk.has_room
    run.delete()
    assert disk.has_room
    disk.close()


def test_write_buffer_spillable_may_forbid_it():
    assert SpillSpace.of(TableOptions.parse({"write-buffer-spillable": "false"})) is None


def test_a_full_disk_is_a_storage_error_and_leaves_nothing(scratch, monkeypatch):
    made = tempfile.mkdtemp()
    os.symlink("/dev/full", os.path.join(made, "run-0.arrow"))
    monkeypatch.setattr(spill.tempfile, "mkdtemp", lambda **_: made)
    disk = space()
    with pytest.raises(
        StorageError, match=r"write-buffer-size to local disk, .*run-0.arrow: .*No space left"
    ) as caught:
        disk.put(SCHEMA, iter(BATCHES))
    assert caught.value.facts == {"path": os.path.join(made, "run-0.arrow")}
    assert (os.listdir(made), disk.used_bytes) == ([], 0)
    disk.close()


def test_no_temporary_directory_is_a_storage_error(scratch, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(scratch / "missing"))
    with pytest.raises(StorageError, match="the temporary directory"):
        space().put(SCHEMA, iter(BATCHES))


def test_rows_that_fail_to_come_leave_nothing(scratch):
    def failing():
        yield BATCHES[0]
        raise KeyError("lost")

    disk = space()
    with pytest.raises(KeyError, match="lost"):
        disk.put(SCHEMA, failing())
    (folder,) = os.listdir(scratch)
    assert os.listdir(scratch / folder) == []
    disk.close()


@pytest.mark.parametrize("harm", [os.unlink, lambda path: os.truncate(path, 600)])
def test_a_run_that_was_harmed_is_a_storage_error(scratch, harm):
    disk = space()
    run = disk.put(SCHEMA, iter(BATCHES))
    harm(run.path)
    with pytest.raises(StorageError, match="read back"):
        list(run.batches())
    run.delete()
    disk.close()
