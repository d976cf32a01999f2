"""Every type as key, bucket key and partition column, with the ends of its range: both sides find the same places."""

from __future__ import annotations

from pathlib import Path

import paimon_core as paimon
from paimon_core.types import BINARY_ROOTS, parse_type
from tests.interop.test_every_type import FORMATS, ORC_TIMES, PLAIN
from tests.support.java_rows import arrow_rows, as_set, json_rows

_PRECISIONS = ("(0)", "(3)", "(6)", "(7)", "(9)")
TYPES = PLAIN | {text: values for text, values in ORC_TIMES.items() if any(p in text for p in _PRECISIONS)}
"""With the times that each format has, of the precisions at which the stored form changes."""
KEYS = {text: [v for v in values if v != "NaN"] for text, values in TYPES.items()}
"""Java takes NaN as equal to every number when it merges by key, and loses rows."""
SPECIAL = [
    "",
    " ",
    "a b:c=d/e%f",
    "..",
    "é\u0301",
    "{x}[y]^z",
    "\x7f\n",
    "__DEFAULT_PARTITION__",
    "null",
    "+&<>|,@\\\"'*?#",
]


def format_of(at, text):
    kind = FORMATS[at % len(FORMATS)]
    return "parquet" if kind == "avro" and any(f"({p})" in text for p in (7, 8, 9)) and "TIMESTAMP" in text else kind


def places(table):
    """The partition, bucket and number of rows of each file."""
    return sorted(
        map(tuple, table.inspect.files().select(["partition", "bucket", "record_count"]).to_pylist()), key=str
    )


def directories(table):
    root = Path(table.location)
    return {str(path.parent.relative_to(root)) for path in root.glob("**/bucket-*/data-*")}


def check_all(oracle, warehouse, tables):
    """Both sides read exactly these rows from each table; ``tables`` has the rows by name."""
    catalog = paimon.open_catalog(warehouse)
    dumps = oracle.run(warehouse, [{"op": "dump", "table": name} for name in tables])
    for (name, rows), dump in zip(tables.items(), dumps, strict=True):
        table = catalog.table(name)
        what = (name, [f.type.sql for f in table.schema.fields][:2])
        assert as_set(dump["rows"]) == as_set(rows), what
        assert as_set(json_rows(table.scan().to_arrow(), table.schema.fields)) == as_set(rows), what


def test_keys_and_partitions_of_every_type(oracle, warehouse):
    """If one side put a key in another bucket or directory, or in another order, old versions would be read."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    script, newest = [], {}
    for at, (text, values) in enumerate(KEYS.items()):
        legacy = at % 2 == 0
        options = {"bucket": "3", "write-only": "true", "file.format": format_of(at, text)}
        options["partition.legacy-name"] = str(legacy).lower()
        # Java 1.4.2 fails to write twice to a table with a key and binary partitions.
        partitions = [1, 2] if parse_type(text).root in BINARY_ROOTS else TYPES[text][:3]
        columns = {"p": "INT" if partitions == [1, 2] else text, "k": text, "v": "INT"}
        table = catalog.create_table(f"db.t{at}", columns, primary_key=["p", "k"], partition_by=["p"], options=options)
        pairs = [(p, k) for p in partitions for k in values]
        rows = [["+I", *pair, n] for n, pair in enumerate(pairs)]
        table.write(arrow_rows(rows, table.schema.fields))
        newer = [[*row[:3], row[3] + 100] for row in rows]
        script.append({"op": "write", "table": table.name, "rows": newer})
        if at % 3 == 0:
            script.append({"op": "compact", "table": table.name})
        newest[table.name] = json_rows(arrow_rows(newer, table.schema.fields), table.schema.fields)
    oracle.run(warehouse, script)
    check_all(oracle, warehouse, newest)
    for name in newest:
        table = catalog.table(name)
        where = paimon.col("v") == 100
        assert table.scan(where=where).count() == 1
        table.compact(full=True)
    check_all(oracle, warehouse, newest)


def test_null_partitions_and_null_bucket_keys_of_every_type(oracle, warehouse):
    """The same rows are written by each side to a table of its own: directories, buckets and counts are the same."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    script, expected = [], {}
    for at, (text, values) in enumerate((TYPES | {"VARCHAR(99)": SPECIAL}).items()):
        legacy = at % 2 == 1 and parse_type(text).root not in BINARY_ROOTS
        options = {"bucket": "5", "bucket-key": "b", "partition.legacy-name": str(legacy).lower(), "write-only": "true"}
        options["partition.default-name"] = "NONE" if at % 3 else "__DEFAULT_PARTITION__"
        columns = {"v": "INT", "p": text, "b": text}
        ours = catalog.create_table(f"db.o{at}", columns, partition_by=["p"], options=options)
        fields = [{"name": f.name, "type": f.type.sql} for f in ours.schema.fields]
        pairs = [(p, b) for p in [*values, None] for b in [*values, None]]
        rows = [["+I", n, *pair] for n, pair in enumerate(pairs)]
        ours.write(arrow_rows(rows, ours.schema.fields))
        create = {"op": "create", "table": f"db.j{at}", "fields": fields, "partitionKeys": ["p"], "options": options}
        script += [create, {"op": "write", "table": f"db.j{at}", "rows": rows}]
        read = json_rows(arrow_rows(rows, ours.schema.fields), ours.schema.fields)
        expected |= {f"db.o{at}": read, f"db.j{at}": read}
    oracle.run(warehouse, script)
    check_all(oracle, warehouse, expected)
    for at in range(len(expected) // 2):
        ours, java = catalog.table(f"db.o{at}"), catalog.table(f"db.j{at}")
        assert directories(ours) == directories(java), ours.schema.fields[1].type.sql
        assert places(ours) == places(java), ours.schema.fields[1].type.sql
        assert ours.scan(where=paimon.col("p").is_null()).count() == len(set(map(str, ours.scan().to_arrow()["b"])))


def test_a_key_of_all_types(oracle, warehouse):
    """One key of all columns: its order, its hash and its rows in manifests, in each format."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    newest = {}
    for kind in FORMATS:
        types = [t for t in TYPES if kind != "avro" or format_of(2, t) == "avro"]
        columns = {f"k{at}": text for at, text in enumerate(types)} | {"v": "INT"}
        options = {"bucket": "3", "write-only": "true", "file.format": kind}
        table = catalog.create_table(f"db.{kind}", columns, primary_key=list(columns)[:-1], options=options)
        rows = [["+I", *(KEYS[t][n % len(KEYS[t])] for t in types), n] for n in range(12)]
        table.write(arrow_rows(rows, table.schema.fields))
        newer = [[*row[:-1], row[-1] + 100] for row in rows]
        oracle.run(warehouse, [{"op": "write", "table": table.name, "rows": newer[:8]}])
        table.write(arrow_rows(newer[8:], table.schema.fields))
        newest[table.name] = json_rows(arrow_rows(newer, table.schema.fields), table.schema.fields)
    check_all(oracle, warehouse, newest)
    oracle.run(warehouse, [{"op": "compact", "table": name} for name in newest])
    for name, rows in newest.items():
        table = catalog.table(name)
        table.write(arrow_rows(rows[:3], table.schema.fields))
        table.compact(full=True)
    check_all(oracle, warehouse, newest)
