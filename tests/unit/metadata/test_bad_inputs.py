"""Metadata files of other programs: damage that only fsck finds, and changes that a read must not notice.

Damage that a read refuses is in ``tests/bad_inputs/files_in.py``.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core.fsck.check import check_root
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.paths import TablePaths
from tests.support.broken_tables import edit_json, of_file, real_table, record, rewrite


def read_all(context: TableContext) -> list[pa.Table]:
    """Open the table as a new process would, and read every snapshot."""
    schema = SchemaStore(context.storage, TablePaths(context.paths.root)).latest()
    assert schema is not None
    table = paimon.Table(TableContext.of("db.t", context.storage, context.paths.root, schema))
    return [table.at(snapshot=i).scan().to_arrow() for i in table.context.snapshots.ids()]


def snapshot_members(**changes):
    return lambda c: edit_json(c, c.paths.snapshot(1), **changes)


def schema_members(**changes):
    return lambda c: edit_json(c, c.paths.schema(0), **changes)


def entry(change):
    """Change the record of the first file."""

    def damage(context):
        one, *others = context.manifests.entries_of(context.snapshots.read(1))
        record(context, change(one), *others)

    return damage


FOUND_BY_THE_CHECK = {
    "other counts of a manifest": ("I18", lambda c: recount(c)),
    "a bucket beyond the last": ("I15", entry(lambda e: replace(e, total_buckets=1))),
    "a level of 1000": ("I12", entry(of_file(level=1000))),
    "keys the wrong way round": (
        "I12",
        entry(lambda e: of_file(min_key=e.file.max_key, max_key=e.file.min_key)(e)),
    ),
    "a highestFieldId that is low": ("I25", schema_members(highestFieldId=0)),
}


def recount(context):
    (manifest,) = context.manifests.read_list(context.snapshots.read(1).delta_manifest_list)
    name, size = context.manifests.write_list([replace(manifest, num_deleted_files=1)])
    rewrite(context, 1, delta_manifest_list=name, delta_manifest_list_size=size)


@pytest.mark.parametrize(("invariant", "damage"), FOUND_BY_THE_CHECK.values(), ids=FOUND_BY_THE_CHECK.keys())
def test_fsck_finds_damage_that_a_read_does_not_notice(invariant, damage):
    context = real_table().context
    damage(context)
    report = check_root("db.t", context.storage, context.paths.root)
    assert invariant in {f.invariant for f in report.findings}, report.text()


HARMLESS = {
    "members that are unknown": snapshot_members(logOffsets={"0": 1}, newer=[1, {"x": None}]),
    "LATEST of garbage": lambda c: c.storage.overwrite(c.paths.hint("LATEST"), b"\x00\xff garbage"),
    "LATEST of 999": lambda c: c.storage.overwrite(c.paths.hint("LATEST"), b"999"),
    "an empty LATEST": lambda c: c.storage.overwrite(c.paths.hint("LATEST"), b""),
    "EARLIEST of 999": lambda c: c.storage.overwrite(c.paths.hint("EARLIEST"), b"999"),
    "a temporary file": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-4.tmp", b"{"),
    "a name without number": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-abc", b"{"),
    "a number with a zero": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-04", b"{"),
    "a directory": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-x/y", b"{"),
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS.keys())
def test_harmless_changes_do_not_change_a_read(change):
    context = real_table().context
    before = read_all(context)
    change(context)
    assert read_all(context) == before


def test_snapshots_beside_a_gap_can_be_read():  # 127
    table = real_table()
    for value in "ab":
        table.write(pa.table({"k": pa.array([1], pa.int32()), "v": [value]}))
    table.context.snapshots.delete([2])
    assert len(read_all(table.context)) == 2
    assert table.write(pa.table({"k": pa.array([2], pa.int32()), "v": ["c"]})).id == 4


def test_metadata_of_extension_types_is_never_executed():  # 123
    context = real_table().context
    one, *others = context.manifests.entries_of(context.snapshots.read(1))
    path = context.paths.data_file("", one.bucket, one.file.file_name)
    rows = pq.read_table(pa.BufferReader(context.storage.read(path)))
    hostile = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": b"\x80\x04cos\nsystem\n.",
    }
    schema = pa.schema([f.with_metadata({**(f.metadata or {}), **hostile}) for f in rows.schema])
    sink = pa.BufferOutputStream()
    pq.write_table(rows.cast(schema), sink, store_schema=True)
    data = sink.getvalue().to_pybytes()
    before = read_all(context)
    context.storage.overwrite(path, data)
    record(context, of_file(file_size=len(data))(one), *others)
    assert read_all(context) == before
