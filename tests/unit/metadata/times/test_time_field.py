import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.times.time_field import check_record_expiry, time_field
from paimon_core.schema import new_schema
from paimon_core.storage.fsspec_storage import FsspecStorage

BOTH = {"record-level.expire-time": "1 h", "record-level.time-field": "t"}


def context(options, kind=None, keyed=True):
    schema = new_schema(
        pa.schema([("k", pa.int32()), ("t", kind or pa.int64())]),
        primary_key=["k"] if keyed else [],
        partition_by=[],
        options={"bucket": "1" if keyed else "-1", **options},
    )
    return TableContext.of("db.t", FsspecStorage("memory"), "/t", schema)


@pytest.mark.parametrize(
    "kind", [pa.int32(), pa.int64(), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("us", "UTC")]
)
def test_supported_types_of_a_time_field(kind):
    check_record_expiry(context(BOTH, kind))
    assert time_field(context(BOTH, kind)).name == "t"


def test_a_time_field_is_optional():
    check_record_expiry(context({}))
    assert time_field(context({})) is None


@pytest.mark.parametrize("kind", [pa.string(), pa.date32(), pa.int16(), pa.float64()])
def test_other_types_are_refused(kind):
    with pytest.raises(InvalidRequest, match=r"record-level.time-field names 't', which is .* and not INT"):
        check_record_expiry(context(BOTH, kind))


def test_both_options_or_none():
    with pytest.raises(InvalidRequest, match=r"time-field needs the option record-level.expire-time"):
        check_record_expiry(context({"record-level.time-field": "t"}))
    with pytest.raises(InvalidRequest, match=r"expire-time needs the option record-level.time-field"):
        check_record_expiry(context({"record-level.expire-time": "1 h"}))
    with pytest.raises(InvalidRequest, match="names 'x', which is no column"):
        check_record_expiry(context(BOTH | {"record-level.time-field": "x"}))


def test_a_primary_key_is_needed():
    with pytest.raises(InvalidRequest, match="needs a table with a primary key"):
        check_record_expiry(context(BOTH, keyed=False))
