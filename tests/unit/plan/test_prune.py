from dataclasses import replace

import pytest

from paimon_core.errors import CorruptTable
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.options import TableOptions
from paimon_core.plan import prune
from paimon_core.plan.prune import Pruners, _keeps_bounds
from paimon_core.predicate import col
from paimon_core.types import parse_type
from tests.support.manifest_tables import MetadataTable, data_file, fields_of, names, schema_of, stats_of, without_stats

# Schema 1 renamed b to c, made d wider, and added e.
OLD = schema_of(fields_of(a="INT", b="INT", d="INT"))
NEW = schema_of(fields_of(a="INT NOT NULL", c="INT=1", d="BIGINT=2", e="INT=3"), schema_id=1)
OLD_FILE = data_file(OLD, "old", a=(0, 9), b=(0, 9), d=(0, 9))


def keeps(where, file, schema=NEW, older=OLD):
    pruners = Pruners.of(where, schema, TableOptions.parse(schema.options), {0: older, 1: schema}.__getitem__)
    assert pruners.value is not None
    return pruners.value.keeps(MetadataTable(schema).partition(), file)


def test_a_renamed_column_keeps_its_statistics():
    assert keeps(col("c") == 9, OLD_FILE)
    assert not keeps(col("c") == 10, OLD_FILE)


def test_nullability_is_no_other_type():
    assert not keeps(col("a") == 10, OLD_FILE)


def test_a_column_of_a_wider_type_keeps_its_statistics():
    assert keeps(col("d") == 9, OLD_FILE)
    assert not keeps(col("d") == 10, OLD_FILE)


def test_a_column_of_another_type_has_no_statistics():
    as_text = schema_of(fields_of(a="INT", d="STRING=2"), schema_id=1)
    assert keeps(col("d") == "10", OLD_FILE, as_text)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("TINYINT", "INT", True),
        ("BIGINT", "INT", False),
        ("INT", "DOUBLE", False),
        ("FLOAT", "DOUBLE", True),
        ("DECIMAL(5, 2)", "DECIMAL(9, 2)", True),
        ("DECIMAL(9, 2)", "DECIMAL(5, 2)", False),
        ("DECIMAL(5, 2)", "DECIMAL(9, 3)", False),
        ("CHAR(2)", "STRING", True),
        ("VARCHAR(3)", "VARCHAR(2)", False),
        ("STRING", "CHAR(3)", False),
        ("BINARY(2)", "BYTES", True),
        ("STRING", "BYTES", False),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", False),
    ],
)
def test_the_casts_that_keep_bounds(old, new, kept):
    assert _keeps_bounds(parse_type(old), parse_type(new)) is kept


def test_a_column_that_is_younger_than_the_file_is_all_null():
    assert not keeps(col("e") == 0, OLD_FILE)
    assert not keeps(col("e").is_not_null(), OLD_FILE)
    assert keeps(col("e").is_null(), OLD_FILE)
    assert keeps((col("e") == 0) | (col("c") == 5), OLD_FILE)


def test_statistics_of_some_columns():
    some = replace(OLD_FILE, value_stats=stats_of(OLD.fields[1:2], {"b": 0}, {"b": 9}), value_stats_cols=("b",))
    assert not keeps(col("c") == 10, some)
    assert keeps(col("a") == 10, some)


def test_no_statistics_prune_nothing():
    for file in (without_stats(OLD_FILE), replace(without_stats(OLD_FILE), value_stats_cols=None)):
        assert keeps((col("c") == 10) & col("a").is_null(), file)


def test_a_row_of_no_columns_is_no_statistics_whatever_its_kind():
    empty = b"\x00\x00\x00\x00" + b"\x03" + bytes(7)
    assert keeps(col("c") == 10, replace(OLD_FILE, value_stats=ColumnStats(empty, empty, ())))


def test_statistics_of_unknown_columns_prune_nothing():
    odd = replace(OLD_FILE, value_stats_cols=("a", "b", "x"))
    assert keeps(col("c") == 10, odd)


def test_null_counts_of_another_length_are_unknown():
    odd = replace(OLD_FILE, value_stats=replace(OLD_FILE.value_stats, null_counts=(0,)))
    assert keeps(col("c").is_null(), odd)
    assert not keeps(col("c") == 10, odd)


def test_garbage_is_corruption_of_the_file():
    torn = replace(OLD_FILE, value_stats=ColumnStats(b"\x00\x00\x00\x03", b"\x00\x00\x00\x03", (0, 0, 0)))
    with pytest.raises(CorruptTable, match="statistics of old"):
        keeps(col("c") == 10, torn)
    assert keeps(col("e") == 10, replace(torn, schema_id=1, value_stats_cols=("a", "c", "d")))


