"""Incremental reads in every mode, between ids, tags and times, compared with Java on the same table in one run."""

from __future__ import annotations

import pytest

import paimon_core as paimon
from paimon_core.metadata.times.local_time import epoch_millis
from tests.support.java_rows import json_rows

pytestmark = pytest.mark.java
FIELDS = [{"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "STRING"}]
TABLES = {
    "db.plain": (["k"], {"bucket": "1", "write-only": "true"}),
    "db.logged": (["k"], {"bucket": "1", "changelog-producer": "input", "write-only": "true"}),
    "db.looked": (["k"], {"bucket": "1", "changelog-producer": "lookup"}),
    "db.added": ([], {"write-only": "true"}),
}
LOGGED = ("db.logged", "db.looked")
READS = [
    {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": mode}
    for mode in ("auto", "delta", "changelog", "diff")
    for start, end in ((1, 2), (1, 4), (2, 3), (3, 3))
] + [
    {"incremental-between": "one,four"},
    {"incremental-between": "one,four", "incremental-between-tag-to-snapshot": "true"},
    {"scan.mode": "incremental", "incremental-between": "2,4"},
    {"incremental-between-timestamp": "0,9000000000000"},
    {"incremental-between-timestamp": "7,7"},
]


def history(table):
    keys, options = TABLES[table]

    def write(*rows, **more):
        return {"op": "write", "table": table, "rows": [list(row) for row in rows], **more}

    return [
        {"op": "create", "table": table, "fields": FIELDS, "primaryKeys": keys, "options": options},
        write(("+I", 1, "a"), ("+I", 2, "a")),
        write(("+I", 2, "b"), ("+I", 3, "b")),
        write(("+I", 5, "o"), ("+I", 3, "b"), overwrite={}),
        write(("+I", 3, "d"), ("+I", 6, "d"), *([("-D", 5, "o")] if keys else [])),
        {"op": "tag", "table": table, "name": "one", "snapshot": 1},
        {"op": "tag", "table": table, "name": "four", "snapshot": 4},
    ]


def test_rows_as_java_reads_them(oracle, warehouse):
    asked = [(table, read) for table in TABLES for read in READS if table in LOGGED or not changelog(read)]
    steps = [step for table in TABLES for step in history(table)]
    steps += [{"op": "dump", "table": table, "options": read} for table, read in asked]
    java = oracle.run(warehouse, steps)[-len(asked) :]
    catalog = paimon.open_catalog(str(warehouse))
    for (name, read), answer in zip(asked, java, strict=True):
        table = catalog.table(name)
        ours = [row[1:] for row in json_rows(table.with_options(read).scan().to_arrow(), table.schema.fields)]
        # Java's engines drop the rows of kind -U and -D; its reader for them does not.
        theirs = [row[1:] for row in answer["rows"] if row[0] in ("+I", "+U")]
        if name == "db.added" and read.get("incremental-between") == "2,3" and "diff" in read.values():
            # Java also returns a row that was only written to another file.
            assert (ours, len(theirs)) == ([[5, "o"]], 2)
            continue
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), (name, read)


def test_audit_logs_and_binlogs_as_java_reads_them(oracle, warehouse):
    kinds = ("audit_log", "binlog")
    asked = [
        (table, kind, read)
        for table in TABLES
        for read in READS
        for kind in kinds
        if (table in LOGGED or not changelog(read)) and not (kind == "binlog" and is_difference(read))
    ]
    steps = [step for table in TABLES for step in history(table)]
    steps += [{"op": "dump", "table": f"{table}${kind}", "options": read} for table, kind, read in asked]
    java = oracle.run(warehouse, steps)[-len(asked) :]
    catalog = paimon.open_catalog(str(warehouse))
    for (name, kind, read), answer in zip(asked, java, strict=True):
        system = catalog.table(name).with_options(read).system_table(kind)
        ours = [row[1:] for row in json_rows(system.to_arrow(), system.fields)]
        theirs = [row[1:] for row in answer["rows"]]
        if is_difference(read):
            if name == "db.added":
                continue  # Java tells all rows of new files as inserts
            # Java tells only the later row of an update, under the kind with which it was written, and deletes that no
            # compaction has dropped yet, also of keys that the earlier version does not have.
            ours = [["+I" if row[0] == "+U" else row[0], *row[1:]] for row in ours if row[0] != "-U"]
            theirs = [row for row in theirs if row in ours or row[0] != "-D"]
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), (name, kind, read)


def modes(table):
    """Options scan.* in every mode of Java 1.4, with the times and ids of a table."""
    times = [table.context.snapshots.read(i).time_millis for i in table.context.snapshots.ids()]
    created = sorted(filter(None, (epoch_millis(f.creation_time_millis) for f in table.scan().plan.files)))
    words = ("default", "latest-full", "full", "latest", "compacted-full")
    yield from ({"scan.mode": word} for word in words)
    yield from ({"scan.timestamp-millis": str(time)} for time in times[1:3])
    yield {"scan.mode": "from-snapshot", "scan.snapshot-id": "2"}
    yield {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"}
    yield {"scan.tag-name": "one"}
    yield {"scan.version": "four"}
    yield from ({"scan.file-creation-time-millis": str(time)} for time in (0, created[-1], created[-1] + 1))
    yield {"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": str(times[2])}
    yield from ({"scan.creation-time-millis": str(time)} for time in (0, times[1], times[2], times[-1] + 1))


def test_scan_modes_as_java_reads_them(oracle, warehouse):
    oracle.run(warehouse, [step for table in TABLES for step in history(table)])
    catalog = paimon.open_catalog(str(warehouse))
    catalog.table("db.logged").compact(full=True)
    catalog.table("db.logged").write([{"k": 9, "v": "z"}])
    asked = [(name, options) for name in TABLES for options in modes(catalog.table(name))]
    java = oracle.run(warehouse, [{"op": "dump", "table": name, "options": options} for name, options in asked])
    for (name, options), answer in zip(asked, java, strict=True):
        table = catalog.table(name).with_options(options)
        ours = [row[1:] for row in json_rows(table.scan().to_arrow(), table.schema.fields)]
        theirs = [row[1:] for row in answer["rows"] if row[0] in ("+I", "+U")]
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), (name, options)


def changelog(read):
    return read.get("incremental-between-scan-mode") == "changelog"


def is_difference(read):
    return "diff" in read.values() or (
        read.get("incremental-between") == "one,four" and "incremental-between-tag-to-snapshot" not in read
    )
