"""Merged writes through writers, prepared commits and generators of dicts (option write.merge-schema)."""

import polars as pl
import pyarrow as pa
import pytest

from paimon_core import Variant
from paimon_core.errors import CommitConflict, SchemaMismatch, UnsupportedFeature

KEYED = {"bucket": "1"}


@pytest.fixture
def table(catalog):
    columns = {"id": "BIGINT NOT NULL", "v": "INT", "r": "ROW<a INT>"}
    return catalog.create_table("db.t", columns, primary_key=["id"], options=KEYED)


def rows(table):
    return table.refresh().scan().to_arrow().sort_by("id").to_pylist()


def test_a_writer_merges_each_batch_and_later_rows_win(table):
    with table.writer(merge_schema=True) as writer:
        writer.write([{"id": 1, "v": 1}, {"id": 2, "v": 2}])
        writer.write([{"id": 1, "v": 10, "note": "n"}])
        writer.write([{"id": 2, "v": 20}])
        messages = writer.flush()
    assert table.refresh().schema.names == ["id", "v", "r", "note"]
    assert {f.schema_id for m in messages for f in m.new_files} == {0, 1}
    table.commit(messages)  # the handle still has the schema before
    assert rows(table) == [
        {"id": 1, "v": 10, "r": None, "note": "n"},
        {"id": 2, "v": 20, "r": None, "note": None},
    ]


def test_an_aborted_merging_writer_deletes_the_files_of_all_schemas(table, tmp_path):
    with table.writer(merge_schema=True) as writer:
        writer.write([{"id": 1}])
        writer.write([{"id": 1, "note": "n"}])
    assert not list((tmp_path / "db.db/t").glob("bucket-*/*"))
    assert table.refresh().schema.names[-1] == "note"


def test_writers_of_one_commit_merge_at_the_same_time(table):
    with table.writer(merge_schema="widen") as one, table.writer(merge_schema="widen") as two:
        one.write([{"id": 1, "v": 2**40, "note": "one"}])
        two.write([{"id": 2, "v": 2**41, "note": "two", "more": True}])
        with table.writer(merge_schema=True) as other, pytest.raises(SchemaMismatch, match="column 'note' is STRING"):
            other.write([{"id": 3, "note": 1}])
        table.alter("DROP COLUMN more")  # commits in between
        table.commit([*one.flush(), *two.flush()])
    assert rows(table) == [
        {"id": 1, "v": 2**40, "r": None, "note": "one"},
        {"id": 2, "v": 2**41, "r": None, "note": "two"},
    ]


def test_a_prepared_commit_merges_at_once_and_shows_the_new_columns(table):
    prepared = table.prepare([{"id": 1, "note": "n"}], merge_schema=True)
    assert prepared.table.scan().to_arrow()["note"].to_pylist() == ["n"]
    assert table.refresh().schema.names[-1] == "note"
    table.alter("ADD COLUMN later INT")
    with pytest.raises(CommitConflict):
        prepared.publish()
    prepared.again().publish()
    assert rows(table) == [{"id": 1, "v": None, "r": None, "note": "n", "later": None}]


def test_prepared_messages_show_the_schema_of_their_files(table):
    with table.writer(merge_schema=True) as writer:
        writer.write([{"id": 1, "note": "n"}])
        prepared = table.prepare_messages(writer.flush())
    assert prepared.table.scan().to_arrow()["note"].to_pylist() == ["n"]


def test_a_prepared_overwrite_of_several_schemas_keeps_the_last_rows(table):
    table.write([{"id": 9}])
    data = iter([pa.table({"id": [1], "v": [1]}), pa.table({"id": [1], "v": [2], "note": ["n"]})])
    table.prepare(data, overwrite=True, merge_schema=True).publish()
    assert rows(table) == [{"id": 1, "v": 2, "r": None, "note": "n"}]


def test_generators_and_lazy_frames_are_merged(table):
    table.write(({"id": n, "n": n} for n in (1, 2)), merge_schema=True)
    table.write(pl.LazyFrame({"id": [3], "s": ["x"]}), merge_schema=True)
    assert [(r["n"], r["s"]) for r in rows(table)] == [(1, None), (2, None), (None, "x")]


