import datetime

import pytest

from paimon_core.errors import InvalidOption, UnsupportedFeature
from paimon_core.options import SUPPORTED, TableOptions, parse_bytes, parse_millis
from paimon_core.options.parsers import parse_zone


@pytest.mark.parametrize(
    ("text", "size"), [("128 mb", 128 << 20), ("1kb", 1024), ("7", 7), ("2 GB", 2 << 30), ("3 bytes", 3), ("5 k", 5120)]
)
def test_sizes_are_binary(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "millis"), [("1 h", 3_600_000), ("10 ms", 10), ("2 d", 172_800_000), ("5min", 300_000)]
)
def test_durations(text, millis):
    assert parse_millis(text) == millis


def test_defaults_and_values():
    options = TableOptions.parse({"bucket": "4", "target-file-size": "1 mb", "sequence.field": "a, b"}, creating=True)
    assert options["bucket"] == 4
    assert options["target-file-size"] == 1 << 20
    assert options["sequence.field"] == ("a", "b")
    assert options["num-sorted-run.compaction-trigger"] == 5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bucket", "0"),
        ("bucket", "x"),
        ("file.format", "lance"),
        ("merge-engine", "last-row"),
        ("changelog-producer", "log"),
        ("file.format.per.level", "0:json"),
        ("file.compression.per.level", "zstd"),
        ("fields.a.aggregate-function", "count"),
        ("fields.a.distinct", "often"),
        ("fields.a.sequence-group", "b,,c"),
        ("deletion-vectors.enabled", "true"),
        ("no-such-option", "1"),
        ("target-file-size", "big"),
        ("write-only", "yes"),
        ("fields.a.stats-mode", "some"),
        ("file.compression.zstd-level", "99"),
        ("sequence.field", "a,,b"),
    ],
)
def test_a_new_table_takes_no_option_that_is_not_obeyed(key, value):
    with pytest.raises(InvalidOption, match=key):
        TableOptions.parse({key: value}, creating=True)


def test_the_postpone_bucket_is_refused_by_name():
    with pytest.raises(UnsupportedFeature, match="postpone"):
        TableOptions.parse({"bucket": "-2"}, creating=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("merge-engine", "last-row"),
        ("fields.a.aggregate-function", "count"),
        ("deletion-vectors.enabled", "true"),
        ("file.format", "lance"),
        ("mystery", "1"),
    ],
)
def test_an_existing_table_that_would_read_differently_is_refused(key, value):
    with pytest.raises(UnsupportedFeature, match=key):
        TableOptions.parse({key: value}, table="db.t")


def test_an_option_for_other_writers_leaves_the_table_readable_only():
    options = TableOptions.parse({"sink.parallelism": "4"}, table="db.t")
    with pytest.raises(UnsupportedFeature, match=r"db\.t.*sink\.parallelism"):
        options.check_writable("db.t")
    TableOptions.parse({"bucket": "1"}).check_writable("db.t")


def test_every_option_documents_itself_and_reads_its_default():
    for option in SUPPORTED.values():
        assert option.doc
        assert TableOptions.parse({})[option.key] == option.default


@pytest.mark.parametrize(
    ("text", "hours"),
    [("UTC", 0), ("Z", 0), ("GMT-08:00", -8), ("+05:30", 5.5), ("UTC+8", 8), ("-0300", -3), (" Asia/Tokyo ", 9)],
)
def test_time_zones(text, hours):
    zone = parse_zone(text)
    assert datetime.datetime(2024, 1, 15, tzinfo=zone).utcoffset() == datetime.timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "Mars/Olympus", "+19:00", "../UTC", "+5:99", "GMT 8"])
def test_what_is_no_time_zone(text):
    with pytest.raises(InvalidOption, match=r"sink.process-time-zone.*a time zone such as"):
        TableOptions.parse({"sink.process-time-zone": text}, creating=True)
