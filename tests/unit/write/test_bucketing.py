import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.codec.binary_row import bucket_function
from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import parse_type
from paimon_core.write.bucketing import split_by_bucket


def context_of(warehouse, **arguments):
    catalog = paimon.open_catalog(f"memory://{warehouse}")
    catalog.create_database("db")
    schema = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
    return catalog.create_table("db.t", schema, **arguments).context


def test_the_documented_buckets_of_small_integers(tmp_path):
    context = context_of(tmp_path, primary_key=["k"], options={"bucket": "4"})
    rows = pa.table({"p": ["x"] * 3, "k": pa.array([1, 42, -5], pa.int32()), "v": [1, 2, 3]})
    assert [(part.bucket, part.rows["k"].to_pylist()) for part in split_by_bucket(rows, context)] == [
        (1, [42]),
        (2, [1]),
        (3, [-5]),
    ]


def test_rows_of_a_bucket_keep_their_order(tmp_path):
    context = context_of(tmp_path, primary_key=["p", "k"], partition_by=["p"], options={"bucket": "2"})
    n = 1000
    rows = pa.table(
        {
            "p": [["a", "b", None][i % 3] for i in range(n)],
            "k": pa.array([i % 7 for i in range(n)], pa.int32()),
            "v": range(n),
        }
    )
    parts = list(split_by_bucket(rows, context))
    assert sum(len(p.rows) for p in parts) == n
    names = [decode_row(p.partition, [parse_type("STRING")])[0] for p in parts]
    assert sorted(set(names), key=str) == [None, "a", "b"]
    for part, name in zip(parts, names, strict=True):
        assert set(part.rows["p"].to_pylist()) == {name}
        assert part.rows["v"].to_pylist() == sorted(part.rows["v"].to_pylist())


def test_no_rows_no_buckets(tmp_path):
    context = context_of(tmp_path)
    assert list(split_by_bucket(context.schema.arrow.empty_table(), context)) == []


def test_parts_of_one_table_are_the_same_rows(tmp_path):
    context = context_of(tmp_path, primary_key=["p", "k"], partition_by=["p"], options={"bucket": "3"})
    rows = pa.table({"p": ["a", "b"] * 50, "k": pa.array(range(100), pa.int32()), "v": [None, *range(99)]})
    copies, parts = (list(split_by_bucket(rows, context, shares=shares)) for shares in (False, True))
    assert len(parts) == 6
    assert parts == copies


def test_one_bucket_hashes_no_key_and_still_refuses_types(tmp_path, monkeypatch):
    context = context_of(tmp_path, primary_key=["k"], options={"bucket": "1"})
    rows = pa.table({"p": ["x"] * 3, "k": pa.array([1, 42, -5], pa.int32()), "v": [1, 2, 3]})
    monkeypatch.setattr(bucket_function, "hash_rows", None)
    (part,) = split_by_bucket(rows, context)
    assert (part.bucket, part.rows) == (0, rows)
    with pytest.raises(UnsupportedFeature, match=r"bucket-function\.type = mod"):
        bucket_function.buckets_of([rows["p"]], [parse_type("STRING")], "mod", 1)
    assert bucket_function.buckets_of([rows["k"]], [parse_type("INT")], "mod", 1).tolist() == [0, 0, 0]
