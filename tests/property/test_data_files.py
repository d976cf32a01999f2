"""Data files: written rows are read back, and all statistics are true."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.codec.binary_row.rows import decode_row, storage_values
from paimon_core.datafile.statistics.column_statistics import truncate_up
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.types import parse_type
from tests.support.data_files import STORAGE, Bucket, schema_of
from tests.support.examples import examples

NUMBERS = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-(2**7), 2**7 - 1),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
    "DECIMAL(9, 3)": st.decimals(-999_999, 999_999, places=3),
    "DECIMAL(18, 0)": st.decimals(-(10**17), 10**17, places=0),
    "DECIMAL(38, 5)": st.decimals(-(10**32), 10**32, places=5),
    "STRING": st.text(max_size=40),
    "BYTES": st.binary(max_size=40),
    "DATE": st.integers(-719_162, 2_932_896),
    "TIME(3)": st.integers(0, 86_399_999),
    "TIMESTAMP(3)": st.integers(-62_135_596_800_000, 253_402_300_799_999),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
    "TIMESTAMP(9)": st.integers(-(2**63), 2**63 - 1),
}


IN_ORC = {
    "TIMESTAMP(3)": st.integers(-9_000_000_000_000, 9_000_000_000_000),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": st.integers(-9_000_000_000_000, 9_000_000_000_000).map(lambda n: n * 1000)
    | st.integers(0, 9_000_000_000_000_000),
    "TIMESTAMP(9)": st.integers(-9_000_000_000_000, 9_000_000_000_000).map(lambda n: n * 10**6)
    | st.integers(0, 2**63 - 1),
}
OF_FORMAT = {
    "parquet": NUMBERS,
    "orc": NUMBERS | IN_ORC,
    "avro": {text: values for text, values in NUMBERS.items() if text != "TIMESTAMP(9)"},
}


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(sorted(OF_FORMAT)))
    text = draw(st.sampled_from(sorted(OF_FORMAT[kind])))
    return kind, text, draw(st.lists(st.none() | OF_FORMAT[kind][text], min_size=1, max_size=50))


@given(columns())
@settings(deadline=None, max_examples=examples(400))
def test_a_column_survives_its_file_and_its_bounds_hold(column):
    kind, text, values = column
    dtype = parse_type(text)
    bucket = Bucket(schema_of({"c": text}, options={"metadata.stats-mode": "truncate(2)", "file.format": kind}))
    rows = bucket.table({"c": values})
    (file,) = bucket.write(rows)
    found = bucket.read(file)
    if pa.types.is_floating(rows["c"].type):  # NaN equals itself here
        assert repr(found["c"].to_pylist()) == repr(rows["c"].to_pylist())
    else:
        assert found.equals(rows)
    (low,) = decode_row(file.value_stats.min_values, [dtype])
    (high,) = decode_row(file.value_stats.max_values, [dtype])
    stored = [v for v in storage_values(rows["c"], dtype) if v is not None]
    assert file.value_stats.null_counts == (len(values) - len(stored),)
    assert (low is None) == (high is None)
    if low is not None:
        assert all(low <= value <= high for value in stored)


@given(st.text(min_size=1, max_size=8), st.integers(1, 8))
def test_a_cut_text_is_short_and_not_below(text, length):
    cut = truncate_up(text, length)
    if cut is None:
        assert set(text[:length]) == {"\U0010ffff"}
    else:
        assert len(cut) <= length
        assert cut.encode() >= text.encode()


def whole(kind):
    """Return a bucket, its rows, and the bytes of the one file that contains them."""
    types = {
        "n": "INT",
        "s": "STRING",
        "t": "TIMESTAMP(6)" if kind == "avro" else "TIMESTAMP(9)",
        "d": "DECIMAL(30, 2)",
    }
    bucket = Bucket(schema_of(types, options={"file.format": kind}))
    rows = bucket.table({"n": range(200), "s": [f"s{n % 7}" for n in range(200)], "t": range(200), "d": range(200)})
    return bucket, rows, STORAGE.read(bucket.path(bucket.write(rows)[0]))


WHOLE = {kind: whole(kind) for kind in OF_FORMAT}


@pytest.mark.parametrize("kind", OF_FORMAT)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=3, unique=True))
@settings(deadline=None, derandomize=True, max_examples=examples(300))
def test_a_damaged_file_is_refused_by_name_or_has_all_its_rows(kind, bits):
    bucket, rows, intact = WHOLE[kind]
    data = bytearray(intact)
    for place, bit in bits:
        data[int(place * len(data))] ^= 1 << bit
    file = bucket.put_bytes(bytes(data), len(rows), f"damaged.{kind}")
    try:
        found = bucket.read(file)
    except (CorruptTable, UnsupportedFeature) as error:
        refused = error
    else:
        assert len(found) == len(rows)
        return
    assert bucket.path(file) in str(refused) or "column" in refused.facts
