"""Which bits of a run length encoded stream are 0, and null keys of maps at any depth."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.orc as orc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.codec.orc.map_keys import column_with_null_key, has_zero
from paimon_core.codec.orc.metadata_checks import check_metadata

RUN = st.tuples(st.booleans(), st.lists(st.sampled_from([0xFF, 0xFF, 0xFE, 0x80]), min_size=1, max_size=128))


@given(st.lists(RUN, min_size=1, max_size=4), st.integers(0, 64))
def test_zero_bits_of_random_runs(runs, cut):
    data, plain = b"", b""
    for repeats, values in runs:
        some = bytes(values[:1] * (len(values) + 2)) if repeats else bytes(values)
        data += bytes([len(some) - 3, some[0]]) if repeats else bytes([256 - len(some)]) + some
        plain += some
    count = max(0, 8 * len(plain) - cut)
    assert has_zero(data, count) == ("0" in "".join(f"{byte:08b}" for byte in plain)[:count])


def test_a_stream_that_ends_early_is_refused():
    with pytest.raises(ValueError, match="truncated"):
        has_zero(bytes([0, 0xFF]), 25)


NESTED = pa.list_(pa.map_(pa.string(), pa.map_(pa.int32(), pa.string())))


def test_maps_without_null_keys_are_found_good_whatever_else_is_null():
    rows = [[[("a", [(1, None)]), ("b", None)], None], None, [[]], [[("c", [(2, "x")])]]]
    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"m": pa.array(rows, NESTED), "s": ["t"] * 4}), sink)
    source = pa.BufferReader(sink.getvalue())
    assert column_with_null_key(source, check_metadata(source), ["m", "s"]) is None
