"""Files in ORC and Avro: Java reads ours, we read Java's, by table, by level and of changelogs."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

import paimon_core as paimon
from paimon_core.codec.orc.metadata_checks import check_metadata
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import parse_type
from tests.interop.test_java_both_ways import agree
from tests.support.java_rows import arrow_rows, json_rows
from tests.support.long_cases import long_cases
from tests.support.oracle import Oracle

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])
FORMATS = ["orc", "avro"]
KEYED = {"bucket": "1", "write-only": "true"}


def new_catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def formats(table):
    """The formats of the files of each level."""
    files = table.inspect.files()
    found = {}
    for level, name in zip(files["level"].to_pylist(), files["file_name"].to_pylist(), strict=True):
        found.setdefault(level, set()).add(name.rpartition(".")[2])
    return found


@pytest.mark.parametrize(("fresh", "compacted"), [("avro", "parquet"), ("orc", "avro"), ("parquet", "orc")])
def test_levels_have_formats_of_their_own(oracle, warehouse, fresh, compacted):
    options = {**KEYED, "file.format.per.level": f"0:{fresh},5:{compacted}"}
    table = new_catalog(warehouse).create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    rows = pa.table([range(3000), [f"text {n % 7}" for n in range(3000)]], schema=SCHEMA)
    table.write(rows)
    table.write(rows.slice(0, 10))
    assert formats(table) == {0: {fresh}}
    agree(oracle, warehouse, table, rows)
    table.compact(full=True)
    assert formats(table) == {5: {compacted}}
    agree(oracle, warehouse, table, rows)
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 1, "text 1"], ["+I", 3, "text 3"]]}])
    assert formats(table) == {0: {fresh}, 5: {compacted}}
    agree(oracle, warehouse, table, rows)
    oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
    assert formats(table) == {5: {compacted}}
    agree(oracle, warehouse, table, rows)


@pytest.mark.parametrize(
    ("kind", "producer"),
    [("orc", "lookup"), ("avro", "input"), *long_cases([("orc", "input"), ("avro", "lookup")])],
)
def test_changelog_files_of_another_format(oracle, warehouse, kind, producer):
    """We and Java write turn by turn and tell the same changes; lookups go to files that are not Parquet."""
    levels = {"file.format.per.level": f"0:{kind}", "file.format": "avro" if kind == "orc" else "orc"}
    options = {"bucket": "1", "changelog-producer": producer, "changelog-file.format": kind, **levels}
    options |= {"write-only": "true"} if producer == "input" else {}
    table = new_catalog(warehouse).create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    for turn in range(3):
        rows = [["+I", n, f"{turn}"] for n in range(turn, turn + 3)]
        if turn == 1:
            oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": rows}])
        else:
            table.write(pa.table([[n for _, n, _ in rows], [v for _, _, v in rows]], schema=SCHEMA))
    logs = {path.suffix for path in Path(warehouse).rglob("changelog-*")}
    assert logs == {f".{kind}"}
    plans = oracle.run(warehouse, [{"op": "stream", "table": "db.t", "from": 1}])[0]["plans"]
    told = sorted(row for plan in plans for row in plan)
    changes = table.changes(way="changelog").to_arrow()
    assert sorted(json_rows(changes, table.schema.fields, changes["rowkind"].to_pylist())) == told
    assert len(told) == (9 if producer == "input" else 13)
    found = formats(table)
    assert (0 in found) == (producer == "input")
    assert all(held == {kind if level == 0 else levels["file.format"]} for level, held in found.items())


CODECS = {
    "orc": ("zstd", "snappy", "none", "zlib", "lz4", "lzo"),
    "avro": ("zstd", "zstandard", "snappy", "null", "deflate", "bzip2"),
    "parquet": ("zstd", "snappy", "none", "uncompressed", "gzip", "lz4"),
}
NAMING = {"data-file.prefix": "part-", "file.suffix.include.compression": "true"}


def test_java_reads_every_codec_of_ours(oracle, warehouse):
    catalog = new_catalog(warehouse)
    rows = pa.table([range(300), [f"text {n}" for n in range(300)]], schema=SCHEMA)
    names = [(kind, codec) for kind, codecs in CODECS.items() for codec in (*codecs, "none", "gzip") if codec != "lzo"]
    for kind, codec in dict.fromkeys(names):
        options = {"file.format": kind, "file.compression": codec}
        catalog.create_table(f"db.{kind}_{codec}", SCHEMA, options=options).write(rows)
    dumps = oracle.run(warehouse, [{"op": "dump", "table": f"db.{k}_{c}"} for k, c in dict.fromkeys(names)])
    expected = sorted(["+I", *row.values()] for row in rows.to_pylist())
    assert [sorted(dump["rows"]) == expected for dump in dumps] == [True] * len(dict.fromkeys(names))


def test_we_read_every_codec_of_java(oracle, warehouse):
    """Java's file names have the prefix and the compression too, and our writes continue them."""
    catalog = new_catalog(warehouse)
    rows = pa.table([range(300), [f"text {n % 7}" for n in range(300)]], schema=SCHEMA)
    fields = [{"name": "k", "type": "INT"}, {"name": "v", "type": "STRING"}]
    steps = []
    for kind, codecs in CODECS.items():
        for codec in codecs:
            options = {"file.format": kind, "file.compression": codec, "bucket": "-1", **NAMING}
            table = f"db.{kind}_{codec}"
            steps.append({"op": "create", "table": table, "fields": fields, "options": options})
            steps.append({"op": "write", "table": table, "rows": [["+I", *row.values()] for row in rows.to_pylist()]})
    oracle.run(warehouse, steps)
    for kind, codecs in CODECS.items():
        for codec in codecs:
            table = catalog.table(f"db.{kind}_{codec}")
            assert table.scan().to_arrow().sort_by("k").equals(rows), (kind, codec)
            (path,) = Path(warehouse).rglob(f"{kind}_{codec}/**/part-*.{kind}")
            if kind == "orc" and codec != "lzo":
                assert orc.ORCFile(path).compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
                check_metadata(pa.OSFile(str(path)))
            if codec == "lzo":
                with pytest.raises(UnsupportedFeature, match=r"file\.compression"):
                    table.write(rows)
                continue
            table.write(rows)
            ends = {p.name.partition(".")[2] for p in Path(warehouse).rglob(f"{kind}_{codec}/bucket-0/part-*")}
            assert ends == {path.name.partition(".")[2]}


