"""Metadata files are untrusted: for any content, a read raises one clear error that names the file and the rule.

Each case damages a valid table, then opens it again and reads all of it. Damage that a read does not notice is found by
fsck (``tests/unit/fsck``). The tests of single decoders are in ``tests/unit/codec`` and with those of the stores.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core.codec.avro_file import read_avro, write_avro
from paimon_core.errors import CorruptTable, NotFound, PaimonError, UnsupportedFeature
from paimon_core.fsck.check import check_root
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest_file import MANIFEST_SCHEMA
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.paths import TablePaths
from tests.support.broken_tables import edit_json, of_file, real_table, record, rewrite

LONGEST_MESSAGE = 600


def read_all(context: TableContext) -> list[pa.Table]:
    """Open the table as a new process would, and read every snapshot."""
    schema = SchemaStore(context.storage, TablePaths(context.paths.root)).latest()
    assert schema is not None
    table = paimon.Table(TableContext.of("db.t", context.storage, context.paths.root, schema))
    return [table.at(snapshot=i).scan().to_arrow() for i in table.context.snapshots.ids()]


def snapshot_bytes(data: bytes):
    return lambda c: c.storage.overwrite(c.paths.snapshot(1), data)


def snapshot_members(**changes):
    return lambda c: edit_json(c, c.paths.snapshot(1), **changes)


def schema_members(**changes):
    return lambda c: edit_json(c, c.paths.schema(0), **changes)


def without(member: str):
    def change(context):
        members = json.loads(context.storage.read(context.paths.snapshot(1)))
        del members[member]
        context.storage.overwrite(context.paths.snapshot(1), json.dumps(members).encode())

    return change


def list_bytes(change):
    def damage(context):
        path = context.paths.manifest(context.snapshots.read(1).delta_manifest_list)
        context.storage.overwrite(path, change(context.storage.read(path)))

    return damage


def manifest_bytes(change):
    def damage(context):
        (manifest,) = context.manifests.read_list(context.snapshots.read(1).delta_manifest_list)
        path = context.paths.manifest(manifest.file_name)
        context.storage.overwrite(path, change(context.storage.read(path)))

    return damage


def data_bytes(change):
    def damage(context):
        entry = first(context)
        path = context.paths.data_file("", entry.bucket, entry.file.file_name)
        context.storage.overwrite(path, change(context.storage.read(path)))

    return damage


def first(context):
    return context.manifests.entries_of(context.snapshots.read(1))[0]


def entry(change):
    """Change the record of the first file."""

    def damage(context):
        one, *others = context.manifests.entries_of(context.snapshots.read(1))
        record(context, change(one), *others)

    return damage


def missing_list(context):
    context.storage.delete([context.paths.manifest(context.snapshots.read(1).base_manifest_list)])


def missing_data(context):
    one = first(context)
    context.storage.delete([context.paths.data_file("", one.bucket, one.file.file_name)])


def other_manifest_version(context):
    """Write a manifest of one record whose version is 99."""
    (manifest,) = context.manifests.read_list(context.snapshots.read(1).delta_manifest_list)
    path = context.paths.manifest(manifest.file_name)
    data = write_avro(MANIFEST_SCHEMA, [r | {"_VERSION": 99} for r in read_avro(context.storage.read(path), path)])
    context.storage.overwrite(path, data)
    name, size = context.manifests.write_list([replace(manifest, file_size=len(data))])
    rewrite(context, 1, delta_manifest_list=name, delta_manifest_list_size=size)


def recorded_manifest_size(context):
    (manifest,) = context.manifests.read_list(context.snapshots.read(1).delta_manifest_list)
    name, size = context.manifests.write_list([replace(manifest, file_size=manifest.file_size + 1)])
    rewrite(context, 1, delta_manifest_list=name, delta_manifest_list_size=size)


def other_parquet(context):
    """Replace a data file by a valid Parquet file with other columns, and record its size."""
    one, *others = context.manifests.entries_of(context.snapshots.read(1))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [1] * one.file.row_count}), sink)
    data = sink.getvalue().to_pybytes()
    path = context.paths.data_file("", one.bucket, one.file.file_name)
    context.storage.overwrite(path, data)
    record(context, of_file(file_size=len(data))(one), *others)


def swapped_keys(one):
    return of_file(min_key=one.file.max_key, max_key=one.file.min_key)(one)


def flipped_page(data: bytes) -> bytes:
    """Flip one bit of the last page of the last column."""
    column = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(4)
    return flip(column.data_page_offset + column.total_compressed_size - 20)(data)


def flip(at: int):
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def field(at: int, **changes):
    def damage(context):
        fields = json.loads(context.storage.read(context.paths.schema(0)))["fields"]
        fields[at] |= changes
        edit_json(context, context.paths.schema(0), fields=fields)

    return damage


DEEP = b'{"properties": ' + b"[" * 105 + b"]" * 105 + b"}"
BAD = {
    "96 an empty snapshot": (snapshot_bytes(b""), CorruptTable, "snapshot-1: not a snapshot"),
    "96 a snapshot cut short": (snapshot_bytes(b'{"id": 1, "sch'), CorruptTable, "snapshot-1.*char 10"),
    "97 200 kB of [": (snapshot_bytes(b"[" * 200_000), CorruptTable, "snapshot-1.*nests deeper than 104"),
    "97 105 lists in each other": (snapshot_bytes(DEEP), CorruptTable, "snapshot-1.*nests deeper than 104"),
    "98 a snapshot of 17 MB": (snapshot_bytes(b" " * (17 << 20)), CorruptTable, "snapshot-1.*more than the 16777216"),
    "98 a member twice": (snapshot_bytes(b'{"id": 1, "id": 2}'), CorruptTable, "snapshot-1.*'id' appears twice"),
    "98 NaN": (snapshot_bytes(b'{"id": NaN}'), CorruptTable, "snapshot-1.*NaN is not a JSON number"),
    "98 Infinity": (snapshot_bytes(b'{"id": -Infinity}'), CorruptTable, "snapshot-1.*Infinity is not a JSON number"),
    "98 a byte order mark": (snapshot_bytes(b"\xef\xbb\xbf{}"), CorruptTable, "snapshot-1.*byte order mark"),
    "98 UTF-16": (snapshot_bytes('{"id": 1}'.encode("utf-16")), CorruptTable, "snapshot-1"),
    "98 a number of 10,000 digits": (snapshot_bytes(b'{"id": ' + b"9" * 10_000 + b"}"), CorruptTable, "snapshot-1"),
    "99 a newer version": (snapshot_members(version=99), UnsupportedFeature, "snapshot-1.*version 99 is newer than 3"),
    "100 no delta list": (without("deltaManifestList"), CorruptTable, "snapshot-1: .* it has no deltaManifestList"),
    "102 an id that is not the name's": (snapshot_members(id=7), CorruptTable, "snapshot-1 contains snapshot 7"),
    "103 a negative count": (
        snapshot_members(totalRecordCount=-5),
        CorruptTable,
        "snapshot-1.*count is -5",
    ),
    "103 a negative size": (snapshot_members(baseManifestListSize=-1), CorruptTable, "snapshot-1.*list_size is -1"),
    "103 the year 9999": (snapshot_members(timeMillis=253_370_764_800_000), CorruptTable, "snapshot-1.*time_millis"),
    "103 a time before 1970": (snapshot_members(timeMillis=-1), CorruptTable, "snapshot-1.*time_millis is -1"),
    "104 a schema that is missing": (snapshot_members(schemaId=77), CorruptTable, "schema 77 is missing.*schema-77"),
    "105 a list that leaves": (snapshot_members(baseManifestList="../../etc/passwd"), CorruptTable, "not a plain name"),
    "105 an absolute list": (snapshot_members(baseManifestList="/etc/passwd"), CorruptTable, "not a plain name"),
    "105 a list at a URL": (snapshot_members(deltaManifestList="http://host/x"), CorruptTable, "not a plain name"),
    "106 a list that is missing": (missing_list, CorruptTable, "manifest-list-.* is missing"),
    "106 an empty list": (list_bytes(lambda d: b""), CorruptTable, "manifest-list-.* has 0 bytes"),
    "106 a list cut short": (list_bytes(lambda d: d[:-3]), CorruptTable, "manifest-list-.*are recorded"),
    "106 a list with garbage behind": (list_bytes(lambda d: d + b"x"), CorruptTable, "manifest-list-.*are recorded"),
    "107 another magic": (list_bytes(lambda d: b"XXXX" + d[4:]), CorruptTable, "manifest-list-.*magic"),
    "112 a flipped bit in a list": (list_bytes(lambda d: flip(len(d) - 30)(d)), CorruptTable, "manifest-list-"),
    "112 a flipped bit in a manifest": (manifest_bytes(lambda d: flip(len(d) - 30)(d)), CorruptTable, "manifest-"),
    "113 another size of a manifest": (recorded_manifest_size, CorruptTable, "manifest-.*are recorded"),
    "115 a file name with a path": (entry(of_file(file_name="../../x")), CorruptTable, "not a plain name"),
    "115 a file name that is ..": (entry(of_file(file_name="..")), CorruptTable, "not a plain name"),
    "115 a file elsewhere": (entry(of_file(external_path="http://host/x")), UnsupportedFeature, "lies outside"),
    "116 a newer entry": (other_manifest_version, UnsupportedFeature, "manifest-.*version 99"),
    "120 a data file that is missing": (missing_data, CorruptTable, "data file .* is missing"),
    "120 an empty data file": (data_bytes(lambda d: b""), CorruptTable, "data file .* has 0 bytes"),
    "120 a data file cut short": (data_bytes(lambda d: d[:-5]), CorruptTable, "data file .* bytes, not"),
    "120 another magic at its end": (data_bytes(lambda d: d[:-4] + b"XXXX"), CorruptTable, "data file .*decode"),
    "121 a footer of 2 GiB": (data_bytes(lambda d: d[:-8] + b"\xff\xff\xff\x7f" + d[-4:]), CorruptTable, "data file"),
    "121 other columns": (other_parquet, CorruptTable, "data file|column"),
    "121 other rows than recorded": (entry(of_file(row_count=999)), CorruptTable, "data file .* rows, not 999"),
    "122 a flipped bit in a page": (data_bytes(flipped_page), CorruptTable, "data file .* does not decode"),
    "124 a schema of nothing": (lambda c: c.storage.overwrite(c.paths.schema(0), b"{}"), CorruptTable, "schema-0"),
    "124 an unknown type": (field(1, type="NOSUCH"), CorruptTable, "schema-0.*NOSUCH"),
    "124 a newer schema": (schema_members(version=99), UnsupportedFeature, "schema-0.*version 99 is newer"),
    "124 an id twice": (field(1, id=0), CorruptTable, "schema-0.*id 0 appears twice"),
    "124 a name twice": (field(1, name="k"), CorruptTable, "schema-0.*'k' appears twice"),
    "124 a schema of 105 lists": (
        lambda c: c.storage.overwrite(c.paths.schema(0), DEEP),
        CorruptTable,
        "schema-0.*nests deeper than 104",
    ),
}


@pytest.mark.parametrize(("damage", "error", "says"), BAD.values(), ids=BAD.keys())
def test_a_read_names_the_file_and_the_rule(damage, error, says):
    context = real_table().context
    damage(context)
    with pytest.raises(error, match=says) as caught:
        read_all(context)
    assert len(str(caught.value)) < LONGEST_MESSAGE
    if damage_is_of_the_schema(context):
        return
    assert not check_root("db.t", context.storage, context.paths.root, deep=True).is_clean


def damage_is_of_the_schema(context):
    """Whether the schema cannot be read: fsck cannot check a table without a schema."""
    try:
        SchemaStore(context.storage, TablePaths(context.paths.root)).read(0)
    except PaimonError:
        return True
    return False


FOUND_BY_THE_CHECK = {
    "113 other counts of a manifest": ("I18", lambda c: recount(c)),
    "114 a bucket beyond the last": ("I15", entry(lambda e: replace(e, total_buckets=1))),
    "114 a level of 1000": ("I12", entry(of_file(level=1000))),
    "114 keys the wrong way round": (
        "I12",
        entry(lambda e: of_file(min_key=e.file.max_key, max_key=e.file.min_key)(e)),
    ),
    "124 a highestFieldId that is low": ("I25", schema_members(highestFieldId=0)),
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
    "101 members that are unknown": snapshot_members(logOffsets={"0": 1}, newer=[1, {"x": None}]),
    "125 LATEST of garbage": lambda c: c.storage.overwrite(c.paths.hint("LATEST"), b"\x00\xff garbage"),
    "125 LATEST of 999": lambda c: c.storage.overwrite(c.paths.hint("LATEST"), b"999"),
    "125 an empty LATEST": lambda c: c.storage.overwrite(c.paths.hint("LATEST"), b""),
    "125 EARLIEST of 999": lambda c: c.storage.overwrite(c.paths.hint("EARLIEST"), b"999"),
    "126 a temporary file": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-4.tmp", b"{"),
    "126 a name without number": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-abc", b"{"),
    "126 a number with a zero": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-04", b"{"),
    "126 a directory": lambda c: c.storage.write(f"{c.paths.snapshot_directory}/snapshot-x/y", b"{"),
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


@pytest.mark.parametrize("snapshot", [2, 10**18, 0, -1])
def test_a_missing_snapshot(snapshot):  # 129
    with pytest.raises(NotFound, match="it has snapshots 1 to 1"):
        real_table().at(snapshot=snapshot)


@pytest.mark.parametrize("snapshot", ["1", True, 1.0])
def test_an_invalid_snapshot_id(snapshot):  # 129
    with pytest.raises(paimon.InvalidRequest, match="snapshot"):
        real_table().at(snapshot=snapshot)


def test_a_time_before_the_first_snapshot():  # 130
    with pytest.raises(NotFound, match="the earliest is of"):
        real_table().at(time=0)
    with pytest.raises(paimon.InvalidRequest, match="not-a-date"):
        real_table().at(time="not-a-date")


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