def test_statistics_of_java_that_are_no_bounds_lose_no_row():
    schema = schema_of(fields_of(k="CHAR(5) NOT NULL", c="CHAR(5)=1", s="STRING=2"), ["k"], bucket="1")
    ends = dict.fromkeys("kc", ("ab   ", "ab   ")) | {"s": ("\ud7ff", "?")}
    java = data_file(schema, "java", **ends)
    java = replace(java, value_stats=replace(java.value_stats, null_counts=(0, -1, 0)))
    for where in (col("k") == "ab", col("c") == "ab", col("s") == "\ud7ff", col("c").is_null()):
        table = MetadataTable(schema)
        table.commit(table.entry(java))
        assert names(table.plan(where)) == ["java"]
        assert names(table.plan(where & (col("c") > "b"))) == []


def test_partition_values_and_key_ranges_complete_the_statistics():
    schema = schema_of(
        fields_of(day="INT NOT NULL", k="INT NOT NULL", v="INT"), ["day", "k"], partition_by=["day"], bucket="1"
    )
    table = MetadataTable(schema)
    table.commit(table.entry(replace(data_file(schema, "a", k=(0, 9)), value_stats_cols=()), 1))
    assert names(table.plan((col("day") == 2) | (col("k") == 10))) == []
    assert names(table.plan((col("day") == 1) | (col("k") == 10))) == ["a"]
    assert names(table.plan((col("day") == 2) | (col("k") == 9))) == ["a"]


def test_an_append_table_whose_bucket_key_had_another_type_is_not_pruned_there():
    # format 6.5: -5 as INT lies in bucket 3 of 4; as BIGINT its bytes, and so its hash, differ.
    old = schema_of(fields_of(a="INT"), bucket="4", bucket_key="a")
    new = schema_of(fields_of(a="BIGINT"), schema_id=1, bucket="4", bucket_key="a")
    table = MetadataTable(new, older=(old,))
    table.commit(*(table.entry(without_stats(data_file(old, f"old{b}")), bucket=b) for b in range(4)))
    table.commit(*(table.entry(without_stats(data_file(new, f"new{b}")), bucket=b) for b in range(4)))
    found = names(table.plan(col("a") == -5))
    assert [name for name in found if name.startswith("old")] == ["old0", "old1", "old2", "old3"]
    assert len(found) == 5


def test_one_bucket_key_of_another_type_is_enough_to_prune_no_bucket():
    old = schema_of(fields_of(a="INT", b="INT"), bucket="4", bucket_key="a,b")
    new = schema_of(fields_of(a="BIGINT", b="INT"), schema_id=1, bucket="4", bucket_key="a,b")
    table = MetadataTable(new, older=(old,))
    table.commit(*(table.entry(without_stats(data_file(old, str(b))), bucket=b) for b in range(4)))
    assert names(table.plan((col("a") == -5) & (col("b") == 1))) == ["0", "1", "2", "3"]


def test_too_many_combinations_of_keys_are_not_hashed(monkeypatch):
    schema = schema_of(fields_of(a="INT NOT NULL", b="INT NOT NULL"), primary_key=["a", "b"], bucket="2")
    where = col("a").is_in(range(3)) & col("b").is_in(range(3))
    options = TableOptions.parse(schema.options)
    assert Pruners.of(where, schema, options, {0: schema}.__getitem__).bucket is not None
    monkeypatch.setattr(prune, "MAX_HASHED_KEYS", 9)
    assert Pruners.of(where, schema, options, {0: schema}.__getitem__).bucket is not None
    monkeypatch.setattr(prune, "MAX_HASHED_KEYS", 8)
    assert Pruners.of(where, schema, options, {0: schema}.__getitem__).bucket is None


def test_floats_are_not_hashed():
    schema = schema_of(fields_of(k="DOUBLE NOT NULL"), primary_key=["k"], bucket="2")
    pruners = Pruners.of(col("k") == 0.0, schema, TableOptions.parse(schema.options), {0: schema}.__getitem__)
    assert pruners.bucket is None
    assert pruners.key is not None


@pytest.mark.parametrize("buckets", ["1", "2"])
def test_no_bucket_may_contain_a_key_that_must_have_two_values(buckets):
    schema = schema_of(fields_of(a="INT NOT NULL"), primary_key=["a"], bucket=buckets)
    where = (col("a") == 1) & (col("a") == 2)
    bucket = Pruners.of(where, schema, TableOptions.parse(schema.options), {0: schema}.__getitem__).bucket
    assert bucket is not None
    assert not bucket.keeps(0, int(buckets), 0)
