"""Alterations of tables with rows: reads by field id, other handles, concurrent alterations."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter import AddColumn, DropColumn, RenameColumn, SetOption, UpdateType
from paimon_core.alter import alter_table as module

KEYED = {"primary_key": ["id"], "options": {"bucket": "1", "write-only": "true"}}
SCHEMA = pa.schema([pa.field("id", pa.int64(), False), ("v", pa.int32()), ("s", pa.string())])


@pytest.fixture
def table(catalog):
    return catalog.create_table("db.t", SCHEMA, **KEYED)


def rows(table, **scan):
    return sorted(table.scan(**scan).to_arrow().to_pylist(), key=lambda row: row["id"])


def create_schema_first(monkeypatch, change):
    """Alter the table between the first read of the latest schema and the creation of the next one."""
    real, once = module.evolve, [change]

    def evolve(schema, *given, **named):
        if once:
            once.pop()()
        return real(schema, *given, **named)

    monkeypatch.setattr(module, "evolve", evolve)


# -- reads


def test_old_files_are_read_by_field_id(table):
    table.write([{"id": 1, "v": 7, "s": "a"}])
    table = table.alter(RenameColumn("v", "w"), DropColumn("s"), AddColumn("s", "INT"), UpdateType("w", "STRING"))
    table.write([{"id": 2, "w": "x", "s": 5}])
    assert rows(table) == [{"id": 1, "w": "7", "s": None}, {"id": 2, "w": "x", "s": 5}]
    assert table.maintenance.check(deep=True).findings == ()


def test_filters_mean_the_column_as_it_is_now(table):
    table.write([{"id": 1, "v": 7, "s": "a"}, {"id": 2, "v": 70, "s": "b"}])
    table = table.alter("ALTER COLUMN v TYPE STRING, DROP COLUMN s, ADD COLUMN s STRING")
    table.write([{"id": 3, "v": "8", "s": "a"}])
    assert [r["id"] for r in rows(table, where=col("v") == "70")] == [2]
    assert [r["id"] for r in rows(table, where=col("v") > "7")] == [2, 3]
    assert [r["id"] for r in rows(table, where=col("s") == "a")] == [3]
    assert [r["id"] for r in rows(table, where=col("s").is_null())] == [1, 2]


def test_a_widened_column_is_pruned_by_its_old_statistics(table):
    table.write([{"id": 1, "v": 7}])
    table = table.alter("ALTER COLUMN v TYPE BIGINT")
    assert list(table.scan(where=col("v") == 2**40).plan.files) == []
    assert rows(table, where=col("v") == 7) == [{"id": 1, "v": 7, "s": None}]


@pytest.mark.parametrize(
    ("engine", "options", "expected"),
    [
        ("partial-update", {}, {"id": 1, "w": 2, "s": "a", "n": 9}),
        ("aggregation", {"fields.v.aggregate-function": "sum"}, {"id": 1, "w": 9, "s": None, "n": 9}),
    ],
)
def test_files_of_several_schemas_are_merged(catalog, engine, options, expected):
    options = {**KEYED["options"], "merge-engine": engine, **options}
    if engine == "aggregation":
        options["fields.s.aggregate-function"] = "last_value"
    table = catalog.create_table("db.m", SCHEMA, primary_key=["id"], options=options)
    table.write([{"id": 1, "v": 7, "s": "a"}])
    table = table.alter("RENAME COLUMN v TO w, ALTER COLUMN w TYPE DECIMAL(20, 1), ADD COLUMN n INT")
    table.write([{"id": 1, "w": Decimal(2), "s": None, "n": 9}])
    assert rows(table) == [expected]
    table.compact(full=True)
    assert rows(table) == [expected]


def test_nested_fields_are_read_by_field_id(catalog):
    nested = pa.struct([("a", pa.int32()), ("b", pa.string())])
    schema = pa.schema(
        [("id", pa.int64()), ("r", nested), ("l", pa.list_(nested)), ("m", pa.map_(pa.string(), nested))]
    )
    table = catalog.create_table("db.n", schema)
    value = {"a": 1, "b": "x"}
    first = {"id": 1, "r": value, "l": [value, None], "m": [("k", value)]}
    table.write(pa.Table.from_pylist([first, {"id": 2}], schema))
    paths = ("r", "l.element", "m.value")
    texts = [f"DROP COLUMN {p}.b, ADD COLUMN {p}.b INT FIRST, ALTER COLUMN {p}.a TYPE BIGINT" for p in paths]
    table = table.alter(*texts, *[f"RENAME COLUMN {p}.a TO aa" for p in paths])
    new = {"b": None, "aa": 1}
    assert rows(table) == [
        {"id": 1, "r": new, "l": [new, None], "m": [("k", new)]},
        {"id": 2, "r": None, "l": None, "m": None},
    ]


def test_a_text_that_the_new_type_cannot_hold_is_refused_with_its_file(table):
    table.write([{"id": 1, "v": 1, "s": "many"}])
    table = table.alter("ALTER COLUMN s TYPE INT LOSSY")
    with pytest.raises(paimon.UnsupportedFeature, match=r"data-.*column 's' does not fit INT: 'many' is not a INT"):
        table.scan().to_arrow()
    assert rows(table, columns=["id", "v"]) == [{"id": 1, "v": 1}]


def test_a_snapshot_and_a_tag_have_the_schema_of_their_time(table):
    table.write([{"id": 1, "v": 7, "s": "a"}])
    table.tags.create("before")
    table = table.alter("RENAME COLUMN v TO w, DROP COLUMN s", SetOption("sequence.field", "w"))
    table = table.alter("RENAME COLUMN w TO x")
    table.write([{"id": 1, "x": 8}])
    assert table.options["sequence.field"] == ("x",)
    assert rows(table) == [{"id": 1, "x": 8}]
    for old in (table.at(snapshot=1), table.at(tag="before")):
        assert old.schema.names == ["id", "v", "s"]
        assert rows(old) == [{"id": 1, "v": 7, "s": "a"}]
    assert table.at(snapshot=1).options["sequence.field"] is None


def test_a_compaction_is_checked_with_the_schema_that_it_wrote(table):
    """The compacted file holds 7; through the older file the text would still be 007."""
    table.write([{"id": 1, "v": 1, "s": "007"}])
    table = table.alter("ALTER COLUMN s TYPE INT LOSSY")
    table.write([{"id": 2, "v": 1, "s": 8}])
    table.compact(full=True)
    table = table.alter("ALTER COLUMN s TYPE STRING")
    assert [r["s"] for r in rows(table)] == ["7", "8"]
    assert table.maintenance.check(deep=True).findings == ()


def test_changes_of_before_are_read_with_the_columns_of_now(catalog):
    options = {**KEYED["options"], "changelog-producer": "input"}
    table = catalog.create_table("db.c", SCHEMA, primary_key=["id"], options=options)
    table.write([{"id": 1, "v": 7, "s": "a"}])
    table = table.alter("RENAME COLUMN v TO w, ALTER COLUMN w TYPE STRING, DROP COLUMN s, ADD COLUMN s INT")
    table.write([{"id": 1, "w": "x", "s": 2}])
    assert table.changes().to_arrow().to_pylist() == [
        {"rowkind": "+I", "id": 1, "w": "7", "s": None},
        {"rowkind": "+I", "id": 1, "w": "x", "s": 2},
    ]


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_changelogs_of_compactions_compare_rows_of_several_schemas(catalog, producer):
    options = {"bucket": "1", "changelog-producer": producer}
    table = catalog.create_table("db.c", SCHEMA, primary_key=["id"], options=options)
    table.write([{"id": 1, "v": 7, "s": "a"}])
    table.compact(full=True)
    table = table.alter("RENAME COLUMN v TO w, ALTER COLUMN w TYPE BIGINT, ADD COLUMN n INT")
    table.write([{"id": 1, "w": 2**40, "s": "b", "n": 1}])
    table.compact(full=True)
    first, before, after = table.changes().to_arrow().to_pylist()
    assert [r["rowkind"] for r in (first, before, after)] == ["+I", "-U", "+U"]
    assert (before["w"], before["n"], after["w"], after["n"]) == (7, None, 2**40, 1)


def test_partitions_and_buckets_are_found_after_an_alteration(catalog):
    schema = pa.schema([("day", pa.string()), ("id", pa.int64()), ("v", pa.int32())])
    options = {"bucket": "4", "write-only": "true"}
    table = catalog.create_table("db.p", schema, primary_key=["day", "id"], partition_by=["day"], options=options)
    table.write([{"day": f"d{n % 2}", "id": n, "v": n} for n in range(8)])
    table = table.alter("RENAME COLUMN id TO key, ALTER COLUMN v TYPE STRING, ADD COLUMN n INT FIRST")
    table.write([{"day": "d1", "key": 3, "v": "new", "n": 1}])
    where = (col("day") == "d1") & (col("key") == 3)
    assert table.scan(where=where).to_arrow().to_pylist() == [{"n": 1, "day": "d1", "key": 3, "v": "new"}]
    assert len({(f.bucket) for f in table.scan(where=where).splits()}) == 1
    assert table.scan().to_arrow().num_rows == 8


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_all_formats_are_read_by_field_id(catalog, file_format):
    options = {**KEYED["options"], "file.format": file_format}
    table = catalog.create_table("db.f", SCHEMA, primary_key=["id"], options=options)
    table.write([{"id": 1, "v": 7, "s": "a"}])
    table = table.alter("RENAME COLUMN v TO s2, DROP COLUMN s, ADD COLUMN v STRING, RENAME COLUMN id TO key")
    table.write([{"key": 2, "s2": 8, "v": "b"}])
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["key"])
    assert found == [{"key": 1, "s2": 7, "v": None}, {"key": 2, "s2": 8, "v": "b"}]


# -- defaults


def test_a_default_replaces_nulls_of_later_writes(table):
    table.write([{"id": 1, "v": 1, "s": "a"}])
    table = table.alter("ADD COLUMN n DECIMAL(5, 2) DEFAULT 1.5, ALTER COLUMN v SET DEFAULT 9, ADD COLUMN d DATE")
    table.write(pa.table({"id": [2, 3], "v": pa.array([None, 3], pa.int32())}))
    found = [(r["v"], r["n"]) for r in rows(table)]
    assert found == [(1, None), (9, Decimal("1.50")), (3, Decimal("1.50"))]
    table = table.alter("ALTER COLUMN v DROP DEFAULT, ALTER COLUMN d SET DEFAULT '2024-01-31'")
    table.write([{"id": 4}])
    assert (rows(table)[3]["v"], rows(table)[3]["d"]) == (None, datetime.date(2024, 1, 31))


# -- other handles


def test_a_handle_of_an_older_schema_reads_and_commits(table):
    old = table
    table.write([{"id": 1, "v": 7, "s": "a"}])
    table = table.alter("RENAME COLUMN v TO w, ADD COLUMN n INT")
    table.write([{"id": 2, "w": 1, "s": "b", "n": 3}])
    assert old.write([{"id": 3, "v": 9, "s": "c"}]).schema_id == 1
    assert [r["v"] for r in rows(old)] == [7, 1, 9]
    assert [(r["w"], r["n"]) for r in rows(table)] == [(7, None), (1, 3), (9, None)]
    assert {f.schema_id for f in table.scan().plan.files} == {0, 1}
    assert old.refresh().schema.names == ["id", "w", "s", "n"]


def test_a_writer_that_has_started_commits_after_an_alteration(table):
    with table.writer() as writer:
        writer.write([{"id": 1, "v": 7, "s": "a"}])
        altered = table.alter("DROP COLUMN v, ADD COLUMN v STRING")
        table.commit(writer.flush())
    assert rows(altered) == [{"id": 1, "s": "a", "v": None}]


@pytest.mark.parametrize("keyed", [True, False])
def test_a_compaction_of_an_old_handle_loses_no_new_column(catalog, keyed):
    options = {"bucket": "1", "write-only": "true"} if keyed else {"bucket": "-1", "write-only": "true"}
    table = catalog.create_table("db.c", SCHEMA, primary_key=["id"] if keyed else [], options=options)
    table.write([{"id": 1, "v": 7, "s": "a"}])
    altered = table.alter("ADD COLUMN n INT")
    for at in range(2, 8):
        altered.write([{"id": at, "v": 1, "s": "b", "n": at}])
    before = rows(altered)
    table.compact(full=True)
    assert rows(altered) == before
    assert {f.schema_id for f in altered.scan().plan.files} == {1}


def test_a_prepared_commit_is_published_after_an_alteration_only_on_request(table):
    prepared = table.prepare([{"id": 1, "v": 7, "s": "a"}])
    altered = table.alter("ADD COLUMN n INT")
    with pytest.raises(paimon.CommitConflict, match="has changed since the commit was prepared"):
        prepared.publish()
    assert prepared.publish(rebase=True).schema_id == 1
    assert rows(altered) == [{"id": 1, "v": 7, "s": "a", "n": None}]


def test_an_open_scan_keeps_its_schema(table):
    table.write([{"id": 1, "v": 7, "s": "a"}])
    scan = table.scan()
    altered = table.alter("DROP COLUMN v")
    altered.write([{"id": 2, "s": "b"}])
    assert scan.to_arrow().to_pylist() == [{"id": 1, "v": 7, "s": "a"}]


# -- concurrent alterations


def test_both_of_two_concurrent_alterations_apply(table, monkeypatch):
    create_schema_first(monkeypatch, lambda: table.alter("ADD COLUMN other INT"))
    altered = table.alter("ADD COLUMN mine INT")
    assert altered.schema.id == 2
    assert [(f.name, f.id) for f in altered.schema.fields[3:]] == [("other", 3), ("mine", 4)]


def test_an_alteration_that_does_not_fit_the_newest_schema_is_refused(table, monkeypatch):
    create_schema_first(monkeypatch, lambda: table.alter("ADD COLUMN n INT"))
    with pytest.raises(paimon.InvalidRequest, match=r"table db\.t: column 'n' already exists"):
        table.alter("ADD COLUMN n STRING")
    assert table.refresh().schema.id == 1


def test_an_alteration_that_always_comes_second_gives_up(table, monkeypatch):
    table = table.alter(SetOption("commit.max-retries", "2"), SetOption("commit.min-retry-wait", "1 ms"))
    monkeypatch.setattr(type(table.context.schemas), "publish", lambda *_: False)
    with pytest.raises(paimon.CommitConflict, match="nothing was changed"):
        table.alter("ADD COLUMN n INT")


def test_an_alteration_does_not_touch_a_table_that_was_made_anew(catalog, table, monkeypatch):
    def make_anew():
        catalog.drop_table("db.t")
        catalog.create_table("db.t", SCHEMA, **KEYED)

    create_schema_first(monkeypatch, make_anew)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        table.alter("ADD COLUMN n INT")
    assert catalog.table("db.t").schema.names == SCHEMA.names
    assert catalog.table("db.t").context.schemas.ids() == [0]


# -- rules of the whole table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("SET ('sequence.field' = 'nope')", "sequence.field names 'nope'"),
        ("SET ('rowkind.field' = 'nope')", "rowkind.field"),
        ("SET ('fields.nope.stats-mode' = 'none')", "'nope', which is no column"),
        ("SET ('file.format' = 'avro'), ADD COLUMN t TIMESTAMP(9)", "TIMESTAMP"),
    ],
)
def test_a_schema_that_breaks_a_rule_of_tables_is_refused(table, change, message):
    with pytest.raises(paimon.InvalidRequest, match=message):
        table.alter(change)
    assert table.context.schemas.ids() == [0]


def test_a_type_that_live_files_cannot_be_cast_to_is_refused(table):
    """INT to STRING and STRING to DATE are casts, INT to DATE is none."""
    table.write([{"id": 1, "v": 1}])
    table = table.alter("ALTER COLUMN v TYPE STRING")
    with pytest.raises(paimon.InvalidRequest, match=r"db\.t: column 'v' was written as INT.*Files of schema 0 have"):
        table.alter("ALTER COLUMN v TYPE DATE")
    table.overwrite(table.scan().to_arrow())
    assert rows(table.alter("ALTER COLUMN v TYPE DATE LOSSY"))[0]["v"] == datetime.date(1970, 1, 2)


def test_a_column_that_an_option_names_cannot_be_dropped(table):
    table = table.alter("SET ('sequence.field' = 'v')")
    with pytest.raises(paimon.InvalidRequest, match=r"sequence\.field names 'v', which is no column"):
        table.alter("DROP COLUMN v")
    assert table.alter("DROP COLUMN v, RESET ('sequence.field')").schema.names == ["id", "s"]


def test_a_pinned_table_is_not_altered(table):
    table.write([{"id": 1}])
    with pytest.raises(AttributeError, match=r"table db\.t at snapshot 1 is read-only: call alter on"):
        table.at(snapshot=1).alter("DROP COLUMN v")


def test_a_branch_has_schemas_of_its_own(table):
    table.branches.create("b")
    altered = table.branch("b").alter("ADD COLUMN n INT")
    assert altered.schema.names == [*SCHEMA.names, "n"]
    assert table.refresh().schema.names == SCHEMA.names
