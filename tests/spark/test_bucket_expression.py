"""The SQL text returns the same bucket for each row as the library."""

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.codec.binary_row.bucket_hash import bucket_of, hash_rows
from paimon_core.schema import new_schema
from paimon_core.spark.writes.bucket_expression import bucket_expression

N = 20_000
RANDOM = np.random.default_rng(5)
EDGE_TEXTS = ["", "a", "sieben7", "achtacht", "x" * 15, "x" * 16, "x" * 17, "中文", "中文字符", "\x00", "\x7f\x80"]
TEXTS = [*EDGE_TEXTS, *(f"key-{k}" for k in range(5000))]
COLUMNS = {
    "t": pa.array(RANDOM.integers(-128, 128, N), pa.int8()),
    "h": pa.array(RANDOM.integers(-(2**15), 2**15, N), pa.int16()),
    "i": pa.array(RANDOM.integers(-(2**31), 2**31, N), pa.int32()),
    "b": pa.array(RANDOM.integers(-(2**62), 2**62, N) * 2, pa.int64()),
    "d": pa.array(RANDOM.integers(-30_000, 30_000, N).astype(np.int32), pa.int32()).cast(pa.date32()),
    "s": pa.array([TEXTS[k % len(TEXTS)] for k in range(N)]),
    "u": pa.array([f"{'long ' * (k % 9)}{k}" for k in range(N)]),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "keys", [["t"], ["h"], ["i"], ["b"], ["d"], ["s"], ["i", "s"], ["s", "u", "b"], ["d", "u", "s", "i"]], ids="+".join
)
def test_the_expression_is_the_bucket(spark, keys):
    rows = pa.table({k: COLUMNS[k] for k in keys})
    fields = new_schema(rows.schema, primary_key=keys).fields
    expected = bucket_of(hash_rows([rows[k].combine_chunks() for k in keys], [f.type for f in fields]), 7)
    frame = spark.createDataFrame(rows.to_pandas()) if keys != ["d"] else spark.createDataFrame(rows)
    found = frame.selectExpr(f"{bucket_expression(fields, 7)} as bucket").toArrow()["bucket"].to_numpy()
    assert np.bincount(found, minlength=7).sum() == N
    assert (found == expected).all()


def test_types_without_an_expression_are_left_to_arrow():
    for arrow in (pa.float64(), pa.decimal128(20, 2), pa.binary(), pa.bool_(), pa.timestamp("us")):
        fields = new_schema(pa.schema([("k", arrow)]), primary_key=["k"]).fields
        assert bucket_expression(fields, 2) is None
    assert bucket_expression(new_schema(pa.schema([("k", pa.int32())])).fields, 2) is None
