"""Deep checks of file indexes: a right index is clean, a wrong one is a finding, also where it has no checksum."""

from __future__ import annotations

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.fileindex.container import FileIndex, write_container

SCHEMA = pa.schema([("k", pa.int64()), ("a", pa.string()), ("m", pa.map_(pa.string(), pa.int32()))])
ROWS = pa.table([[1, None, -3], ["x", "y", None], [[("p", 1)], [], None]], schema=SCHEMA)
OPTIONS = {
    "file-index.bloom-filter.columns": "k,a,m[p]",
    "file-index.bitmap.columns": "k,a",
    "file-index.bsi.columns": "k",
    "file-index.range-bitmap.columns": "k,a",
    "file-index.bloom-filter.k.items": "10",
    "file-index.bloom-filter.a.items": "10",
    "file-index.in-manifest-threshold": "0 b",
}


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    table.write(ROWS)
    return table


def index_of(table):
    (entry,) = table.context.manifests.entries_of(table.context.snapshots.latest())
    path = table.context.paths.data_file("", 0, entry.file.extra_files[0])
    index = FileIndex.of_bytes(table.context.storage.read(path), path)
    return path, {c: {k: index.payload(c, k) for k in kinds} for c, kinds in index.places.items()}


def test_right_indexes_are_clean(table):
    report = table.maintenance.check(deep=True)
    assert report.findings == ()
    assert report.checked["I19"] == 1


@pytest.mark.parametrize(
    ("column", "kind"),
    [(c, k) for k in ("bloom-filter", "bitmap", "bsi", "range-bitmap") for c in ("k", "a") if (c, k) != ("a", "bsi")],
)
def test_an_index_of_other_rows_is_a_finding(table, column, kind):
    path, payloads = index_of(table)
    other = pa.table([[5, 6, 7], ["q", None, "r"], ROWS["m"]], schema=SCHEMA)
    table.write(other)
    entries = table.context.manifests.entries_of(table.context.snapshots.latest())
    paths = [table.context.paths.data_file("", 0, e.file.extra_files[0]) for e in entries]
    (foreign,) = [FileIndex.of_bytes(table.context.storage.read(p), p) for p in paths if p != path]
    payloads[column] = {**payloads[column], kind: foreign.payload(column, kind)}
    table.context.storage.overwrite(path, write_container(payloads))
    findings = table.maintenance.check(deep=True).findings
    assert [(f.invariant, f"the {kind} index of {column}" in f.message) for f in findings] == [("I19", True)]
