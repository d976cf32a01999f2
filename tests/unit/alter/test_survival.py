"""Changes of types under which stored values are lost: refused with a value, allowed by name, decided by statistics."""

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter import AddColumn, RenameColumn, UpdateType, alter_table
from paimon_core.alter import survival as module
from paimon_core.types import parse_type

DAY = datetime.date(2020, 1, 1)
NOON = datetime.datetime(2020, 1, 1, 12)
NIGHT = datetime.datetime(2020, 1, 1)
LATE = datetime.datetime(9999, 1, 1)


def written(catalog, kind, *values, name="db.t", **options):
    table = catalog.create_table(name, {"id": "BIGINT", "v": kind}, options={"bucket": "-1", **options})
    for value in values:
        table.write(pa.table({"id": pa.array([1]), "v": pa.array([value], parse_type(kind).to_arrow())}))
    return table


def without_files(table):
    """Delete the data files, so that a read fails."""
    for file in Path(table.context.paths.root).rglob("data-*"):
        file.unlink()
    return table


@pytest.mark.parametrize(
    ("stored", "kept", "gone", "wanted"),
    [
        ("DECIMAL(10, 2)", Decimal("2.00"), Decimal("1.50"), "INT"),
        ("DECIMAL(10, 2)", Decimal("123.45"), Decimal("1234.50"), "DECIMAL(5, 2)"),
        ("DECIMAL(10, 2)", Decimal("1.50"), Decimal("1.55"), "DECIMAL(10, 1)"),
        ("DECIMAL(20, 0)", Decimal(2**53), Decimal(2**53 + 1), "DOUBLE"),
        ("DECIMAL(20, 0)", Decimal(2**31 - 1), Decimal(2**31), "INT"),
        ("DOUBLE", 3.0, 3e10, "INT"),
        ("DOUBLE", 0.5, 0.1, "FLOAT"),
        ("DOUBLE", 2.0, float("nan"), "INT"),
        ("DOUBLE", 0.5, 0.125, "DECIMAL(5, 2)"),
        ("BIGINT", 2**24, 2**24 + 1, "FLOAT"),
        ("BIGINT", 2**60, 2**53 + 1, "DOUBLE"),
        ("BIGINT", -(2**31), 2**31, "INT"),
        ("BIGINT", 999, 1000, "DECIMAL(4, 1)"),
        ("INT", 1, 5, "BOOLEAN"),
        ("STRING", "7", "07", "INT"),
        ("STRING", "7", "seven", "INT"),
        ("STRING", "2020-01-01", "2020-1-1", "DATE"),
        ("STRING", "abc", "abcd", "VARCHAR(3)"),
        ("VARCHAR(4)", "ab", "abcd", "CHAR(3)"),
        ("BYTES", b"abc", b"abcd", "VARBINARY(3)"),
        ("BYTES", b"abc", b"\xff", "STRING"),
        ("TIMESTAMP(6)", NOON, NOON.replace(microsecond=5), "TIMESTAMP(3)"),
        ("TIMESTAMP(6)", NIGHT, NOON, "DATE"),
        ("TIMESTAMP(3)", NOON, LATE, "TIMESTAMP(9)"),
        ("TIMESTAMP_LTZ(3)", NOON, LATE, "TIMESTAMP_LTZ(9)"),
        ("DATE", DAY, LATE.date(), "TIMESTAMP(9)"),
        ("ARRAY<INT>", None, [1], "STRING"),
    ],
)
def test_a_type_that_cannot_hold_a_stored_value_is_refused(catalog, stored, kept, gone, wanted):
    change = UpdateType("v", wanted)
    table = written(catalog, stored, kept, None)
    before = table.scan().to_arrow()["v"].to_pylist()
    altered = table.alter(change)
    assert altered.scan().to_arrow()["v"].null_count == before.count(None)
    table = written(catalog, stored, kept, gone, name="db.u")
    with pytest.raises(paimon.InvalidRequest, match=r"table db\.u: column 'v' cannot change from .*data-.*LOSSY"):
        table.alter(change)
    assert table.context.schemas.ids() == [0]
    assert table.alter(UpdateType("v", wanted, lossy=True)).schema.id == 1


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ("INT", "BIGINT"),
        ("INT", "DECIMAL(10, 0)"),
        ("INT", "DOUBLE"),
        ("BIGINT", "STRING"),
        ("FLOAT", "DOUBLE"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 3)"),
        ("DECIMAL(10, 2)", "DOUBLE"),
        ("VARCHAR(3)", "STRING"),
        ("CHAR(3)", "VARCHAR(3)"),
        ("DATE", "TIMESTAMP(6)"),
        ("TIMESTAMP(3)", "TIMESTAMP(6)"),
        ("BOOLEAN", "INT"),
        ("ROW<a INT, b INT>", "ROW<a BIGINT, b INT>"),
    ],
)
def test_a_wider_type_reads_no_metadata(catalog, monkeypatch, stored, wanted):
    table = written(catalog, stored, None)
    monkeypatch.setattr(module, "read_latest", lambda *_: pytest.fail("the snapshot was read"))
    change = UpdateType(["v", "a"], "BIGINT") if wanted.startswith("ROW") else UpdateType("v", wanted)
    assert table.alter(change).schema.id == 1


