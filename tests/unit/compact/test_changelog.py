"""Compactions that write changelog files, tested on the message that they pass to the commit."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.compact.compactor import run_task
from paimon_core.compact.task import CompactionTask
from paimon_core.metadata.data_file import FileSource
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.lookup_reader import LookupReader

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.int64()), ("t", pa.string())])
KINDS = ("+I", "-U", "+U", "-D")
_numbers = itertools.count()


def table_of(**options):
    """Create a table whose writes do not compact."""
    catalog = paimon.open_catalog(f"memory://compacted-{next(_numbers)}")
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true"} | {k.replace("_", "-"): v for k, v in options.items()}
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)


def write(table, *rows):
    """Write rows of (kind, key, value)."""
    kinds, keys, values = zip(*rows, strict=True)
    table.write(pa.table([list(keys), list(values), [""] * len(rows)], schema=SCHEMA), pa.array(kinds))


def write_base(table):
    """Write the keys 0, 10, ... 3990 with v = key to level 5, too large for small compactions to include."""
    letters = random.Random(0)
    keys = list(range(0, 4000, 10))
    texts = [f"{letters.getrandbits(256):064x}" for _ in keys]
    table.write(pa.table([keys, keys, texts], schema=SCHEMA))
    table.compact(full=True)


def compacted(table, *, full=False):
    """Return the message of the one compaction that is due; its task is encoded and decoded first."""
    (task,) = table.plan_compaction(full=full)
    return run_task(table.context, CompactionTask.from_bytes(task.to_bytes()))


def rows_of(table, files):
    """Return (kind, key, value, sequence number) of the rows of these files."""
    reader = BucketReader(table.context, b"\0" * 12, 0)
    rows = [row for f in files for b in reader.file(f, table.schema.file_fields) for row in b.to_pylist()]
    return [(KINDS[row["_VALUE_KIND"]], row["k"], row["v"], row["_SEQUENCE_NUMBER"]) for row in rows]


@pytest.mark.parametrize(("producer", "format_above"), [("lookup", "orc"), ("full-compaction", "avro")])
def test_a_lookup_rewrites_a_lone_file_into_the_format_of_its_level(producer, format_above):
    table = table_of(changelog_producer=producer, **{"file.format.per.level": "0:avro,5:orc"})
    write(table, ("+I", 1, 10))
    message = compacted(table, full=True)
    (before,), (after,) = message.compact_before, message.compact_after
    assert (before.file_name == after.file_name) == (format_above == "avro")
    assert after.file_name.endswith(f".{format_above}")
    assert after.level == 5
    assert rows_of(table, [after]) == rows_of(table, message.compact_changelog) == [("+I", 1, 10, 0)]


def test_a_single_file_is_upgraded_and_shown_in_the_changelog():
    for producer in ("lookup", "full-compaction"):
        table = table_of(changelog_producer=producer)
        write(table, ("+I", 2, 20), ("+U", 1, 10))
        message = compacted(table, full=True)
        (before,), (after,), (changelog,) = message.compact_before, message.compact_after, message.compact_changelog
        assert after == before.upgraded(5)
        assert (changelog.level, changelog.file_source) == (5, FileSource.APPEND)
        assert changelog.file_name.startswith("changelog-")
        assert rows_of(table, [changelog]) == [("+I", 1, 10, 1), ("+I", 2, 20, 0)]


def test_a_lookup_reads_the_levels_above():
    table = table_of(changelog_producer="lookup")
    write_base(table)
    write(table, ("+U", 10, 1), ("-D", 20, 0), ("+I", 25, 2), ("-D", 35, 3))
    message = compacted(table)
    assert [f.level for f in message.compact_after] == [4]
    assert message.compact_after[0].file_name == message.compact_before[0].file_name
    assert rows_of(table, message.compact_changelog) == [
        ("-U", 10, 10, 1),
        ("+U", 10, 1, 400),
        ("-D", 20, 20, 2),
        ("+I", 25, 2, 402),
    ]


@pytest.mark.parametrize(
    ("options", "stored", "told"),
    [
        ({"sequence.field": "v"}, ("+I", 10, 10, 1), [("-U", 10, 10, 1), ("+U", 10, 10, 1)]),
        (
            {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
            ("+I", 10, 14, 400),
            [("-U", 10, 10, 1), ("+U", 10, 14, 400)],
        ),
        ({"merge-engine": "partial-update"}, ("+I", 10, 4, 400), [("-U", 10, 10, 1), ("+U", 10, 4, 400)]),
        ({"sequence.field": "v", "changelog-producer.row-deduplicate": "true"}, ("+I", 10, 10, 1), []),
    ],
)
def test_rows_that_merge_with_higher_levels_are_rewritten(options, stored, told):
    table = table_of(changelog_producer="lookup", **options)
    write_base(table)
    write(table, ("+I", 10, 4))
    message = compacted(table)
    assert rows_of(table, message.compact_after) == [stored]
    assert rows_of(table, message.compact_changelog) == told
    table.commit([message])
    assert table.refresh().scan(where=paimon.col("k") == 10).to_arrow()["v"].to_pylist() == [stored[2]]
    write(table, ("+I", 10, 11))
    (row,) = rows_of(table, compacted(table, full=True).compact_changelog)[1::2]
    assert row[:3] == ("+U", 10, {"aggregation": 25}.get(options.get("merge-engine", ""), 11))


def test_a_forced_lookup_writes_no_changelog():
    table = table_of(force_lookup="true", merge_engine="partial-update")
    write_base(table)
    write(table, ("+I", 10, 4))
    message = compacted(table)
    assert rows_of(table, message.compact_after) == [("+I", 10, 4, 400)]
    assert message.compact_changelog == ()


def test_the_rules_of_the_engine_apply_to_a_single_row_without_state():
    table = table_of(
        **{"changelog-producer": "lookup", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    )
    write_base(table)
    write(table, ("-D", 15, 4))
    message = compacted(table)
    assert rows_of(table, message.compact_after) == rows_of(table, message.compact_changelog) == [("+I", 15, -4, 400)]


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_first_row_drops_later_rows_of_known_keys(producer):
    table = table_of(changelog_producer=producer, merge_engine="first-row")
    write_base(table)
    write(table, ("+I", 10, 4), ("+I", 15, 5), ("+U", 17, 6), ("+I", 17, 7))
    message = compacted(table)
    new = [("+I", 15, 5, 401), ("+U", 17, 6, 402)]
    assert rows_of(table, message.compact_after) == new
    assert rows_of(table, message.compact_changelog) == (new if producer == "lookup" else [])
    table.commit([message])
    table = table.refresh()
    write(table, ("+I", 10, 8), ("+I", 15, 9))
    message = compacted(table)
    assert rows_of(table, message.compact_after) == new
    assert message.compact_changelog == ()


def test_a_merge_may_leave_no_row_to_store():
    table = table_of(merge_engine="first-row")
    write_base(table)
    write(table, ("+I", 10, 4))
    message = compacted(table)
    assert (len(message.compact_before), message.compact_after, message.compact_changelog) == (1, (), ())


def test_a_full_compaction_writes_the_changes_since_the_last():
    table = table_of(changelog_producer="full-compaction")
    write_base(table)
    write(table, ("+U", 10, 1), ("-D", 20, 0), ("+I", 25, 2))
    write(table, ("+U", 10, 2), ("-D", 25, 0))
    message = compacted(table, full=True)
    assert rows_of(table, message.compact_changelog) == [("-U", 10, 10, 1), ("+U", 10, 2, 403), ("-D", 20, 20, 2)]
    assert sum(f.row_count for f in message.compact_after) == 399


def test_full_compaction_writes_a_changelog_only_at_the_last_level():
    table = table_of(
        **{
            "changelog-producer": "full-compaction",
            "full-compaction.delta-commits": "100",
            "num-sorted-run.compaction-trigger": "2",
            "num-levels": "6",
        }
    )
    write_base(table)
    write(table, ("+U", 10, 1))
    write(table, ("+U", 10, 2))
    message = compacted(table)
    assert [f.level for f in message.compact_after] == [4]
    assert message.compact_changelog == ()


def test_tasks_carry_the_files_above_only_for_lookups():
    for producer, levels in (("lookup", [5]), ("none", [])):
        table = table_of(**{"changelog-producer": producer, "compaction.force-up-level-0": "true"})
        write_base(table)
        write(table, ("+I", 1, 1))
        (task,) = table.plan_compaction()
        assert [f.level for f in task.higher] == levels


def test_an_error_leaves_no_file(monkeypatch):
    table = table_of(**{"changelog-producer": "lookup", "sequence.field": "v", "target-file-size": "1 b"})
    write_base(table)
    write(table, ("+U", 10, 11))
    write(table, ("+U", 30, 31))
    directory = table.context.paths.bucket("", 0)
    files = {i.name for i in table.context.storage.list(directory)}
    written = []

    def fails_once_files_are_there(self, keys):
        written.append({i.name for i in table.context.storage.list(directory)} - files)
        if written[-1]:
            raise OSError("no more")
        return find(self, keys)

    find = LookupReader.find
    monkeypatch.setattr(LookupReader, "find", fails_once_files_are_there)
    with pytest.raises(OSError, match="no more"):
        compacted(table)
    assert [len(names) for names in written] == [0, 2]
    assert {i.name for i in table.context.storage.list(directory)} == files
