"""Counts, extremes, first rows and limits of scans: equal to those of all rows, and what is read for them."""

import datetime as dt
from decimal import Decimal
from math import inf, nan

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.datafile.reading import reader
from paimon_core.errors import InvalidRequest, SchemaMismatch

COLUMNS = pa.schema(
    [
        pa.field("p", pa.string()),
        pa.field("k", pa.int64(), nullable=False),
        ("i", pa.int32()),
        ("s", pa.string()),
        ("f", pa.float64()),
        ("d", pa.decimal128(20, 2)),
        ("t", pa.timestamp("us")),
        ("n", pa.timestamp("ns")),
        ("day", pa.date32()),
        ("b", pa.bool_()),
        ("x", pa.binary()),
    ]
)
VALUES = [c for c in COLUMNS.names if c != "p"]


def rows(random, first, count=20, p="a"):
    near = int(random.integers(100))

    def some(of):
        return [None if random.random() < 0.2 else of(near + int(random.integers(4))) for _ in range(count)]

    return pa.table(
        {
            "p": [p] * count,
            "k": range(first, first + count),
            "i": some(int),
            "s": some(lambda n: f"{'long common start of texts' if n % 2 else ''}{n:03}"),
            "f": some(lambda n: [nan, -0.0, inf, float(n)][n % 4]),
            "d": some(Decimal),
            "t": some(lambda n: dt.datetime(2024, 1, 1) + dt.timedelta(days=n)),
            "n": some(lambda n: n * 1000),
            "day": some(lambda n: dt.date(2024, 1, 1) + dt.timedelta(days=n)),
            "b": some(lambda n: n > 50),
            "x": some(lambda n: bytes([n]) * 20),
        },
        schema=COLUMNS,
    )


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


@pytest.fixture
def opened(monkeypatch):
    """The names of the data files that are opened."""
    seen = []
    inner = reader.opened
    monkeypatch.setattr(reader, "opened", lambda storage, path: seen.append(path) or inner(storage, path))
    return seen


def ordered(values, *, descending):
    """Python's order of values that are not null, with NaN above all others."""
    return sorted(values, key=lambda v: (v != v, 0 if v != v else v), reverse=descending)


def check(table, names, where=None):
    scan = table.scan(where=where)
    full = scan.to_arrow()
    assert scan.count() == len(full)
    counts = scan.count_by_partition().to_pydict()
    expected = full.group_by("p").aggregate([([], "count_all")]).to_pydict()
    assert dict(zip(counts["p"], counts["record_count"], strict=True)) == dict(
        zip(expected["p"], expected["count_all"], strict=True)
    )
    for name in names:
        values = full[name].drop_null().to_pylist()
        for descending in (False, True):
            best = ordered(values, descending=descending)
            found = scan.max(name) if descending else scan.min(name)
            assert repr(found) == repr(best[0] if best else None) or found == best[0], (name, descending)
            nulls = [None] * (len(full) - len(values))
            for place, all_values in (("last", best + nulls), ("first", nulls + best)):
                top = table.scan(list({name, "k", "p"}), where=where).top(
                    7, by=name, descending=descending, nulls=place
                )
                assert [str(v + 0 if name == "f" and v is not None else v) for v in top[name].to_pylist()] == [
                    str(v + 0 if name == "f" and v is not None else v) for v in all_values[:7]
                ], (name, descending, place)
                assert len(set(zip(top["k"].to_pylist(), top["p"].to_pylist(), strict=True))) == min(7, len(full))


TABLES = [
    {},
    {"metadata.stats-mode": "none", "file.format": "orc"},
    {"metadata.stats-mode": "counts"},
    {"deletion-vectors.enabled": "true"},
]
KEYED = [{}, {"merge-engine": "aggregation", "fields.i.aggregate-function": "sum"}]


@pytest.mark.parametrize(("options", "keyed"), [*((o, False) for o in TABLES), *((o, True) for o in KEYED)])
def test_answers_are_those_of_all_rows(catalog, options, keyed):
    random = np.random.default_rng(3)
    more = {"primary_key": ["p", "k"], "options": {"bucket": "1", "write-only": "true", **options}} if keyed else {}
    table = catalog.create_table("db.t", COLUMNS, partition_by=["p"], **{"options": options, **more})
    for part in range(6):
        table.write(rows(random, 15 * part if keyed else 20 * part, p="ab"[part % 2]))
    if "deletion-vectors.enabled" in options or (keyed and not options):
        table.delete(col("k").is_in(list(range(0, 200, 3))))
    check(table, VALUES if options == {} else ["i", "s", "f", "n"])
    check(table, ["k", "f"], (col("i") > 40) & (col("p") == "a"))
    check(table, ["s"], col("p") == "b")
    check(table, ["d"], col("k") >= 45)