@pytest.mark.parametrize(
    ("stored", "value", "wanted"),
    [
        ("BIGINT", 2**31 - 1, "INT"),
        ("BIGINT", 2**24, "FLOAT"),
        ("DECIMAL(10, 2)", Decimal("999.99"), "DECIMAL(5, 2)"),
        ("TIMESTAMP(3)", NOON, "TIMESTAMP(9)"),
        ("STRING", None, "INT"),
    ],
)
def test_statistics_decide_where_they_can(catalog, stored, value, wanted):
    table = without_files(written(catalog, stored, value))
    assert table.alter(UpdateType("v", wanted)).schema.id == 1


@pytest.mark.parametrize(("stored", "value", "wanted"), [("STRING", "abc", "VARCHAR(20)"), ("DOUBLE", 1.0, "INT")])
def test_the_file_is_read_where_statistics_say_too_little(catalog, stored, value, wanted):
    table = without_files(written(catalog, stored, value))
    with pytest.raises(paimon.CorruptTable, match="missing"):
        table.alter(UpdateType("v", wanted))


@pytest.mark.parametrize("options", [{"metadata.stats-mode": "none"}, {"metadata.stats-keep-first-n-columns": "1"}])
def test_files_without_statistics_are_read(catalog, options):
    table = written(catalog, "BIGINT", 7, 2**40, **options)
    with pytest.raises(paimon.InvalidRequest, match=f"loses values: {2**40} in"):
        table.alter("ALTER COLUMN v TYPE INT")
    assert written(catalog, "BIGINT", 7, name="db.u", **options).alter("ALTER COLUMN v TYPE INT").schema.id == 1


def test_files_of_older_schemas_count_under_their_field_id(catalog):
    table = written(catalog, "INT", 70_000).alter("ALTER COLUMN v TYPE BIGINT, RENAME COLUMN v TO w, ADD COLUMN v INT")
    with pytest.raises(paimon.InvalidRequest, match=r"column 'w' cannot change .* 70000 in"):
        table.alter("ALTER COLUMN w TYPE SMALLINT")
    assert table.alter("ALTER COLUMN v TYPE SMALLINT, RENAME COLUMN w TO x").schema.names == ["id", "x", "v"]


def test_each_change_of_a_call_is_asked_for_by_its_own_name(catalog):
    table = catalog.create_table("db.n", {"id": "BIGINT", "r": "ROW<a DOUBLE, b DOUBLE>"})
    table.write([{"id": 1, "r": {"a": 0.5, "b": 0.5}}])
    with pytest.raises(paimon.InvalidRequest, match="column 'r' cannot change"):
        table.alter("ALTER COLUMN r.a TYPE INT LOSSY, ALTER COLUMN r.b TYPE INT")
    altered = table.alter("ALTER COLUMN r.a TYPE INT LOSSY, ALTER COLUMN r.b TYPE INT LOSSY")
    assert altered.scan().to_arrow()["r"].to_pylist() == [{"a": 0, "b": 0}]


