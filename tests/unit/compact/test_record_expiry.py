import dataclasses
import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.compact.pick import Extent, pick_tasks
from paimon_core.compact.record_expiry import RecordExpiry
from paimon_core.errors import CorruptTable
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.types import STRING, parse_type
from tests.support.fake_tables import fake_file, fake_table, partition

INT = parse_type("INT")
NOW_MILLIS = 1_700_000_000_999
NOW = 1_700_000_000


def expiry(type_text="INT", lifetime="100 s"):
    """Return the rule of a table whose column v has this type, at NOW."""
    context = fake_table(**{"record-level.expire-time": lifetime, "record-level.time-field": "v"})
    rule = RecordExpiry.of(context, NOW_MILLIS)
    field = dataclasses.replace(rule.field, type=parse_type(type_text))
    return dataclasses.replace(rule, field=field)


def kept(type_text, values, **options):
    arrow = parse_type(type_text).to_arrow()
    column = pa.array(values, pa.int64()).cast(arrow)
    left = expiry(type_text, **options)(pa.RecordBatch.from_arrays([column], names=["v"]))
    return left["v"].cast(pa.int64()).to_pylist()


@pytest.mark.parametrize(
    ("type_text", "factor"),
    [
        ("INT", 1),
        ("BIGINT", 1),
        ("BIGINT", 1000),
        ("TIMESTAMP(0)", 1000),
        ("TIMESTAMP(3)", 1000),
        ("TIMESTAMP(6)", 10**6),
        ("TIMESTAMP(9)", 10**9),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", 1000),
    ],
)
def test_a_row_expires_in_whole_seconds(type_text, factor):
    last = (NOW - 100) * factor
    assert kept(type_text, [last + 1, last, last - 1, None, 5]) == [last + 1, last, None]


def test_parts_of_a_second_do_not_count_in_the_lifetime():
    assert kept("INT", [NOW, NOW - 1], lifetime="999 ms") == [NOW]


def test_seconds_and_milliseconds_in_one_column():
    values = [NOW, NOW * 1000, NOW - 101, (NOW - 101) * 1000, 10**12 - 1, 10**12]
    assert kept("BIGINT", values) == [NOW, NOW * 1000, 10**12 - 1]


def test_before_1970_seconds_are_cut_towards_zero():
    assert kept("TIMESTAMP(3)", [-2000, -1001, -1000, -999], lifetime=f"{NOW + 1} s") == [-1001, -1000, -999]
    assert kept("TIMESTAMP(6)", [-1_000_000, -999_999, -999_000], lifetime=f"{NOW} s") == [-999_000]
    assert kept("INT", [-2, -1], lifetime=f"{NOW + 1} s") == [-1]
    assert kept("BIGINT", [-(2**63), 0], lifetime="999999999999999 d") == [-(2**63), 0]


def test_rows_without_the_column_are_passed_on():
    batch = pa.RecordBatch.from_pydict({"k": [1]})
    assert expiry()(batch) is batch


def test_no_option_no_rule():
    assert RecordExpiry.of(fake_table()) is None


def entry(context, least, level=5, columns=("p", "k", "v")):
    values = {"p": "a", "k": 1, "v": least}
    row = encode_row([values[c] for c in columns], [STRING if c == "p" else INT for c in columns])
    file = fake_file(context, level=level)
    stats = ColumnStats(row, row, (0,) * len(columns))
    file = dataclasses.replace(file, value_stats=stats, value_stats_cols=columns if len(columns) < 3 else None)
    return ManifestEntry(FileKind.ADD, partition("a"), 0, 2, file)


@pytest.mark.parametrize("columns", [("p", "k", "v"), ("v",), ("v", "p")])
def test_a_file_may_hold_expired_rows_by_its_minimum(columns):
    rule = expiry()
    assert rule.has_expired_rows(entry(rule.context, NOW - 101, columns=columns).file, "path")
    assert not rule.has_expired_rows(entry(rule.context, NOW - 100, columns=columns).file, "path")
    assert not rule.has_expired_rows(entry(rule.context, None, columns=columns).file, "path")


