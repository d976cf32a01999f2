"""Bad files: metadata and data files of a table that are truncated, wrong or hostile.

Each case damages a valid table, then opens it again and reads all of it. Damage that a read does not notice is found by
fsck (``tests/unit/metadata/test_bad_inputs.py``, ``tests/unit/fsck``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import paimon_core as paimon
from paimon_core.codec.avro.container import read_avro, write_avro
from paimon_core.errors import CorruptTable, InvalidRequest, PaimonError, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.manifest_file import MANIFEST_SCHEMA
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.paths import TablePaths
from tests.bad_inputs.case import Case, Cases
from tests.support.broken_tables import edit_json, of_file, record, rewrite


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
DAMAGE: dict[str, tuple[Callable[[TableContext], Any], type[PaimonError], str]] = {
    "an empty snapshot": (snapshot_bytes(b""), CorruptTable, "snapshot-1: not a snapshot"),
    "a snapshot cut short": (snapshot_bytes(b'{"id": 1, "sch'), CorruptTable, "snapshot-1.*char 10"),
    "200 kB of [": (snapshot_bytes(b"[" * 200_000), CorruptTable, "snapshot-1.*nests deeper than 104"),
    "105 lists in each other": (snapshot_bytes(DEEP), CorruptTable, "snapshot-1.*nests deeper than 104"),
    "a snapshot of 17 MB": (snapshot_bytes(b" " * (17 << 20)), CorruptTable, "snapshot-1.*more than the 16777216"),
    "a member twice": (snapshot_bytes(b'{"id": 1, "id": 2}'), CorruptTable, "snapshot-1.*'id' appears twice"),
    "an id of 5,000 digits": (
        snapshot_bytes(b'{"id": ' + b"9" * 5000 + b"}"),
        CorruptTable,
        "snapshot-1.*a number has more than 4300 digits",
    ),
    "NaN": (snapshot_bytes(b'{"id": NaN}'), CorruptTable, "snapshot-1.*NaN is not a JSON number"),
    "Infinity": (snapshot_bytes(b'{"id": -Infinity}'), CorruptTable, "snapshot-1.*Infinity is not a JSON number"),
    "a byte order mark": (snapshot_bytes(b"\xef\xbb\xbf{}"), CorruptTable, "snapshot-1.*byte order mark"),
    "UTF-16": (snapshot_bytes('{"id": 1}'.encode("utf-16")), CorruptTable, "snapshot-1"),
    "a number of 10,000 digits": (snapshot_bytes(b'{"id": ' + b"9" * 10_000 + b"}"), CorruptTable, "snapshot-1"),
    "a newer version": (snapshot_members(version=99), UnsupportedFeature, "snapshot-1.*version 99 is newer than 3"),
    "no delta list": (without("deltaManifestList"), CorruptTable, "snapshot-1: .* it has no deltaManifestList"),
    "an id that is not the name's": (snapshot_members(id=7), CorruptTable, "snapshot-1 contains snapshot 7"),
    "a negative count": (
        snapshot_members(totalRecordCount=-5),
        CorruptTable,
        "snapshot-1.*count is -5",
    ),
    "a negative size": (snapshot_members(baseManifestListSize=-1), CorruptTable, "snapshot-1.*list_size is -1"),
    "the year 9999": (snapshot_members(timeMillis=253_370_764_800_000), CorruptTable, "snapshot-1.*time_millis"),
    "a time before 1970": (snapshot_members(timeMillis=-1), CorruptTable, "snapshot-1.*time_millis is -1"),
    "a schema that is missing": (snapshot_members(schemaId=77), CorruptTable, "schema 77 is missing.*schema-77"),
    "a list that leaves": (snapshot_members(baseManifestList="../../etc/passwd"), CorruptTable, "not a plain name"),
    "an absolute list": (snapshot_members(baseManifestList="/etc/passwd"), CorruptTable, "not a plain name"),
    "a list at a URL": (snapshot_members(deltaManifestList="http://host/x"), CorruptTable, "not a plain name"),
    "a list that is missing": (missing_list, CorruptTable, "manifest-list-.* is missing"),
    "an empty list": (list_bytes(lambda d: b""), CorruptTable, "manifest-list-.* has 0 bytes"),
    "a list cut short": (list_bytes(lambda d: d[:-3]), CorruptTable, "manifest-list-.*are recorded"),
    "a list with garbage behind": (list_bytes(lambda d: d + b"x"), CorruptTable, "manifest-list-.*are recorded"),
    "another magic": (list_bytes(lambda d: b"XXXX" + d[4:]), CorruptTable, "manifest-list-.*magic"),
    "a flipped bit in a list": (list_bytes(lambda d: flip(len(d) - 30)(d)), CorruptTable, "manifest-list-"),
    "a flipped bit in a manifest": (manifest_bytes(lambda d: flip(len(d) - 30)(d)), CorruptTable, "manifest-"),
    "another size of a manifest": (recorded_manifest_size, CorruptTable, "manifest-.*are recorded"),
    "a file name with a path": (entry(of_file(file_name="../../x")), CorruptTable, "not a plain name"),
    "a file name that is ..": (entry(of_file(file_name="..")), CorruptTable, "not a plain name"),
    "a file elsewhere": (entry(of_file(external_path="http://host/x")), InvalidRequest, "http://host/x.*allowed_roots"),
    "a newer entry": (other_manifest_version, UnsupportedFeature, "manifest-.*version 99"),
    "a data file that is missing": (missing_data, CorruptTable, "data file .* is missing"),
    "an empty data file": (data_bytes(lambda d: b""), CorruptTable, "data file .* has 0 bytes"),
    "a data file cut short": (data_bytes(lambda d: d[:-5]), CorruptTable, "data file .* bytes, not"),
    "another magic at its end": (data_bytes(lambda d: d[:-4] + b"XXXX"), CorruptTable, "data file .*decode"),
    "a footer of 2 GiB": (data_bytes(lambda d: d[:-8] + b"\xff\xff\xff\x7f" + d[-4:]), CorruptTable, "data file"),
    "other columns": (other_parquet, CorruptTable, "data file|column"),
    "other rows than recorded": (entry(of_file(row_count=999)), CorruptTable, "data file .* rows, not 999"),
    "a flipped bit in a page": (data_bytes(flipped_page), CorruptTable, "data file .* does not decode"),
    "a schema of nothing": (lambda c: c.storage.overwrite(c.paths.schema(0), b"{}"), CorruptTable, "schema-0"),
    "an unknown type": (field(1, type="NOSUCH"), CorruptTable, "schema-0.*NOSUCH"),
    "a newer schema": (schema_members(version=99), UnsupportedFeature, "schema-0.*version 99 is newer"),
    "an id twice": (field(1, id=0), CorruptTable, "schema-0.*id 0 appears twice"),
    "a name twice": (field(1, name="k"), CorruptTable, "schema-0.*'k' appears twice"),
    "a schema of 105 lists": (
        lambda c: c.storage.overwrite(c.paths.schema(0), DEEP),
        CorruptTable,
        "schema-0.*nests deeper than 104",
    ),
}


def _case(damage: Callable[[TableContext], Any], error: type[PaimonError], says: str) -> Case:
    return Case(lambda lake: read_all(lake.context()), error, (says,), damage)


CASES: Cases = {name: _case(*damage) for name, damage in DAMAGE.items()}