@pytest.mark.parametrize(
    ("kind", "path", "kept", "gone"),
    [
        ("ROW<a DOUBLE, b INT>", ["v", "a"], {"a": 1.0, "b": 1}, {"a": 0.5, "b": 1}),
        ("ARRAY<DOUBLE>", ["v", "element"], [1.0, None, 2.0], [1.0, 0.5]),
        ("MAP<STRING, DOUBLE>", ["v", "value"], [("a", 1.0)], [("a", 1.0), ("b", 0.5)]),
        ("ARRAY<ROW<a DOUBLE>>", ["v", "element", "a"], [{"a": 1.0}, None], [None, {"a": 0.5}]),
    ],
)
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_members_of_nested_values_are_compared(catalog, file_format, kind, path, kept, gone):
    options = {"file.format": file_format}
    assert written(catalog, kind, kept, None, **options).alter(UpdateType(path, "INT")).schema.id == 1
    table = written(catalog, kind, kept, gone, name="db.u", **options)
    with pytest.raises(paimon.InvalidRequest, match=r"loses values: 0\.5 in .* would be read as 0"):
        table.alter(UpdateType(path, "INT"), AddColumn("n", "INT"), RenameColumn("id", "key"))


def test_deleted_rows_do_not_count(catalog):
    table = written(catalog, "DOUBLE", 1.0, 0.5, **{"deletion-vectors.enabled": "true"})
    table.delete(col("v") == 0.5)
    assert table.alter("ALTER COLUMN v TYPE INT").scan().to_arrow()["v"].to_pylist() == [1]


def test_a_replaced_row_counts_until_a_compaction_removes_it(catalog):
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.k", {"id": "BIGINT", "v": "DOUBLE"}, primary_key=["id"], options=options)
    table.write([{"id": 1, "v": 0.5}])
    table.write([{"id": 1, "v": 2.0}])
    with pytest.raises(paimon.InvalidRequest, match="compact it fully when a later row has replaced the value"):
        table.alter("ALTER COLUMN v TYPE INT")
    table.compact(full=True)
    assert table.alter("ALTER COLUMN v TYPE INT").scan().to_arrow()["v"].to_pylist() == [2]


def test_tags_keep_their_values(catalog):
    table = written(catalog, "DOUBLE", 0.5)
    table.tags.create("half")
    table.delete(col("v") == 0.5)
    altered = table.alter("ALTER COLUMN v TYPE INT")
    assert altered.at(tag="half").scan().to_arrow()["v"].to_pylist() == [0.5]


def test_a_default_that_would_change_is_refused(catalog):
    table = catalog.create_table("db.d", {"id": "BIGINT", "v": "DECIMAL(5, 2)"})
    table = table.alter("ALTER COLUMN v SET DEFAULT 1.55")
    with pytest.raises(paimon.InvalidRequest, match=r"its default '1\.55' would become Decimal\('1\.6'\)"):
        table.alter("ALTER COLUMN v TYPE DECIMAL(5, 1)")
    assert table.alter("ALTER COLUMN v TYPE DECIMAL(5, 1) LOSSY").schema.id == 2


# -- rows that are committed meanwhile


def commit_before_publish(monkeypatch, table, value):
    """Let another writer commit between the check and the publish of the schema."""
    store, once = type(table.context.schemas), [value]
    real = store.publish

    def publish(self, schema):
        if once:
            table.write([{"id": 2, "v": once.pop()}])
        return real(self, schema)

    monkeypatch.setattr(store, "publish", publish)


def test_rows_that_are_committed_during_the_check_are_checked_too(catalog, monkeypatch):
    table = written(catalog, "DOUBLE", 1.0)
    commit_before_publish(monkeypatch, table, 0.5)
    with pytest.raises(
        paimon.CommitConflict, match=r"has its former type again; other changes of the call stay: .*0\.5"
    ):
        table.alter("ALTER COLUMN v TYPE INT, ADD COLUMN n INT")
    now = table.refresh()
    assert now.schema.id == 2
    assert [f.type.sql for f in now.schema.fields] == ["BIGINT", "DOUBLE", "INT"]
    assert now.scan(["v"]).to_arrow()["v"].to_pylist() == [1.0, 0.5]


def test_harmless_rows_that_are_committed_during_the_check_change_nothing(catalog, monkeypatch):
    table = written(catalog, "DOUBLE", 1.0)
    commit_before_publish(monkeypatch, table, 2.0)
    assert table.alter("ALTER COLUMN v TYPE INT").scan().to_arrow()["v"].to_pylist() == [1, 2]


def test_a_check_that_could_not_be_repeated_is_told(catalog, monkeypatch):
    table = written(catalog, "DOUBLE", 1.0)
    commit_before_publish(monkeypatch, table, 0.5)
    monkeypatch.setattr(alter_table, "_take_back", lambda *_: False)
    with pytest.raises(paimon.CommitStateUnknown, match="column 'v' has its new type, but rows that were committed"):
        table.alter("ALTER COLUMN v TYPE INT")
