"""Statistics of files: for the same rows ours are those of Java, in each mode, format and kind of file.

One exception is meant: Java pads CHAR values in the statistics of ORC files, and then loses the rows when it filters.
"""

from __future__ import annotations

import decimal
import json

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.fsck.check import check_root
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support.java_rows import as_set, json_rows

COLUMNS = {
    "id": "STRING NOT NULL",
    "k": "INT NOT NULL",
    "c": "CHAR(5)",
    "s": "STRING",
    "u": "VARCHAR(40)",
    "b": "BYTES",
    "x": "DOUBLE",
    "a": "ARRAY<INT>",
    "d": "DECIMAL(10, 2)",
    "t": "TIMESTAMP(3)",
    "n": "BOOLEAN",
}
JAVA_TYPES = COLUMNS | {"a": {"type": "ARRAY", "element": "INT"}}
SMILE, LAST = "\U0001f600", "\U0010ffff"
D = decimal.Decimal
ROWS = {
    "id": ["a" * 200, "b", SMILE * 130],
    "k": [1, 2, 3],
    "c": ["ab", "ab", None],
    "s": ["a text of more than sixteen characters", SMILE * 17, "b"],
    "u": [LAST * 20, "a", None],
    "b": [b"\x80\xff", None, b"\x7f"],
    "x": [-1.5, 2.5, None],
    "a": [[1], None, []],
    "d": [D("-1.25"), None, D("99999999.99")],
    "t": [-1500, 1, None],
    "n": [None, None, None],
}
MODES = {
    "default": {},
    "none": {"metadata.stats-mode": "none"},
    "counts": {"metadata.stats-mode": "counts"},
    "two": {"metadata.stats-mode": "truncate(2)", "fields.s.stats-mode": "full", "fields.d.stats-mode": "none"},
    "first": {"metadata.stats-keep-first-n-columns": "5", "fields.t.stats-mode": "counts"},
    "sparse": {
        "metadata.stats-dense-store": "false",
        "metadata.stats-mode": "none",
        "fields.s.stats-mode": "truncate(3)",
    },
    "levels": {
        "metadata.stats-mode.per.level": "0:none,5:truncate(1)",
        "changelog-file.stats-mode": "counts",
        "manifest.delete-file-drop-stats": "true",
    },
}
KEYED = {"bucket": "1", "write-only": "true", "changelog-producer": "input"}
COMPACTED = ("default", "levels")
PLACES = {"append": ([], {"bucket": "-1"}), "keyed": (["id", "k"], KEYED)}
FILTERS = {"c": "ab", "s": SMILE * 17, "u": LAST * 20, "d": "99999999.99"}


def names(side):
    return [f"db.{side}_{mode}_{place}" for mode in MODES for place in PLACES if (mode, place) != ("levels", "append")]


def rows_of(table):
    return pa.table(
        [pa.array(values, f.type.to_arrow()) for f, values in zip(table.schema.fields, ROWS.values(), strict=True)],
        names=list(COLUMNS),
    )