def test_answers_of_metadata_open_no_file(catalog, opened):
    random = np.random.default_rng(4)
    table = catalog.create_table("db.t", COLUMNS, partition_by=["p"])
    for part in range(4):
        table.write(rows(random, 20 * part, p="ab"[part % 2]))
    scan = table.scan()
    assert (scan.count(), table.scan(where=col("p") == "a").count(), table.scan(limit=50).count()) == (80, 40, 50)
    assert table.scan(where=col("k") >= 20).count() == 60
    assert (scan.min("k"), scan.max("k"), table.scan(where=col("p") == "b").max("k")) == (0, 79, 79)
    assert scan.max("day") is not None
    assert table.scan(["p"]).to_arrow().group_by("p").aggregate([([], "count_all")])["count_all"].to_pylist() == [
        40,
        40,
    ]
    assert opened == []
    assert table.scan(where=col("k") >= 30).count() == 50
    assert len(opened) == 1, "the file of which some rows match"
    assert "count      from metadata" in str(scan.explain())
    assert "count      reads 1 file" in str(table.scan(where=col("k") >= 30).explain())


def test_first_rows_and_limits_read_few_files(catalog, opened):
    columns = pa.schema([("k", pa.int64()), ("s", pa.string())])
    table = catalog.create_table("db.t", columns, options={"write-only": "true"})
    for part in range(5):
        table.write(pa.table({"k": range(10 * part, 10 * part + 10), "s": [f"{part}{'x' * 30}"] * 10}))
    assert table.scan(["s"]).top(3, by="k", descending=True)["s"].to_pylist() == ["4" + "x" * 30] * 3
    assert table.scan().min("s") == "0" + "x" * 30
    assert len(opened) == 2
    opened.clear()
    scan = table.scan(limit=15)
    assert (scan.to_arrow().num_rows, len(opened)) == (15, 2)
    assert "limit      15 rows: at most 1 of 1 splits" in str(scan.explain())


def test_wrong_arguments_are_named(catalog):
    columns = pa.schema([("k", pa.int64()), ("m", pa.list_(pa.int64()))])
    scan = catalog.create_table("db.t", columns).scan()
    for n in (-1, True, 1.5, None):
        with pytest.raises(InvalidRequest, match="whole number"):
            scan.top(n, by="k")
    with pytest.raises(InvalidRequest, match="'middle'"):
        scan.top(1, by="k", nulls="middle")
    with pytest.raises(InvalidRequest, match=r"descending.*'no'"):
        scan.top(1, by="k", descending="no")
    with pytest.raises(InvalidRequest, match="'m' is ARRAY"):
        scan.min("m")
    with pytest.raises(SchemaMismatch, match="'z'"):
        scan.max("z")
    with pytest.raises(InvalidRequest, match="limit of 3"):
        catalog.table("db.t").scan(limit=3).top(1, by="k")
    with pytest.raises(InvalidRequest, match="no partitions"):
        scan.count_by_partition()
    assert (scan.count(), scan.min("k"), scan.top(2, by="k").num_rows, scan.top(0, by="k").num_rows) == (0, None, 0, 0)


def test_an_explanation_tells_columns_costs_and_what_a_read_decoded(catalog):
    columns = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64()), ("s", pa.string())])
    options = {"bucket": "1", "write-only": "true", "file-index.bloom-filter.columns": "v"}
    table = catalog.create_table("db.t", columns, primary_key=["k"], options=options)
    for n in range(2):
        table.write(pa.table({"k": range(100), "v": range(2 * n, 200 + 2 * n, 2), "s": ["x"] * 100}))
    found = table.scan(["v"], limit=5).explain(analyze=True)
    assert found.columns == ("k", "v")
    assert 0 < found.bytes_to_read < found.merged.size_bytes
    assert (found.merge_bytes, found.files_to_count, found.splits_for_limit) == (64 << 20, 2, 1)
    done = found.analysis
    assert done is not None
    assert (done.files_opened, done.row_groups_read, done.rows_returned, done.columns) == (
        2, 2, 100, (("k", 200), ("v", 200))
    )  # fmt: skip
    assert found.to_dict()["analysis"]["rows_decoded"] == 200
    text = str(found)
    assert "decode     2 columns (k, v), about" in text
    assert "100 rows returned" in text
    assert "memory     64.0 MiB for a merge" in text
    skipped = table.scan(where=col("v") == 51).explain(analyze=True)
    assert skipped.analysis is not None
    assert (skipped.analysis.sections_skipped, skipped.analysis.rows_decoded) == (1, 0)
    assert "1 section left out" in str(skipped)
