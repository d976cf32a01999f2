"""Bad requests: scans, filters, positions in time, and maintenance."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

import paimon_core as paimon
from paimon_core.errors import (
    InvalidRequest,
    NotFound,
    SchemaMismatch,
    SnapshotNotFound,
    TableNotFound,
    TagNotFound,
)
from paimon_core.limits import FILTER_COMPARISONS, FILTER_DEPTH
from paimon_core.predicate import col, from_json
from tests.bad_inputs.case import Case, Cases, case
from tests.support.broken_tables import some_rows


def scanned(error: type[Exception], *says: str, table: str = "keyed", **arguments: Any) -> Case:
    return case(lambda lake: lake.table(table).scan(**arguments).to_arrow(), error, *says)


def filtered(
    where: Callable[[], Any], *says: str, error: type[Exception] = SchemaMismatch, table: str = "wide"
) -> Case:
    return case(lambda lake: lake.table(table).scan(where=where()).to_arrow(), error, *says)


def at(error: type[Exception], *says: str, **arguments: Any) -> Case:
    return case(lambda lake: lake.table("keyed").at(**arguments), error, *says)


def nested(levels: int) -> Any:
    joins = (lambda a, b: a & b, lambda a, b: a | b)
    return reduce(lambda made, n: joins[n % 2](made, col("i32") == n), range(levels), col("i32") == 0)


SCANS: dict[str, Case] = {
    "an unknown column": scanned(SchemaMismatch, "no column 'zz'", "k, v", columns=["zz"]),
    "an unknown nested column": scanned(SchemaMismatch, "'r' has no field 'zz'", table="wide", columns=["r.zz"]),
    "a nested column of a number": scanned(SchemaMismatch, "'k' is INT", columns=["k.x"]),
    "a column twice": scanned(InvalidRequest, "'k' twice", columns=["k", "k"]),
    "no columns": scanned(InvalidRequest, "at least one column", columns=[]),
    "columns that are text": scanned(InvalidRequest, "list of names", "'k'", columns="k"),
    "columns that are numbers": scanned(InvalidRequest, "list of names", columns=[1]),
    "a column of 1 MB": scanned(SchemaMismatch, "no column", columns=["z" * 1_000_000]),
    "a negative limit": scanned(InvalidRequest, "limit", "-1", limit=-1),
    "a limit that is text": scanned(InvalidRequest, "limit", "'1'", limit="1"),
    "a limit that is a fraction": scanned(InvalidRequest, "limit", "1.5", limit=1.5),
    "a limit that is a bool": scanned(InvalidRequest, "limit", "True", limit=True),
    "a negative limit of 10,000 digits": scanned(InvalidRequest, "limit", limit=-(10**4000)),
    "a filter with a second statement": scanned(InvalidRequest, "';'", "column 6", where="k = 1; DROP TABLE t"),
    "a filter that is code": scanned(InvalidRequest, "no function __import__", where="__import__('os').system('x')"),
    "a filter that is a bool": scanned(InvalidRequest, "where", where=True),
    "a filter on an unknown column": filtered(lambda: col("zz") == 1, "'zz'", "columns are"),
    "a number compared with a text": filtered(lambda: col("i32") == "x", "'i32'", "INT", "'x'"),
    "a number compared with a bool": filtered(lambda: col("i32") == True, "'i32'", "True"),  # noqa: E712
    "a text compared with a number": filtered(lambda: col("s") == 7, "'s'", "STRING", "7"),
    "a date compared with a word": filtered(lambda: col("day") > "soon", "'day'", "DATE", "soon"),
    "a date compared with 30 February": filtered(lambda: col("day") > "2024-02-30", "'day'", "2024-02-30"),
    "a decimal compared with NaN": filtered(lambda: col("dec") == Decimal("NaN"), "'dec'", "NaN"),
    "a timestamp compared with a zoned time": filtered(
        lambda: col("ts3") == datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), "'ts3'", "zone|UTC|00:00"
    ),
    "an ARRAY compared": filtered(lambda: col("arr") == [1], "'arr'|list", error=InvalidRequest),
    "a column compared with one of another type": filtered(lambda: col("i32") == col("s"), "'i32'", "'s'", "STRING"),
    "a field of a column without fields": filtered(lambda: col("i32", "x") == 1, "i32", "INT", "'x'"),
    "a pattern with a loose escape": filtered(lambda: col("s").like("a\\b"), "escape", error=InvalidRequest),
    "a text with 100,000 comparisons": scanned(
        InvalidRequest, str(FILTER_COMPARISONS), where=" or ".join(f"k > {n}" for n in range(100_000))
    ),
    "a text with 10,000 levels": scanned(
        InvalidRequest, str(FILTER_DEPTH), where="k = 1 and (k = 2 or (" * 5000 + "k = 3" + "))" * 5000
    ),
    "a column compared with None": filtered(lambda: col("i32") == None, "'i32'|None|null", error=InvalidRequest),  # noqa: E711
    "a list with None": filtered(lambda: col("i32").is_in([1, None]), "None|null", error=InvalidRequest),
    "a list that is a text": filtered(lambda: col("s").is_in("abc"), "is_in|list", error=InvalidRequest),
    "a prefix that is a number": filtered(lambda: col("s").startswith(7), "'s'", "7", error=InvalidRequest),
    "a prefix of a number": filtered(lambda: col("i32").startswith("x"), "'i32'", "INT", error=InvalidRequest),
    "a column name that is a number": filtered(lambda: col(7) == 1, "str", error=InvalidRequest),
    "and between comparisons": filtered(
        lambda: (col("i32") > 1) and (col("i32") < 9), "no truth value", error=InvalidRequest
    ),
    "a chained comparison": filtered(lambda: 1 < col("i32") < 9, "no truth value", error=InvalidRequest),
    "a predicate joined with a bool": filtered(
        lambda: (col("i32") > 1) & True, "join predicates", "bool", error=InvalidRequest
    ),
    "a literal of 1 MB": filtered(lambda: col("i32") == "x" * 1_000_000, "'i32'", "INT"),
    "a literal of a surrogate": filtered(lambda: col("s") == "\ud800", "'?s'?", error=InvalidRequest),
    "an object as a literal": filtered(lambda: col("i32") == object(), "object", error=InvalidRequest),
    "100,000 comparisons": filtered(
        lambda: reduce(lambda a, b: a | b, [col("i32") > n for n in range(FILTER_COMPARISONS + 1)]),
        str(FILTER_COMPARISONS),
        "comparisons",
        error=InvalidRequest,
    ),
    "40 levels of a filter": filtered(
        lambda: nested(FILTER_DEPTH + 5), str(FILTER_DEPTH), "levels", error=InvalidRequest
    ),
    "JSON that is no filter": case(
        lambda lake: from_json({"op": "eval", "column": "k", "values": []}), InvalidRequest, "not a predicate"
    ),
    "JSON of a filter with more members": case(
        lambda lake: from_json({"op": "==", "column": "k", "values": [1], "x": 1}), InvalidRequest, "not a predicate"
    ),
    "JSON of a deep filter": case(
        lambda lake: from_json(reduce(lambda inner, _: {"op": "and", "parts": [inner]}, range(100_000), {"op": 1})),
        InvalidRequest,
        "nested too deeply|not a predicate",
    ),
}
POSITIONS: dict[str, Case] = {
    **{f"snapshot {n}": at(SnapshotNotFound, f"{n}", "snapshots 1 to 1", snapshot=n) for n in (2, 10**18, 0, -1)},
    **{f"snapshot {n!r}": at(InvalidRequest, "snapshot", snapshot=n) for n in ("1", True, 1.0)},
    "a time before the first snapshot": at(NotFound, "the earliest is of", time=0),
    "a time that is a word": at(InvalidRequest, "time", "not-a-date", time="not-a-date"),
    "a time that is a fraction": at(InvalidRequest, "time", "1.5", time=1.5),
    "a watermark that is text": at(InvalidRequest, "watermark", watermark="now"),
    "a watermark beyond all": at(SnapshotNotFound, "watermark", watermark=2**62),
    "a version that is none": at(InvalidRequest, "'nosuch'", "not a tag", "tags: monday", version="nosuch"),
    "a version of a watermark": at(NotFound, "watermark at or after 9", version="watermark-9"),
    "a version that is a path": at(InvalidRequest, r"\.\./x", version="../x"),
    "a tag that is a number": at(InvalidRequest, "tag name 5", tag=5),
    "a time before the calendar": at(InvalidRequest, "time 0001-01-01", time=datetime.datetime.min),
    "a version that is a fraction": at(InvalidRequest, "version", "1.5", version=1.5),
    "two positions": at(InvalidRequest, "exactly one", snapshot=1, tag="monday"),
    "no position": at(InvalidRequest, "exactly one"),
    "changes after a missing snapshot": case(
        lambda lake: lake.table("keyed").changes(start=77), paimon.PaimonError, "77"
    ),
    "changes of the wrong order": case(
        lambda lake: lake.table("keyed").changes(start=1, end=0), InvalidRequest, "start", "end"
    ),
    "changes after a word": case(lambda lake: lake.table("keyed").changes(start="x"), InvalidRequest, "start", "'x'"),
    "changes in an unknown way": case(
        lambda lake: lake.table("keyed").changes(way="fast"), InvalidRequest, "way", "fast"
    ),
    "a changelog that no producer writes": case(
        lambda lake: lake.table("append").changes(way="changelog"), InvalidRequest, "no changelog"
    ),
    "a rollback to nothing": case(lambda lake: lake.table("keyed").rollback(), InvalidRequest, "exactly one"),
    "a rollback to a missing snapshot": case(
        lambda lake: lake.table("keyed").rollback(snapshot=9), SnapshotNotFound, "9"
    ),
    "a rollback to a missing tag": case(
        lambda lake: lake.table("keyed").rollback(tag="no"), TagNotFound, "'no'", "tags: monday"
    ),
    "a rollback to a time before": case(
        lambda lake: lake.table("keyed").rollback(time=1), SnapshotNotFound, "earliest"
    ),
    "a table that was dropped": case(lambda lake: lake.table("gone"), TableNotFound, "gone"),
}
MAINTENANCE: dict[str, Case] = {
    "to keep 0 snapshots": case(
        lambda lake: lake.table("keyed").expire_snapshots(keep_last=0), InvalidRequest, "keep_last", "0"
    ),
    "to keep -1 snapshots": case(
        lambda lake: lake.table("keyed").expire_snapshots(keep_max=-1), InvalidRequest, "keep_max", "-1"
    ),
    "to keep more than the most": case(
        lambda lake: lake.table("keyed").expire_snapshots(keep_last=5, keep_max=2), InvalidRequest, "5", "2"
    ),
    "an age that is a number": case(
        lambda lake: lake.table("keyed").expire_snapshots(older_than=7), InvalidRequest, "older_than", "timedelta", "7"
    ),
    "a negative age": case(
        lambda lake: lake.table("keyed").expire_snapshots(older_than=-datetime.timedelta(1)), InvalidRequest, "negative"
    ),
    "a limit that is text": case(
        lambda lake: lake.table("keyed").expire_snapshots(limit="x"), InvalidRequest, "limit", "'x'"
    ),
    "a tag kept for no time": case(
        lambda lake: lake.table("keyed").tags.create("x", keep_for=datetime.timedelta()),
        InvalidRequest,
        "keep_for",
        "positive",
    ),
    "a tag kept for a number": case(
        lambda lake: lake.table("keyed").tags.create("x", keep_for=7), InvalidRequest, "keep_for", "7"
    ),
    "a tag of two positions": case(
        lambda lake: lake.table("keyed").tags.create("x", 1, time=5), InvalidRequest, "at most one"
    ),
    "a tag of a snapshot that is text": case(
        lambda lake: lake.table("keyed").tags.create("x", "1"), InvalidRequest, "snapshot", "'1'"
    ),
    "a tag to replace that is missing": case(lambda lake: lake.table("keyed").tags.replace("no"), TagNotFound, "'no'"),
    "a tag of a table without snapshots": case(
        lambda lake: lake.table("wide").tags.create("x"), SnapshotNotFound, "no snapshot"
    ),
    "a consumer at snapshot 0": case(
        lambda lake: lake.table("keyed").maintenance.reset_consumer("c", 0), InvalidRequest, "0 is not a snapshot id"
    ),
    "a consumer at a fraction": case(
        lambda lake: lake.table("keyed").maintenance.reset_consumer("c", 1.5), InvalidRequest, "1.5"
    ),
    "a consumer to delete that is missing": case(
        lambda lake: lake.table("keyed").maintenance.reset_consumer("no"), NotFound, "'no'"
    ),
    "no partitions to mark": case(
        lambda lake: lake.table("days").maintenance.mark_done(), InvalidRequest, "partitions"
    ),
    "a partition to mark of another column": case(
        lambda lake: lake.table("days").maintenance.mark_done({"k": 1}), InvalidRequest, "day"
    ),
    "a partition to mark without files": case(
        lambda lake: lake.table("days").maintenance.mark_done({"day": "2030-01-01"}),
        paimon.PaimonError,
        "2030-01-01|partition|mark",
    ),
    "a mode of removal that is unknown": case(
        lambda lake: lake.table("keyed").maintenance.plan_orphan_removal(mode="burn"),
        InvalidRequest,
        "'burn'",
        "quarantine",
    ),
    "a quarantine that is missing": case(
        lambda lake: lake.table("keyed").maintenance.undo("nosuch"), NotFound, "nosuch"
    ),
    "a quarantine that is a path": case(
        lambda lake: lake.table("keyed").maintenance.undo("../../x"), paimon.PaimonError, r"\.\./\.\./x"
    ),
    "a strategy of expiry that is unknown": case(
        lambda lake: lake.table("days").maintenance.plan_partition_expiry(
            older_than=datetime.timedelta(1), strategy="random"
        ),
        InvalidRequest,
        "'random'",
    ),
    "a partition expiry without an age": case(
        lambda lake: lake.table("days").maintenance.plan_partition_expiry(), InvalidRequest, "partition.expiration-time"
    ),
    "a plan that is none": case(
        lambda lake: lake.table("keyed").maintenance.apply("x"), InvalidRequest, "apply takes a plan"
    ),
    "a compaction by a value column": case(
        lambda lake: lake.table("days").compact(where=col("v") == "a"), InvalidRequest, "'v'", "day"
    ),
    "statistics of an unknown column": case(lambda lake: lake.table("keyed").analyze(["zz"]), SchemaMismatch, "'zz'"),
    "an idle time that is a text": case(
        lambda lake: lake.table("days").compact(partition_idle_time="1 d"), InvalidRequest, "partition_idle_time", "1 d"
    ),
    "a compaction that is a number": case(
        lambda lake: lake.table("keyed").run_compaction(5), InvalidRequest, "run_compaction", "5"
    ),
    "a split that is a number": case(lambda lake: lake.table("keyed").scan().read(5), InvalidRequest, "split", "5"),
    "a change that is None": case(lambda lake: lake.table("keyed").alter(None), InvalidRequest, "None"),
    "columns to analyze that are a text": case(lambda lake: lake.table("keyed").analyze("k"), SchemaMismatch, "'k'"),
    "a callback that is none": case(
        lambda lake: lake.table("keyed").with_callbacks(7), InvalidRequest, "callback", "7"
    ),
    "an update of a key": case(lambda lake: lake.table("keyed").update(col("k") == 1, {"k": 2}), InvalidRequest, "'k'"),
    "an update of no column": case(
        lambda lake: lake.table("keyed").update(col("k") == 1, {"zz": 2}), InvalidRequest, "'zz'"
    ),
    "a delete by half a text": case(
        lambda lake: lake.table("keyed").delete("k = 1 or"), InvalidRequest, "the end of the text"
    ),
}


HUGE = 10**5000
"""Python refuses to write a number of more than 4,300 digits."""
DIGITS = "9" * 5000
BITS = "64 bits, not a number of thousands of digits"
LONG_NUMBERS: dict[str, Case] = {
    **{f"a {name} of 5,000 digits": at(InvalidRequest, name, BITS, **{name: HUGE}) for name in ("snapshot", "version")},
    "a negative snapshot of 5,000 digits": at(InvalidRequest, "snapshot", BITS, snapshot=-HUGE),
    "a snapshot of 65 bits": at(InvalidRequest, "snapshot must be .* 64 bits, not 9223372036854775808", snapshot=2**63),
    "a watermark of 5,000 digits": at(InvalidRequest, "watermark", BITS, watermark=HUGE),
    "a time of 5,000 digits": at(InvalidRequest, "time", BITS, time=HUGE),
    "a version of a text of 5,000 digits": at(InvalidRequest, "version '9999", "not a tag", version=DIGITS),
    "a watermark in a version of 5,000 digits": at(InvalidRequest, "not a tag", version=f"watermark-{DIGITS}"),
    "changes after a snapshot of 5,000 digits": case(
        lambda lake: lake.table("keyed").changes(start=HUGE), InvalidRequest, "snapshot id", BITS
    ),
    "changes before a snapshot of 5,000 digits": case(
        lambda lake: lake.table("keyed").changes(end=-HUGE), InvalidRequest, "end must be", "thousands of digits"
    ),
    "incremental changes of 5,000 digits": case(
        lambda lake: lake.table("keyed").with_options({"incremental-between": f"1,{DIGITS}"}).scan(),
        InvalidRequest,
        "neither two tags nor two snapshot ids",
    ),
    "a stream from a snapshot of 5,000 digits": case(
        lambda lake: lake.table("keyed").stream(HUGE), InvalidRequest, "start", BITS
    ),
    "a tag of a snapshot of 5,000 digits": case(
        lambda lake: lake.table("keyed").tags.create("x", HUGE), InvalidRequest, "snapshot", BITS
    ),
    "a tag of a watermark of 5,000 digits": case(
        lambda lake: lake.table("keyed").tags.create("x", watermark=HUGE), InvalidRequest, "watermark", BITS
    ),
    "a rollback to a snapshot of 5,000 digits": case(
        lambda lake: lake.table("keyed").rollback(snapshot=HUGE), InvalidRequest, "snapshot", BITS
    ),
    "a rollback to a watermark of 5,000 digits": case(
        lambda lake: lake.table("keyed").rollback(watermark=HUGE), InvalidRequest, "watermark", BITS
    ),
    "a filter of 5,000 digits": scanned(InvalidRequest, "has thousands of digits", where=f"k = {DIGITS}"),
    "a negative limit of 5,000 digits": scanned(InvalidRequest, "limit", "thousands of digits", limit=-HUGE),
    "a literal of 5,000 digits": filtered(lambda: col("i32") == HUGE, "'i32'", "thousands of digits"),
    "a text compared with 5,000 digits": filtered(lambda: col("s") == HUGE, "'s'", "thousands of digits"),
    "an option of 5,000 digits": case(
        lambda lake: lake.table("keyed").with_options({"scan.snapshot-id": HUGE}),
        InvalidRequest,
        "scan.snapshot-id",
        "thousands of digits",
    ),
    "-5,000 digits of snapshots to keep": case(
        lambda lake: lake.table("keyed").expire_snapshots(keep_last=-HUGE), InvalidRequest, "thousands of digits"
    ),
    "5,000 digits of snapshots to keep": case(
        lambda lake: lake.table("keyed").expire_snapshots(keep_last=HUGE, keep_max=1), InvalidRequest, "less than"
    ),
    "a number of buckets of 5,000 digits": case(
        lambda lake: lake.table("keyed").rescale(HUGE), InvalidRequest, "buckets", "thousands of digits"
    ),
    "an identifier of 5,000 digits": case(
        lambda lake: lake.table("keyed").committed("u", HUGE), InvalidRequest, "identifier", "thousands of digits"
    ),
    "a watermark to write of 5,000 digits": case(
        lambda lake: lake.table("append").write(some_rows([1]), watermark=HUGE), InvalidRequest, "watermark"
    ),
}
CASES: Cases = {**SCANS, **POSITIONS, **MAINTENANCE, **LONG_NUMBERS}
