import datetime

import pytest

from paimon_core.errors import InvalidOption, UnsupportedFeature
from paimon_core.options import TableOptions, Use, parse_bytes, parse_millis
from paimon_core.options.names import current_names
from paimon_core.options.parsers import parse_zone
from paimon_core.options.registry import OLDER_NAMES

SIZES = {
    "128 mb": 128 << 20,
    "1kb": 1024,
    "7": 7,
    "2 GB": 2 << 30,
    "3 bytes": 3,
    "5 k": 5120,
    f"{2**63 - 1} b": 2**63 - 1,
}


@pytest.mark.parametrize(("text", "size"), [*SIZES.items(), (f"{2**63 - 1} b", 2**63 - 1)])
def test_sizes_are_binary(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", [f"{2**63} b", "9999999999 gb", "x", "1 xb", ""])
def test_a_text_that_is_not_a_size_is_refused(text):
    with pytest.raises(ValueError, match="a size"):
        parse_bytes(text)


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
        ("snapshot.no-such-option", "1"),
        ("sort-engine", "bubble"),
        ("scan.mode", "sometimes"),
        (" ", "1"),
        ("target-file-size", "big"),
        ("write-only", "yes"),
        ("fields.a.stats-mode", "some"),
        ("file.compression.zstd-level", "99"),
        ("sequence.field", "a,,b"),
    ],
)
def test_a_new_table_accepts_no_option_that_is_not_supported(key, value):
    with pytest.raises(InvalidOption, match=key):
        TableOptions.parse({key: value}, creating=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("merge-engine", "last-row"),
        ("fields.a.aggregate-function", "count"),
        ("file.format", "lance"),
        ("scan.bucket", "1"),
        ("read.changelog", "true"),
        ("type", "format-table"),
        ("fields.a.default-value", "0"),
        ("nerge-engine", "aggregation"),
        ("snapshot.time-retainee", "1 h"),
    ],
)
def test_an_existing_table_that_would_read_differently_is_refused(key, value):
    with pytest.raises(UnsupportedFeature, match=key):
        TableOptions.parse({key: value}, table="db.t")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("manifest.format", "json"),
        ("data-file.prefix", "part."),
        ("file.compression", "lzo"),
        ("data-file.external-paths", "x/y"),
        ("metadata.iceberg.storage", "table-location"),
        ("partition.end-input-to-done", "true"),
        ("partition.timestamp-format.strict", "true"),
        ("visibility-callback.enabled", "true"),
        ("commit.callbacks", "com.example.Callback"),
        ("write.sequence-number-init-mode", "snapshot"),
        ("commit.max-retries", "often"),
    ],
)
def test_an_unsupported_write_option_leaves_the_table_read_only(key, value):
    options = TableOptions.parse({key: value}, table="db.t")
    assert options.uses == {key: Use.STOPS_WRITES}
    with pytest.raises(UnsupportedFeature, match=rf"db\.t.*{key}"):
        options.check_writable("db.t")
    with pytest.raises(InvalidOption, match=key):
        TableOptions.parse({key: value}, creating=True)
    TableOptions.parse({"bucket": "1"}).check_writable("db.t")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sort-engine", "min-heap"),
        ("page-size", "32 kb"),
        ("write-max-writers-to-spill", "3"),
        ("scan.infer-parallelism", "false"),
        ("read.batch-size", "77"),
        ("sink.parallelism", "4"),
        ("lookup.cache-max-memory-size", "1 mb"),
        ("parquet.page.size", "1024"),
    ],
)
@pytest.mark.parametrize("creating", [False, True])
def test_an_option_for_another_engine_is_ignored(key, value, creating):
    options = TableOptions.parse({key: value}, creating=creating)
    options.check_writable("db.t")
    assert options.uses == {key: Use.IGNORED}
    assert options.ignored == (key,)


@pytest.mark.parametrize("key", ["owner", "createdAt", "custom.team", "custom.a.b"])
@pytest.mark.parametrize("creating", [False, True])
def test_a_key_of_users_is_stored_and_ignored(key, creating):
    options = TableOptions.parse({key: "x"}, table="db.t", creating=creating)
    options.check_writable("db.t")
    assert options.uses == {key: Use.FOREIGN}


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("connector", ""),
        ("my.custom.key", ""),
        ("totalSize", ""),
        ("mystery", ""),
        ("custom.", ""),
        ("custom", ""),
        ("Owner", ""),
        ("write-mode", r" \(the most similar one is 'write-only'\)"),
    ],
)
def test_a_new_table_refuses_a_key_that_is_not_an_option_of_paimon(key, advice):
    options = TableOptions.parse({key: "x"}, table="db.t")
    options.check_writable("db.t")
    assert options.uses == {key: Use.FOREIGN}
    message = rf"option '{key}' = 'x' is not an option of Paimon{advice}, and would .* begin with 'custom\.'"
    with pytest.raises(InvalidOption, match=message):
        TableOptions.parse({key: "x"}, table="db.t", creating=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scan.mode", "sometimes"),
        ("scan.creation-time-millis", "then"),
        ("scan.snapshot-id", "x"),
        ("incremental-between", "1"),
    ],
)
def test_an_unsupported_choice_of_the_snapshot_stops_reads_only(key, value):
    options = TableOptions.parse({key: value}, table="db.t")
    options.check_writable("db.t")
    assert options.uses == {key: Use.STOPS_READS}
    with pytest.raises(UnsupportedFeature, match=rf"db\.t.*{key}"):
        options.check_scannable("db.t")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("chain-table.enabled", "FALSE"),
        ("upsert-key", ""),
        ("commit.callbacks", ""),
        ("type", "table"),
    ],
)
@pytest.mark.parametrize("creating", [False, True])
def test_an_unsupported_feature_may_be_off(key, value, creating):
    options = TableOptions.parse({key: value}, creating=creating)
    options.check_writable("db.t")
    assert options.uses == {key: Use.IDLE}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("merge_engine", "merge-engine"),
        ("snapshot.time.retained", "snapshot.time-retained"),
        ("Bucket", "bucket"),
        ("change-log-producer", "changelog-producer"),
        ("deletion-vector.enabled", "deletion-vectors.enabled"),
        ("sort-engin", "sort-engine"),
        ("bukcet", "bucket"),
        ("snapshot.keep", "snapshot."),
        ("compression", "file.compression"),
        ("fields.v.agregate-function", "fields.v.aggregate-function"),
    ],
)
def test_the_error_for_a_misspelled_option_suggests_its_name(given, meant):
    with pytest.raises(InvalidOption, match=f"did you mean '{meant}"):
        TableOptions.parse({given: "1"}, creating=True)


