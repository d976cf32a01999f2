import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.compact.compactor import missing_is_conflict
from paimon_core.errors import CommitConflict, CorruptTable, TableNotFound

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", COLUMNS, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for number in range(3):
        table.write([{"k": 1, "v": number}])
    return table


def test_input_files_deleted_after_a_concurrent_compaction_are_a_conflict(table):
    (task,) = table.plan_compaction(full=True)
    table.compact(full=True)
    table.expire_snapshots(keep_last=1, keep_max=1)
    with pytest.raises(CommitConflict, match=r"table db\.t: input files of the compaction of bucket 0 were deleted"):
        table.run_compaction(task)


def test_files_that_a_drop_deletes_are_no_damage(warehouse, table):
    (task,) = table.plan_compaction(full=True)
    paimon.open_catalog(warehouse).drop_table("db.t")
    with pytest.raises(TableNotFound, match="was dropped"), missing_is_conflict(table.context, task):
        raise CorruptTable("data file x is missing", missing=True)


def test_a_missing_file_that_is_still_live_is_no_conflict(table):
    (task,) = table.plan_compaction(full=True)
    (lost, *_) = task.unit.files
    table.context.storage.delete([f"{table.location}/bucket-0/{lost.file_name}"])
    with pytest.raises(CorruptTable, match="is missing"):
        table.run_compaction(task)
