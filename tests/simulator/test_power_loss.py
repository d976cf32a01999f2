"""After a power loss at any moment, all visible snapshots of a table have all their files."""

import datetime
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.fsck.check import check
from paimon_core.metadata.context import TableContext
from paimon_core.storage import local_disk
from tests.simulator.power import Disk, Journal
from tests.simulator.store import Disk as SimDisk
from tests.simulator.store import SimStorage
from tests.simulator.world import World

STATES = 400


@pytest.fixture
def tmp_path(disk_path):
    return disk_path


def recorded(folder: str) -> tuple[Journal, TableContext]:
    """Record what writes, compactions, an expiry, a tag and a rollback do to the disk."""
    journal = Journal(folder)
    catalog = paimon.open_catalog(folder)
    with journal.recording():
        catalog.create_database("db")
        options = {"bucket": "1", "write-only": "true"}
        schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
        table = catalog.create_table("db.t", schema, primary_key=["k"], options=options)
        for number in range(5):
            table.write(pa.table([[number % 3], [number]], schema=schema))
        table.tags.create("kept", 2)
        table.compact(full=True)
        table.expire_snapshots(keep_last=2, older_than=datetime.timedelta(0))
        table.write(pa.table([[7], [7]], schema=schema))
        table.rollback(snapshot=table.latest_snapshot().id - 1)
        table.write(pa.table([[8], [8]], schema=schema))
    return journal, table.context


def errors_of(image: dict[str, bytes], context: TableContext) -> list[str]:
    """Return the errors of fsck on such a disk; [] when there is no schema yet, so no table."""
    disk = SimDisk(World(0))
    for path, content in image.items():
        disk.put(path, content)
    storage = SimStorage(disk)
    copy = TableContext.of("db.t", storage, context.paths.root, context.schema)
    if not copy.schemas.ids():
        return [] if not copy.snapshots.ids() else ["snapshots without a schema"]
    return [f.sentence() for f in check(copy).errors]


def problems(journal: Journal, context: TableContext, states: int) -> list[str]:
    found = []
    chance = random.Random(3)
    each = -(-states // len(journal.events))
    disk = Disk()
    for number, event in enumerate(journal.events):
        disk.apply(event)
        for _ in range(each):
            found += [f"after {event[:2]} ({number}): {e}" for e in errors_of(disk.image(chance), context)[:1]]
    return found


def test_whatever_was_not_synced_is_gone_and_the_table_is_whole(tmp_path):
    journal, context = recorded(str(tmp_path))
    assert problems(journal, context, STATES) == []


def test_a_missing_sync_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(local_disk, "_sync_directory", lambda path: None)
    journal, context = recorded(str(tmp_path))
    assert problems(journal, context, 200) != []
