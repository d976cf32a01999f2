import pyarrow as pa
import pytest

from paimon_core.datafile.orc import timestamps
from paimon_core.datafile.orc.timestamps import as_java_reads, check_columns, check_values, offset_of
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import parse_type

LTZ = "TIMESTAMP(3) WITH LOCAL TIME ZONE"


@pytest.mark.parametrize(
    ("unit", "good", "bad"),
    [
        ("ms", [0, -1, None], [10**13]),
        ("us", [1, -1000], [-1]),
        ("us", [9 * 10**15], [-(10**16)]),
        ("ns", [1, -(10**6)], [-1]),
        ("ns", [2**63 - 1], [-(10**6) + 1]),
    ],
)
def test_values_that_are_read_again(unit, good, bad):
    check_values(pa.array(good, pa.timestamp(unit)), "t")
    with pytest.raises(InvalidRequest, match="'t'"):
        check_values(pa.array(good + bad, pa.timestamp(unit)), "t")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([-1], pa.list_(pa.timestamp("us"))),
        ({"t": -1}, pa.struct([("t", pa.timestamp("us"))])),
        ([("a", -1)], pa.map_(pa.string(), pa.timestamp("us"))),
        ([None, [-1]], pa.list_(pa.list_(pa.timestamp("us")))),
    ],
)
def test_values_inside_of_nested_columns(value, kind):
    check_values(pa.array([None, None], kind), "n")
    with pytest.raises(InvalidRequest, match="'n'"):
        check_values(pa.array([None, value], kind), "n")


def test_local_times_need_utc_unless_they_are_stored_as_instants(monkeypatch):
    zoned, array = parse_type(LTZ), parse_type({"type": "ARRAY", "element": LTZ})
    monkeypatch.setattr(timestamps.time, "timezone", -3600)
    monkeypatch.setattr(timestamps.time, "tzname", ("CET", "CEST"))
    for dtype in (zoned, array):
        with pytest.raises(UnsupportedFeature, match=r"'z'.*legacy\.type.*not in CET"):
            check_columns([DataField(0, "z", dtype)], legacy_ltz=True)
        check_columns([DataField(0, "z", dtype)], legacy_ltz=False)
    check_columns([DataField(0, "t", parse_type("TIMESTAMP(3)"))], legacy_ltz=True)
    monkeypatch.setattr(timestamps.time, "timezone", 0)
    monkeypatch.setattr(timestamps.time, "daylight", 0)
    check_columns([DataField(0, "z", zoned)], legacy_ltz=True)


def test_a_pyarrow_that_reads_far_years_wrongly_takes_no_timestamps(monkeypatch):
    monkeypatch.setattr(timestamps, "_refuses_far_timestamps", lambda: False)
    with pytest.raises(UnsupportedFeature, match=r"'t'.*pyarrow"):
        check_columns([DataField(0, "t", parse_type("TIMESTAMP(3)"))], legacy_ltz=True)
    check_columns([DataField(0, "d", parse_type("DATE"))], legacy_ltz=True)


@pytest.mark.parametrize(
    ("offset", "stored", "read"),
    [
        (0, [-1.5, -0.5, 0.5], [-1.5, -0.5, 0.5]),
        (-3600, [-3602.5, -3600.5, -1.5, -0.5, 0.5], [-3602.5, -3599.5, -0.5, -0.5, 0.5]),
        (3600, [-1.5, 0.5, 3599.5, 3600.5], [-1.5, -0.5, 3598.5, 3600.5]),
        (3600, [0.0, 0.0009, None, 10**6 + 0.5], [0.0, 0.0009, None, 10**6 + 0.5]),
    ],
)
def test_times_between_1970_in_utc_and_in_the_zone_of_the_writer(offset, stored, read):
    def nanos(seconds):
        return pa.array([None if s is None else round(s * 10**9) for s in seconds], pa.timestamp("ns"))

    assert as_java_reads(nanos(stored), parse_type("TIMESTAMP(9)"), lambda: offset).equals(nanos(read))
    instants = nanos(stored).cast(pa.timestamp("ns", "UTC"))
    assert as_java_reads(instants, parse_type("TIMESTAMP(9) WITH LOCAL TIME ZONE"), lambda: offset).equals(instants)


def test_the_zone_is_looked_up_only_for_fractions_near_1970():
    def unknown():
        raise AssertionError

    far = pa.array([0, 10**18 + 5 * 10**8, -(10**18) + 5 * 10**8, None], pa.timestamp("ns"))
    assert as_java_reads(far, parse_type("TIMESTAMP(9)"), unknown) is far


def test_the_offset_of_writers():
    assert [offset_of([z]) for z in ("GMT", "UTC", "America/New_York", "Asia/Kolkata")] == [0, 0, -18000, 19800]
    for zones in (["GMT", "Asia/Kolkata"], [], ["no/zone"], [""], ["../etc"]):
        with pytest.raises(ValueError, match=r"its (stripes state|writer states)"):
            offset_of(zones)