@pytest.mark.parametrize("key", ["primary-key", "partition", "path"])
def test_an_argument_of_create_table_is_refused_as_an_option(key):
    with pytest.raises(InvalidOption, match=key):
        TableOptions.parse({key: "k"}, creating=True)
    TableOptions.parse({key: "k"}).check_writable("db.t")


@pytest.mark.parametrize(("older", "key"), OLDER_NAMES.items())
def test_an_older_name_is_used_where_the_current_one_is_absent(older, key):
    assert current_names({older: "true"}) == {key: "true"}
    assert current_names({older: "true", key: "false"}) == {key: "false"}
    with pytest.raises(InvalidOption, match=f"{older}.*older name"):
        TableOptions.parse({older: "true", key: "true"}, creating=True)


def test_an_older_name_is_obeyed():
    for creating in (False, True):
        options = TableOptions.parse({"write.compaction-skip": "true"}, creating=creating)
        assert options["write-only"] is True
        assert options.uses == {"write.compaction-skip": Use.OBEYED}


@pytest.mark.parametrize(
    ("key", "value", "units"),
    [
        ("snapshot.time-retained", "3600000", "'3600000 ms' or '3600000 s'"),
        ("tag.default-time-retained", " 5 ", "'5 ms' or '5 s'"),
        ("target-file-size", "128", "'128 b' or '128 mb'"),
        ("manifest.full-compaction-threshold-size", "16", "'16 b' or '16 mb'"),
        ("page-size", "64", "'64 b' or '64 mb'"),
    ],
)
def test_a_size_or_duration_of_a_new_table_needs_its_unit(key, value, units):
    with pytest.raises(InvalidOption, match=f"{key} = '{value}' is not supported: it must be {units}"):
        TableOptions.parse({key: value}, creating=True)
    TableOptions.parse({key: value}).check_writable("db.t")


def test_a_number_without_unit_of_an_existing_table_is_milliseconds_or_bytes():
    options = TableOptions.parse({"snapshot.time-retained": "3600000", "target-file-size": "128"})
    assert (options["snapshot.time-retained"], options["target-file-size"]) == (3_600_000, 128)
    assert TableOptions.parse({"snapshot.time-retained": "0"}, creating=True)["snapshot.time-retained"] == 0


def test_a_value_for_another_engine_is_ignored():
    actions = {"partition.mark-done-action": "done-partition,success-file", "snapshot.expire.execution-mode": "async"}
    options = TableOptions.parse(actions)
    options.check_writable("db.t")
    assert options.ignored == tuple(sorted(actions))
    with pytest.raises(InvalidOption, match="page-size"):
        TableOptions.parse({"page-size": "big"}, creating=True)


@pytest.mark.parametrize(
    ("text", "hours"),
    [("UTC", 0), ("Z", 0), ("GMT-08:00", -8), ("+05:30", 5.5), ("UTC+8", 8), ("-0300", -3), (" Asia/Tokyo ", 9)],
)
def test_time_zones(text, hours):
    zone = parse_zone(text)
    assert datetime.datetime(2024, 1, 15, tzinfo=zone).utcoffset() == datetime.timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "Mars/Olympus", "+19:00", "../UTC", "+5:99", "GMT 8"])
def test_a_text_that_is_not_a_time_zone_is_refused(text):
    with pytest.raises(InvalidOption, match=r"sink.process-time-zone.*a time zone such as"):
        TableOptions.parse({"sink.process-time-zone": text}, creating=True)


@pytest.mark.parametrize(
    "options",
    [
        {"file-index.lumina.columns": "a"},
        {"file-index.bitmap.columns": "a,,b"},
        {"file-index.bloom-filter.columns": "a", "file-index.bloom-filter.a.items": "none"},
    ],
)
def test_a_file_index_that_cannot_be_built_stops_writes_only(options):
    parsed = TableOptions.parse(options)
    assert set(parsed.uses.values()) == {Use.STOPS_WRITES}
    with pytest.raises(UnsupportedFeature, match="file-index"):
        parsed.check_writable("db.t")
