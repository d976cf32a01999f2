"""Merges of a source into a table: what each clause does, what is refused, and what happens beside other commits."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import paimon_core as paimon
from paimon_core import Delete, Insert, Update, col
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.table.rows import delete_update, merge_rows
from paimon_core.table.rows import merge as merging
from paimon_core.write.table_writer import TableWriter
from tests.unit.table.rows.test_row_changes import SCHEMA, VECTORS, WAYS, content, make, rows

KEYED = {
    "keyed": {"keyed": True, "bucket": "1"},
    "keyed with vectors": {"keyed": True, "bucket": "1", **VECTORS, "write-only": "false"},
    "dynamic buckets": {"keyed": True, "bucket": "-1"},
    "postponed": {"keyed": True, "bucket": "-2", "write-only": "false"},
}


def keys(table):
    return sorted(k for _, k in content(table))


@pytest.mark.parametrize("options", (WAYS | KEYED).values(), ids=WAYS | KEYED)
def test_rows_are_updated_deleted_and_inserted(warehouse, options):
    table = make(warehouse, **options)
    for start in (0, 10, 20):
        table.write(rows(*range(start, start + 10)))
    table.write(rows(5, p="b"))
    on = ["p", "k"]
    table.merge(rows(3, 12, 40, v="y"), on)
    expected = {("a", k): f"x{k}" for k in range(30)} | {("b", 5): "x5"}
    expected |= {("a", 3): "y3", ("a", 12): "y12", ("a", 40): "y40"}
    assert content(table) == expected

    changes = rows(3, 5, 12, 25, 50, 51, v="z").append_column("op", pa.array(["D", "U", "F", "-", "I", "D"]))
    table.merge(
        changes,
        on,
        when_matched=[
            Delete(source_where="op = 'D'"),
            Update({"v": lambda old, new: pc.binary_join_element_wise(old["v"], new["v"], "+")}, col("k") < 10),
            Update({"v": "literal"}, source_where=col("op") == "F"),
        ],
        when_not_matched=[
            Insert({"p": col("p"), "k": col("k"), "v": col("op")}, source_where=col("op") == "I"),
        ],
    )
    del expected["a", 3]
    expected |= {("a", 5): "x5+z5", ("a", 12): "literal", ("a", 50): "I"}
    assert content(table) == expected

    table.merge(
        rows(5, 12),
        on,
        when_matched=None,
        when_not_matched=None,
        when_not_matched_by_source=[Update({"v": "old"}, where=col("k") < 2), Delete(where="k < 40")],
    )
    assert content(table) == {
        **{("a", k): "old" for k in (0, 1)},
        **{k: expected[k] for k in [("a", 5), ("a", 12), ("a", 40), ("a", 50)]},
    }
    before = table.latest_snapshot()
    assert table.merge(rows(100), on, when_not_matched=None) is None
    assert table.merge(rows(1), on, when_matched=Update(where=col("v") == "none")) is None
    assert table.merge([], on) is None
    assert table.latest_snapshot() == before
    assert not table.maintenance.check(deep=True).findings


@pytest.mark.parametrize(
    "options", [{}, VECTORS, {"keyed": True, "bucket": "1"}], ids=["rewritten", "vectors", "keyed"]
)
@pytest.mark.parametrize("rival", ["write", "write elsewhere", "delete", "compaction"])
def test_a_commit_in_between_is_neither_lost_nor_undone(warehouse, monkeypatch, options, rival):
    table = make(warehouse, **options)
    table.write(rows(1, 2, 3))
    table.write(rows(4, 5, 6))
    rivals = {
        "write": lambda: table.write(rows(7, v="x")),
        "write elsewhere": lambda: table.write(rows(7, p="b")),
        "delete": lambda: table.delete(col("k") == 4),
        "compaction": lambda: table.compact(full=True),
    }
    waiting, tries = [rivals[rival]], []
    name = "merged_by_key" if "keyed" in options else "merged_rows"
    real = getattr(merging, name)

    def with_rival(*arguments):
        tries.append(arguments)
        messages = real(*arguments)
        if waiting:
            waiting.pop()()
        return messages

    monkeypatch.setattr(merging, name, with_rival)
    join = Update({"v": lambda old, new: pc.binary_join_element_wise(old["v"], new["v"], "")})
    table.merge(rows(1, 4, 7, v="y"), ["p", "k"], when_matched=join)
    harmless = rival == "write elsewhere" or (rival == "compaction" and "keyed" in options)
    assert len(tries) == (1 if harmless else 2)
    expected = {1: "x1y1", 2: "x2", 3: "x3", 4: "x4y4", 5: "x5", 6: "x6", 7: "y7"}
    expected |= {"write": {7: "x7y7"}, "delete": {4: "y4"}}.get(rival, {})
    elsewhere = {("b", 7): "x7"} if rival == "write elsewhere" else {}
    assert content(table) == {("a", k): v for k, v in expected.items()} | elsewhere
    assert not [f for f in table.maintenance.check(deep=True).findings if f.invariant != "I29"]
    assert not [f for f in table.maintenance.check().findings if f.invariant == "I29"]


@pytest.mark.parametrize(
    "options",
    [{}, {"keyed": True, "bucket": "1"}, {"keyed": True, "bucket": "-1"}, {"cross": True, "bucket": "-1"}],
    ids=["append", "keyed", "dynamic", "cross-partition"],
)
def test_of_two_merges_only_one_inserts_a_key(warehouse, monkeypatch, options):
    table, on = make(warehouse, **options), ["k"] if "cross" in options else ["p", "k"]
    waiting = ["y"]
    real = merging.MergeSource.read

    def read(*arguments):
        found = real(*arguments)
        if waiting:
            rival = rows(1, 2, v=waiting.pop())
            monkeypatch.setattr(merging.Merge, "write_inserts", between(lambda: table.merge(rival, on)))
        return found

    def between(merge):
        write = merging.Merge.write_inserts

        def written(self, writer):
            monkeypatch.setattr(merging.Merge, "write_inserts", write)
            merge()
            write(self, writer)

        return written

    monkeypatch.setattr(merging.MergeSource, "read", read)
    assert table.merge(rows(1, 3), on, when_matched=None).id == 2
    assert content(table) == {("a", 1): "y1", ("a", 2): "y2", ("a", 3): "x3"}
    assert table.scan().count() == 3


@pytest.mark.parametrize(
    ("module", "name", "change"),
    [
        (delete_update, "changed_rows", lambda table: table.delete(col("k") == 2)),
        (merging, "merged_rows", lambda table: table.merge(rows(2), ["k"], when_matched=Delete())),
    ],
    ids=["delete", "merge"],
)
def test_files_that_expire_during_the_read_are_read_again(warehouse, monkeypatch, module, name, change):
    table = make(warehouse)
    table.write(rows(1, 2, 3))
    table.write(rows(4, 5))
    waiting = [1]
    real = getattr(module, name)

    def late(*arguments):
        if waiting:
            waiting.pop()
            table.compact(full=True)
            table.expire_snapshots(keep_last=1, keep_max=1)
        return real(*arguments)

    monkeypatch.setattr(module, name, late)
    change(table)
    assert keys(table) == [1, 3, 4, 5]


@pytest.mark.parametrize("options", [{}, {"keyed": True, "bucket": "1"}], ids=["append", "keyed"])
def test_at_most_one_row_of_the_source_changes_a_row(warehouse, monkeypatch, options):
    monkeypatch.setattr(merge_rows, "_PAIRS", 3)
    table = make(warehouse, **options)
    table.write(rows(1, 2, 3))
    before = table.latest_snapshot()
    twice = rows(2, 3, 3, v="y").append_column("n", pa.array([1, 2, 3]))
    with pytest.raises(paimon.InvalidRequest, match=r"several rows of the source change the row with p = 'a', k = 3"):
        table.merge(twice, ["p", "k"], when_matched=Update(source_where=col("n") > 0))
    assert table.latest_snapshot() == before
    table.merge(twice, ["p", "k"], when_matched=Update(source_where=col("n") != 2))
    assert content(table) == {("a", 1): "x1", ("a", 2): "y2", ("a", 3): "y3"}
    table.merge(rows(2, 2, 9), ["k"], when_matched=Delete(), when_not_matched=None)
    assert content(table) == {("a", 1): "x1", ("a", 3): "y3"}
    if options:
        with pytest.raises(
            paimon.InvalidRequest, match="several rows of the source insert the row with k = 8, p = 'a'"
        ):
            table.merge(rows(8, 8), ["k", "p"])
    else:
        table.merge(rows(8, 8), ["k", "p"])
        table.merge(rows(8, v="z"), ["k"])
        assert table.scan(where=col("k") == 8).to_arrow()["v"].to_pylist() == ["z8", "z8"]


def test_on_may_be_one_name(warehouse):
    table = make(warehouse)
    table.write(rows(1, 2))
    table.merge(rows(2, 3, v="y"), "k")
    assert content(table) == {("a", 1): "x1", ("a", 2): "y2", ("a", 3): "y3"}


def test_rows_that_are_deleted_need_only_the_columns_on(warehouse):
    table = make(warehouse)
    table.write(rows(1, 2))
    changes = [{"k": 1, "gone": True}, {"k": 2, "gone": False, "v": "y"}]
    update = [Delete(source_where=col("gone") == True), Update({"v": col("v")})]  # noqa: E712
    table.merge(changes, "k", when_matched=update, when_not_matched=None)
    assert content(table) == {("a", 2): "y"}


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        ({"on": 5}, paimon.InvalidRequest, "on must be a column or a list of different columns, not 5"),
        ({"on": []}, paimon.InvalidRequest, "on must be a column or a list of different columns"),
        ({"on": ["k", "k"]}, paimon.InvalidRequest, "on must be a column or a list of different columns"),
        (
            {"source": [{"p": "a", "k": 1, "v": "y"}, {"p": "a", "k": 2}]},
            paimon.SchemaMismatch,
            "row 1 of the source has no column 'v', which other rows have, so a merge would set it to null",
        ),
        ({"on": ["z"]}, paimon.SchemaMismatch, "no column 'z' to match on"),
        ({"on": ["v"], "source": [{"k": 1}]}, paimon.SchemaMismatch, "the source has no column 'v'"),
        ({"source": [{"k": 1, "z": 1}]}, paimon.SchemaMismatch, "the table has no column 'z'"),
        ({"source": [{"k": "text"}]}, paimon.SchemaMismatch, "'k'.*text"),
        ({"source": 5}, paimon.InvalidRequest, "data must export an Arrow stream"),
        ({"when_matched": Insert()}, paimon.InvalidRequest, "when_matched takes Update or Delete"),
        ({"when_not_matched": "all"}, paimon.InvalidRequest, "when_not_matched takes Insert"),
        ({"source": [{"p": "a", "k": 1}]}, paimon.InvalidRequest, "only the columns on"),
        ({"when_matched": Update(["v"])}, paimon.InvalidRequest, "an Update takes columns with values"),
        ({"when_not_matched": Insert({})}, paimon.InvalidRequest, "an Insert takes columns with values"),
        ({"when_not_matched": Insert(source_where=col("v") == 1)}, paimon.SchemaMismatch, "'v'.*int 1"),
        ({"when_matched": Update({"z": 1})}, paimon.SchemaMismatch, "no column 'z' to update"),
        ({"when_matched": Update({"v": col("z")})}, paimon.SchemaMismatch, "the source has no column 'z'"),
        ({"when_matched": Update({"v": 5})}, paimon.SchemaMismatch, "'v' cannot be set to 5"),
        ({"when_matched": Update({"k": 5})}, paimon.InvalidRequest, "'k' is part of the primary key"),
        ({"when_matched": Update({"v": lambda old, new: [1]})}, paimon.SchemaMismatch, "'v' cannot be set"),
        ({"when_matched": Update(where=col("z") == 1)}, paimon.SchemaMismatch, "'z'"),
        ({"when_matched": Update(source_where=col("z") == 1)}, paimon.SchemaMismatch, "the source has no column 'z'"),
        ({"when_matched": Delete(where="z = 1")}, paimon.SchemaMismatch, "'z'.*column 1"),
        ({"when_not_matched": Insert({"z": 1})}, paimon.SchemaMismatch, "no column 'z' to set"),
        ({"when_not_matched": Insert({"v": col("v")})}, paimon.SchemaMismatch, "'p' is NOT NULL"),
        ({"when_not_matched_by_source": Update({"v": col("v")})}, paimon.InvalidRequest, "cannot set source columns"),
        ({"when_not_matched_by_source": Delete(source_where=col("v") == "")}, paimon.InvalidRequest, "source_where"),
        ({"on": ["k"]}, paimon.InvalidRequest, r"on must be \['p', 'k'\], not \['k'\]"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(warehouse, call, error, problem):
    table = make(warehouse, keyed=True, bucket="1")
    table.write(rows(1, 2))
    before = table.latest_snapshot()
    with pytest.raises(error, match=problem):
        table.merge(**{"source": rows(1, 3, v="y"), "on": ["p", "k"]} | call)
    assert table.latest_snapshot() == before
    assert len(table.inspect.files()) == 1


@pytest.mark.parametrize("engine", ["first-row", "partial-update", "aggregation"])
def test_engines_that_would_not_take_the_change_refuse_it(warehouse, engine):
    table = make(warehouse, keyed=True, bucket="1", **{"merge-engine": engine, "write-only": "false"})
    table.write(rows(1, 2))
    with pytest.raises(paimon.InvalidRequest, match=f"merge-engine = {engine}: an update would not"):
        table.merge(rows(2, 3, v="y"), ["p", "k"])
    with pytest.raises(paimon.InvalidRequest, match=f"merge-engine = {engine}: a delete would not"):
        table.merge(rows(2, 3, v="y"), ["p", "k"], when_matched=Delete())
    table.merge(rows(2, 3, v="y"), ["p", "k"], when_matched=None)
    assert content(table) == {("a", 1): "x1", ("a", 2): "x2", ("a", 3): "y3"}


TYPES = {
    "b": ("BOOLEAN", [False, True]),
    "i": ("TINYINT", [-5, 5]),
    "f": ("FLOAT", [float("nan"), -0.0]),
    "d": ("DECIMAL(20, 3)", ["-1.500", "2.250"]),
    "t": ("DATE", ["2020-01-01", "1960-05-05"]),
    "h": ("TIME(3)", ["10:00:00.001", "23:00:00"]),
    "m": ("TIMESTAMP(3)", ["2020-01-01 00:00:00.001", "0005-01-01 00:00:00"]),
    "n": ("TIMESTAMP_LTZ(9)", ["2020-01-01T00:00:00.000000001Z", "1970-01-01T00:00:00Z"]),
    "x": ("VARBINARY(5)", [b"", b"\x00\xff"]),
    "s": ("VARCHAR(9)", ["", "\U0001f600"]),
}


def test_rows_match_on_columns_of_every_type_and_nulls_match_nothing(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    columns = {name: kind for name, (kind, _) in TYPES.items()} | {"v": "STRING"}
    table = catalog.create_table("db.t", columns)
    table.write([{name: values[at] for name, (_, values) in TYPES.items()} | {"v": "x"} for at in range(2)])
    table.write([{"v": "null"}])
    for name, (_, values) in TYPES.items():
        value = 0.0 if name == "f" else values[1]
        table.merge([{name: value, "v": f"by {name}"}, {name: None, "v": "y"}], [name], when_not_matched=None)
        assert sorted(table.scan().to_arrow()["v"].to_pylist()) == [f"by {name}", "null", "x"]
    every = {name: values[0] for name, (_, values) in TYPES.items()}
    table.merge([every | {"v": "by all"}, {"i": None, "v": "new"}], list(TYPES))
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == ["by all", "by s", "new", "null"]


@pytest.fixture
def opened(monkeypatch):
    """The names of the data files that are opened."""
    names = []
    real = BucketReader.file

    def counted(self, file, *arguments, **named):
        names.append(file.file_name)
        return real(self, file, *arguments, **named)

    monkeypatch.setattr(BucketReader, "file", counted)
    return names


@pytest.mark.parametrize("options", [{}, {"keyed": True, "bucket": "1"}], ids=["append", "keyed"])
def test_files_that_cannot_match_are_not_opened(warehouse, opened, options):
    table = make(warehouse, **options)
    for start in range(0, 100, 10):
        table.write(rows(*range(start, start + 10)))
    table.write(rows(*range(40, 50), p="b"))
    table.merge(rows(43, 88, 200, v="y"), ["p", "k"])
    assert len(set(opened)) == 2
    assert content(table, where=col("v") >= "y") == {("a", 43): "y43", ("a", 88): "y88", ("a", 200): "y200"}
    opened.clear()
    table.merge(rows(1000, 1001), ["p", "k"])
    assert opened == []


@pytest.mark.parametrize("size", ["0 b", "1 mb"], ids=["beside", "in the manifest"])
def test_files_whose_index_excludes_a_match_are_not_opened(warehouse, opened, size):
    table = make(warehouse, **{"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": size})
    for n in range(4):
        table.write(pa.table({"p": ["a"] * 3, "k": [n, 8, 9], "v": ["a", f"m{n}", "z"]}, schema=SCHEMA))
    table.merge([{"v": "m2", "k": 77}], ["v"])
    assert len(set(opened)) == 1
    assert content(table, where=col("k") == 77) == {("a", 77): "m2"}


@pytest.mark.parametrize("column", ["k", "p"])
def test_the_batches_of_an_update_are_bounded_by_the_rows_of_the_source(warehouse, monkeypatch, column):
    table = make(warehouse)
    table.write(rows(*range(100)))
    monkeypatch.setattr(merge_rows, "BATCH_BYTES", 2000)
    sizes, write = [], TableWriter.write
    monkeypatch.setattr(TableWriter, "write", lambda self, data: sizes.append(data.nbytes) or write(self, data))
    texts = ["short"] * 80 + ["long " * 100] * 20  # the mean is no bound for the rows at the end
    source = pa.table({"p": ["a"] * 100, "k": range(100), "v": texts if column == "k" else ["long " * 20] * 100}).slice(
        0, 100 if column == "k" else 1
    )
    values = {"v": col("v")} if column == "k" else {"p": col("p"), "k": col("k"), "v": col("v")}
    table.merge(source, [column], when_matched=Update(values), when_not_matched=None)
    assert sum(sizes) > 10_000
    assert max(sizes) < 4000


def test_a_handle_with_an_older_schema_loses_no_column(warehouse):
    table = make(warehouse)
    newer = table.alter("ADD COLUMN n BIGINT, ALTER COLUMN v TYPE STRING")
    newer.write(rows(1, 2).append_column("n", pa.array([10, 20])))
    table.merge(rows(1, 3, v="y"), ["k"])
    found = newer.scan().to_arrow().to_pylist()
    assert sorted((r["k"], r["v"], r["n"]) for r in found) == [(1, "y1", 10), (2, "x2", 20), (3, "y3", None)]


def test_a_merge_into_an_empty_table_and_columns_that_the_source_lacks(warehouse):
    table = make(warehouse).alter("ADD COLUMN n BIGINT", "ALTER COLUMN n SET DEFAULT '7'")
    table.merge(rows(1, 2), ["k"])
    table.merge([{"k": 2, "n": 5}, {"k": 3, "n": None}], ["k"])
    found = table.scan().to_arrow().to_pylist()
    assert sorted((r["k"], r["p"], r["v"], r["n"]) for r in found) == [
        (1, "a", "x1", 7),
        (2, "a", "x2", 5),
        (3, None, None, 7),
    ]


BUCKET_MODES = {
    "dynamic": {"keyed": True, "bucket": "-1", "dynamic-bucket.target-row-num": "3"},
    "cross-partition": {"cross": True, "bucket": "-1"},
    "postponed": {"keyed": True, "bucket": "-2"},
    "append buckets, unordered": {"bucket": "3", "bucket-key": "k", "bucket-append-ordered": "false"},
}


@pytest.mark.parametrize("options", BUCKET_MODES.values(), ids=BUCKET_MODES)
def test_changes_of_rows_in_each_bucket_mode(warehouse, options):
    table = make(warehouse, **options)
    table.write(rows(*range(20)))
    table.write(rows(30, 31, p="b"))
    table.delete(col("k").between(5, 9))
    table.update(col("k") < 2, {"v": "new"})
    expected = {("a", k): f"x{k}" for k in (2, 3, 4, *range(10, 20))} | {("a", 0): "new", ("a", 1): "new"}
    expected |= {("b", 30): "x30", ("b", 31): "x31"}
    assert content(table) == expected
    if "cross" in options:
        table.update(col("k") == 3, {"p": "b"})
        table.merge(rows(4, 7, 30, p="c", v="y"), ["k"])
        for key in [("a", 3), ("a", 4), ("b", 30)]:
            del expected[key]
        expected |= {("b", 3): "x3", ("c", 4): "y4", ("c", 7): "y7", ("c", 30): "y30"}
    else:
        table.merge(rows(4, 7, v="y"), ["p", "k"])
        expected |= {("a", 4): "y4", ("a", 7): "y7"}
    assert content(table) == expected
    table.compact(full=True)
    assert content(table) == expected
    assert not table.maintenance.check(deep=True).findings


def test_changes_that_would_wait_in_the_postpone_bucket_are_refused(warehouse):
    table = make(warehouse, keyed=True, bucket="-2", **{"postpone.batch-write-fixed-bucket": "false"})
    table.write(rows(1))
    for change in (
        lambda: table.delete(col("k") == 1),
        lambda: table.update(col("k") == 1, {"v": ""}),
        lambda: table.merge(rows(1), ["p", "k"]),
    ):
        with pytest.raises(paimon.UnsupportedFeature, match=r"postpone\.batch-write-fixed-bucket = false"):
            change()


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}])
def test_with_row_tracking_changed_rows_keep_their_ids_and_new_rows_get_one(warehouse, options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    table = catalog.create_table("db.tracked", schema, options={"row-tracking.enabled": "true", **options})
    table.write(pa.table({"k": [1, 2, 3], "v": ["a", "b", "c"]}, schema=schema))
    table.merge(pa.table({"k": [2, 9], "v": ["new", "new"]}, schema=schema), on=["k"])
    rows = table.scan(columns=["k", "v", "_ROW_ID", "_SEQUENCE_NUMBER"]).to_arrow()
    assert sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True)) == [
        (1, "a", 0, 1),
        (2, "new", 1, 2),
        (3, "c", 2, 1),
        (9, "new", 3, 2),
    ]