def files(table):
    """Return the files that each snapshot adds, and the changelog files, in the order of levels."""
    context = table.context
    found = []
    for number in context.snapshots.ids():
        snapshot = context.snapshots.read(number)
        lists = (
            (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
            (snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size),
        )
        for name, size in lists:
            for manifest in context.manifests.read_list(name, size) if name else ():
                found += context.manifests.read_manifest(manifest.file_name, manifest.file_size)
    return found


def statistics(entry, table, kind):
    """Return the columns with statistics, and minimum, maximum and null count of each; then those of the key.

    They include the bytes of the rows; in ORC files, where CHAR values of Java are padded, only their minimum.
    """
    schema, file = table.schema, entry.file
    covered = schema.fields if file.value_stats_cols is None else schema.select(file.value_stats_cols)
    out = [entry.kind, file.level, file.value_stats_cols]
    for fields, stats in ((covered, file.value_stats), (schema.key_fields, file.key_stats)):
        types = [f.type for f in fields]
        low, high = decode_row(stats.min_values, types), decode_row(stats.max_values, types)
        for field, least, greatest, nulls in zip(fields, low, high, stats.null_counts, strict=True):
            if kind == "orc" and field.name == "c":
                least, greatest = least and least.rstrip(), greatest is not None
            out.append((field.name, least, greatest, nulls))
        if kind != "orc":
            out += [stats.min_values, stats.max_values]
    return out


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_statistics_equal_those_of_java(oracle, warehouse, kind):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    steps = []
    for mine, javas in zip(names("ours"), names("java"), strict=True):
        _, mode, place = mine.split("_")
        keys, more = PLACES[place]
        options = {"file.format": kind} | more | MODES[mode]
        table = catalog.create_table(mine, COLUMNS, primary_key=keys, options=options)
        rows = rows_of(table)
        table.write(rows)
        fields = [{"name": n, "type": t} for n, t in JAVA_TYPES.items()]
        write = {"op": "write", "table": javas, "rows": json_rows(rows, table.schema.fields)}
        create = {"op": "create", "table": javas, "fields": fields, "primaryKeys": keys, "options": options}
        steps += [create, write]
        if keys and mode in COMPACTED:
            table.write(rows)
            table.compact(full=True)
            steps += [write, {"op": "compact", "table": javas}]
    dumps = [
        {"op": "dump", "table": name, "filter": [[column, "=", value]]}
        for name in names("ours")
        for column, value in FILTERS.items()
        if column in "cs"
    ]
    answers = oracle.run(warehouse, steps + dumps)[len(steps) :]
    for mine, javas in zip(names("ours"), names("java"), strict=True):
        ours, java = catalog.table(mine), catalog.table(javas)
        rows = as_set(json_rows(ours.scan().to_arrow(), ours.schema.fields))
        assert len(rows) == 3
        assert [statistics(e, ours, kind) for e in files(ours)] == [statistics(e, java, kind) for e in files(java)]
        for column, value in FILTERS.items():
            wanted = [r for r in rows if json.loads(r)[list(COLUMNS).index(column)] == value]
            assert wanted
            literal = D(value) if column == "d" else value
            found = java.scan(where=col(column) == literal).to_arrow()
            assert as_set(json_rows(found, java.schema.fields)) == wanted
            if column in "cs":
                answer = answers.pop(0)["rows"]
                assert set(wanted) <= set(as_set(answer)) <= set(rows), (mine, column)


BEFORE_SURROGATES = "\ud7ff"
ODD = {
    "c": ("CHAR(5)", ["ab", "ab\t", None, "ab"]),
    "s": ("STRING", [BEFORE_SURROGATES * 17, "a?", "a", None]),
    "long": ("STRING", ["z" * 5000, "y" * 5000, None, "z" * 5000]),
    "x": ("DOUBLE", ["NaN", 2.5, -0.0, None]),
    "y": ("FLOAT", [0.0, "NaN", -1.5, 7.0]),
    "d": ("DATE", ["0001-01-01", "1500-03-01", "9999-12-31", None]),
}


@pytest.mark.parametrize("mode", ["truncate(16)", "full"])
def test_no_row_of_java_is_lost_by_its_statistics(oracle, warehouse, mode):
    """Values whose statistics are no bounds in Java (metadata.recorded_bounds), and those that are hard to bound."""
    rows = [["+I", *row] for row in zip(*(values for _, values in ODD.values()), strict=True)]
    fields = [{"name": name, "type": text} for name, (text, _) in ODD.items()]
    for kind in ("parquet", "orc", "avro"):
        options = {"file.format": kind, "metadata.stats-mode": mode, "bucket": "-1"}
        create = {"op": "create", "table": f"db.{kind}", "fields": fields, "options": options}
        # Each row is a file, so that its statistics are those of one value; the last file has them all.
        writes = [{"op": "write", "table": f"db.{kind}", "rows": some} for some in (*([row] for row in rows), rows)]
        oracle.run(warehouse, [create, *writes])
        table = paimon.open_catalog(warehouse).table(f"db.{kind}")
        read = table.scan().to_arrow()
        for name in ODD:
            for value in read[name].to_pylist():
                where = col(name).is_null() if value is None else col(name) == value
                assert len(table.scan(where=where).to_arrow()) == len(_equal(read, name, value)), (kind, name, value)
        report = check_root(f"db.{kind}", FsspecStorage("file"), f"{warehouse}/db.db/{kind}", deep=True)
        assert report.is_clean, report.text()


def _equal(rows, name, value):
    """Return the values of a column that equal ``value``, where NaN equals NaN."""
    return [v for v in rows[name].to_pylist() if v == value or (v != v and value != value)]