def test_a_table_of_an_old_schema_version_is_of_orc(oracle, warehouse):
    """Tables of before 0.8 do not name their format."""
    catalog = new_catalog(warehouse)
    fields = [{"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "STRING"}]
    create = {"op": "create", "table": "db.t", "fields": fields, "primaryKeys": ["k"]}
    create["options"] = {"bucket": "1", "file.format": "orc"}
    oracle.run(warehouse, [create, {"op": "write", "table": "db.t", "rows": [["+I", 1, "a"]]}])
    (path,) = Path(warehouse).rglob("schema-0")
    schema = json.loads(path.read_text()) | {"version": 1}
    schema["options"] = {}
    path.write_text(json.dumps(schema))
    table = catalog.table("db.t")
    table.write(pa.table([[2], ["b"]], schema=SCHEMA))
    assert formats(table) == {0: {"orc"}}
    rows = pa.table([[1, 2], ["a", "b"]], schema=SCHEMA)
    agree(oracle, warehouse, table, rows)


REPEATED = {
    "DECIMAL(20, 2)": ["1.00", "-12345.00", "7.50"],
    "DECIMAL(10, 2)": ["1.00", "-12345.00", "7.50"],
    "SMALLINT": [1, -5, 300],
    "BIGINT": [1, -5, 2**40],
    "STRING": ["a", "ü", ""],
    "BYTES": ["61", "ff00"],
    "DATE": ["1969-12-31", "2024-01-15"],
    "TIMESTAMP(6)": ["1960-02-29T00:00:00.001", "2024-01-15T10:30"],
    "DOUBLE": [0.5, -2.0],
}


@pytest.mark.parametrize("kind", ["parquet", *long_cases(FORMATS)])
def test_a_filter_of_java_finds_values_that_repeat_in_our_files(oracle, warehouse, kind):
    types = {f"c{at}": text for at, text in enumerate(REPEATED)}
    columns = pa.schema([(name, parse_type(text).to_arrow()) for name, text in types.items()])
    table = new_catalog(warehouse).create_table("db.t", columns, types=types, options={"file.format": kind})
    data = [["+I", *(values[row % len(values)] for values in REPEATED.values())] for row in range(30)]
    table.write(arrow_rows(data, table.schema.fields))
    filters = [(n, v) for n, t in types.items() for v in REPEATED[t]]
    steps = [{"op": "dump", "table": "db.t", "projection": [n], "filter": [[n, "=", v]]} for n, v in filters]
    found = [(*f, r["count"]) for f, r in zip(filters, oracle.run(warehouse, steps), strict=True)]
    assert found == [(n, v, 30 // len(REPEATED[types[n]])) for n, v in filters]


@pytest.mark.parametrize("zone", ["America/New_York", *long_cases(["Asia/Kolkata", "GMT+05:30"])])
def test_timestamps_around_1970_of_a_java_in_another_time_zone(oracle, warehouse, zone):
    """Java subtracts a second for a fraction before 1970 in UTC, Arrow before 1970 in the zone of the writer."""
    times = [
        hour * 3600 * 10**9 + nanos
        for hour in (-9000, -24, -6, -5, -4, -1, 0, 1, 5, 6, 24)
        for nanos in (-(10**9) + 10**6, -1, 0, 999_999, 10**6, 123_456_789, 10**9 + 5)
    ]
    column = pa.array([None, *times], pa.timestamp("ns"))
    nested = pa.array([None if n is None else [n] for n in column.cast(pa.int64()).to_pylist()])
    rows = pa.table({"t": column, "n": nested.cast(pa.list_(pa.timestamp("ns")))})
    table = new_catalog(warehouse).create_table("db.t", rows.schema, options={"file.format": "orc"})
    with contextlib.closing(Oracle(f"-Duser.timezone={zone}")) as elsewhere:
        elsewhere.run(warehouse, [{"op": "write", "table": "db.t", "rows": json_rows(rows, table.schema.fields)}])
    read = table.scan()
    if zone.startswith("GMT"):
        with pytest.raises(UnsupportedFeature, match=r"time zone of its writer.*GMT\+05:30"):
            read.to_arrow()
        return
    found = sorted(json_rows(read.to_arrow(), table.schema.fields), key=json.dumps)
    assert found == sorted(oracle.dump(warehouse, "db.t"), key=json.dumps)
    given = json_rows(rows, table.schema.fields)
    assert sum(row not in given for row in found) <= 1, "Java itself misreads the last second before 1970 in UTC"
