import pyarrow as pa
import pytest

from paimon_core.datafile.evolution.stored_types import from_stored, is_stored_as
from paimon_core.types import parse_type


@pytest.mark.parametrize("zone", ["", " WITH LOCAL TIME ZONE"])
@pytest.mark.parametrize(("precision", "unit"), [(0, "ms"), (3, "ms"), (6, "us")])
def test_timestamps_may_lie_in_a_file_as_plain_numbers(precision, unit, zone):
    """Paimon up to 0.6 wrote them to Parquet so that only the precision determines the unit."""
    kind = parse_type(f"TIMESTAMP({precision}){zone}")
    assert is_stored_as(pa.int64(), kind)
    found = from_stored(pa.array([1_700_000_000_123, None]), kind)
    assert found.type == pa.timestamp(unit, "UTC" if zone else None)
    assert found.cast(pa.int64()).to_pylist() == [1_700_000_000_123, None]
    nested = parse_type({"type": "ARRAY", "element": f"TIMESTAMP({precision}){zone}"})
    assert is_stored_as(pa.list_(pa.int64()), nested)
    assert from_stored(pa.array([[5]]), nested).type == nested.to_arrow()


def test_nanoseconds_are_no_plain_numbers():
    assert not is_stored_as(pa.int64(), parse_type("TIMESTAMP(9)"))
    assert not is_stored_as(pa.int32(), parse_type("TIMESTAMP(3)"))