def test_dicts_bring_members_of_rows_and_are_read_by_the_other_types(catalog):
    columns = {"id": "BIGINT", "d": "DATE", "r": "ROW<a INT>", "l": "ARRAY<ROW<a INT>>", "m": "MAP<STRING, ROW<a INT>>"}
    table = catalog.create_table("db.n", columns)
    given = {"id": 1, "d": "2024-01-31", "r": {"a": 1, "b": "x"}, "l": [{"c": 1.5}], "m": {"k": {"d": [True]}}}
    table.write([given], merge_schema=True)
    found = table.refresh()
    assert [f.type.sql for f in found.schema.fields][1:] == [
        "DATE",
        "ROW<a INT, b STRING>",
        "ARRAY<ROW<a INT, c DOUBLE>>",
        "MAP<STRING, ROW<a INT, d ARRAY<BOOLEAN>>>",
    ]
    assert found.scan().to_arrow()["l"].to_pylist() == [[{"a": None, "c": 1.5}]]
    table.write([{"id": 2**33, "d": "2024-02-01", "r": {"a": 2**33}}], merge_schema="widen")
    assert table.refresh().schema.by_name["r"].type.children[0].type.sql == "BIGINT"


def test_members_of_new_columns_are_nullable(table):
    kind = pa.struct([pa.field("x", pa.int8(), nullable=False)])
    table.write(pa.table({"id": [1], "n": pa.array([{"x": 1}], kind)}), merge_schema=True)
    assert table.refresh().schema.by_name["n"].type.sql == "ROW<x TINYINT>"


def test_columns_without_a_value_are_not_added(table):
    table.write([{"id": 1, "x": None}], merge_schema=True)
    assert "x" not in table.refresh().schema.names


def test_data_without_rows_brings_its_columns(table):
    table.write(pa.table({"id": pa.array([], pa.int64()), "x": pa.array([], pa.int8())}), merge_schema=True)
    assert table.refresh().schema.by_name["x"].type.sql == "TINYINT"


def test_maps_and_binaries_are_known_by_the_columns_of_the_table(catalog):
    table = catalog.create_table("db.v", "m MULTISET<STRING>, v VARIANT, l ARRAY<ROW<v VARIANT>>, t TIME(3)")
    row = {"m": {"a": 1}, "v": {"x": [1]}, "l": [{"v": 5}], "t": "10:00:00.5"}
    table.write([row | {"new": 1}], merge_schema="widen")
    assert table.refresh().schema.names == ["m", "v", "l", "t", "new"]
    table.write(table.refresh().scan().to_arrow(), merge_schema="widen")
    assert table.refresh().schema.id == 1
    found = table.refresh().scan(["v", "l"]).to_arrow().to_pylist()
    assert [Variant.read(r["l"][0]["v"]).to_python() for r in found] == [5, 5]


def test_dicts_widen_only_what_does_not_fit(catalog):
    columns = "i INT, s VARCHAR(3), t TIME(0), ts TIMESTAMP(0), d DECIMAL(5, 2), r ROW<a SMALLINT, b CHAR(2)>, f FLOAT"
    table = catalog.create_table("db.w", columns)
    row = {"i": 1, "s": "abc", "t": "10:00", "ts": "2024-01-01", "d": "1.5", "r": {"a": 1, "b": "x"}, "f": 1.5}
    table.write([row], merge_schema="widen")
    assert table.refresh().schema.id == 0
    table.write([row | {"i": 2**31, "s": "abcd"}], merge_schema="widen")
    kinds = [f.type.sql for f in table.refresh().schema.fields]
    assert kinds[:5] == ["BIGINT", "STRING", "TIME(0)", "TIMESTAMP(0)", "DECIMAL(5, 2)"]


def test_unsigned_columns_need_no_new_type_where_they_fit(table):
    table.write(pa.table({"id": pa.array([1], pa.uint32()), "v": pa.array([1], pa.uint16())}), merge_schema="widen")
    assert table.refresh().schema.id == 0
    with pytest.raises(UnsupportedFeature, match="column 'x': Arrow type uint16"):
        table.write(pa.table({"id": [1], "x": pa.array([1], pa.uint16())}), merge_schema=True)


def test_values_without_a_common_type_are_named(table):
    with pytest.raises(SchemaMismatch, match="column 'x': row 2: no type fits 'a'"):
        table.write(({"id": n, "x": x} for n, x in enumerate([1, 2, "a"])), merge_schema=True)