def test_a_file_without_statistics_counts_as_fresh():
    rule = expiry()
    assert not rule.has_expired_rows(entry(rule.context, NOW - 101, columns=("p", "k")).file, "path")
    assert not rule.has_expired_rows(fake_file(rule.context), "path")


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda f: {"value_stats": dataclasses.replace(f.value_stats, min_values=b"torn")}, "cannot be decoded"),
        (lambda f: {"value_stats_cols": ("p", "k", "w")}, "statistics of 'w', which is not a column"),
    ],
    ids=["torn statistics", "unknown column"],
)
def test_bad_statistics_raise_an_error_that_names_the_path_of_the_file(change, rule):
    context = expiry().context
    bad = entry(context, NOW - 101, columns=("p", "k", "v"))
    bad = dataclasses.replace(bad, file=dataclasses.replace(bad.file, **change(bad.file)))
    path = context.paths.data_file(context.partition_path(bad.partition), bad.bucket, bad.file.file_name)
    with pytest.raises(CorruptTable, match=rule) as caught:
        pick_tasks(context, [bad], Extent.REWRITTEN, now_millis=NOW_MILLIS)
    assert path in str(caught.value)
    assert caught.value.facts["path"] == path


def test_a_full_compaction_of_a_settled_bucket_takes_the_files_with_expired_rows():
    context = expiry().context
    old, fresh = entry(context, NOW - 101), entry(context, NOW - 100)
    (task,) = pick_tasks(context, [old, fresh], Extent.REWRITTEN, now_millis=NOW_MILLIS)
    assert task.unit.files == (old.file,)
    assert task.unit.each_alone
    assert pick_tasks(context, [fresh], Extent.REWRITTEN, now_millis=NOW_MILLIS) == []
    assert pick_tasks(context, [old, fresh], now_millis=NOW_MILLIS) == []


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    schema = pa.schema([("k", pa.int32()), ("t", pa.timestamp("ms")), ("v", pa.string())])
    options = {"bucket": "1", "write-only": "true", "target-file-size": "1 b"}
    options |= {"record-level.expire-time": "1 d", "record-level.time-field": "t"}
    return catalog.create_table("db.t", schema, primary_key=["k"], options=options)


LONG_AGO, LATER = datetime.datetime(2001, 1, 1), datetime.datetime(2999, 1, 1)


def write(table, *rows, **arguments):
    table.write(pa.table([list(c) for c in zip(*rows, strict=True)], schema=table.arrow_schema), **arguments)


def content(table):
    return sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist())


def test_compaction_drops_expired_rows_and_an_older_one_is_visible_again(table):
    write(table, (1, LATER, "kept"), (2, LATER, "hidden"), (3, LONG_AGO, "gone"), (4, None, "timeless"))
    write(table, (2, LONG_AGO, "newer but expired"))
    assert content(table)[1] == (2, LONG_AGO, "newer but expired")
    table.compact(full=True)
    assert content(table) == [(1, LATER, "kept"), (2, LATER, "hidden"), (4, None, "timeless")]


def test_a_bucket_whose_rows_have_all_expired_becomes_empty(table):
    write(table, (1, LONG_AGO, "a"))
    table.compact(full=True)
    assert content(table) == []
    assert not table.compact(full=True)


def test_a_file_with_expired_rows_is_rewritten_instead_of_upgraded(table):
    write(table, (1, LATER, "a"), (2, LONG_AGO, "b"))
    write(table, (3, LATER, "c"))
    before = table.inspect.files()["file_name"].to_pylist()
    table.compact(full=True)
    after = table.inspect.files()
    assert content(table) == [(1, LATER, "a"), (3, LATER, "c")]
    assert len(set(before) & set(after["file_name"].to_pylist())) == 1
    assert after["level"].to_pylist() == [5, 5]
