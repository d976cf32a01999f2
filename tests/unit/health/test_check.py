"""Ways to make a table ill, each by doing it: health names it, and its mend ends it; a healthy table has no finding."""

from __future__ import annotations

import datetime
import json
import os
import random
import shlex
import time
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.cli.main import main
from paimon_core.health.check import RULES
from paimon_core.health.finding import FINDINGS
from paimon_core.health.thresholds import Thresholds
from paimon_core.metadata import clock
from paimon_core.table.upkeep.mends import MENDS

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.int32()), ("text", pa.string())])
DAY_MILLIS = 86_400_000


@pytest.fixture
def catalog(warehouse):
    made = paimon.open_catalog(warehouse)
    made.create_database("db")
    return made


def rows(first, count, day=1, width=5):
    ids = range(first, first + count)
    return pa.table({"id": ids, "day": [day] * count, "text": [f"{n:0{width}}" for n in ids]}, schema=SCHEMA)


def keyed(catalog, **options):
    options = {"bucket": "2", "write-only": "true"} | {name.replace("_", "-"): v for name, v in options.items()}
    return catalog.create_table("db.t", SCHEMA, primary_key=["id"], options=options)


def names(table, thresholds=None):
    return [finding.name for finding in table.refresh().health(thresholds).findings]


def mended(table, name, thresholds=None, by="id"):
    """Mend a finding and check that no row changed and that the finding has gone."""
    before = table.scan().to_arrow().sort_by(by)
    (finding,) = (f for f in table.health(thresholds).findings if f.name == name)
    table.mend(finding)
    table = table.refresh()
    assert name not in names(table, thresholds)
    assert table.scan().to_arrow().sort_by(by) == before
    return finding


@pytest.fixture
def later(monkeypatch):
    """Return a function that moves the clock forward by days."""

    def moved(days):
        monkeypatch.setattr(clock, "now_millis", lambda now=None: now or time.time_ns() // 10**6 + days * DAY_MILLIS)

    return moved


def test_a_healthy_table_has_no_finding(catalog):
    table = keyed(catalog, write_only="false")
    for start in range(0, 40, 10):
        table.write(rows(start, 10))
    table.compact(full=True)
    table.tags.create("a")
    health = table.refresh().health()
    assert health.findings == ()
    assert 75 <= health.score <= 100
    assert health.text().endswith("needed, no findings")


def test_a_table_without_rows_has_no_finding(catalog):
    health = keyed(catalog).health()
    assert (health.findings, health.score, health.snapshot, health.measures["files"]) == ((), 100, None, 0)


def test_many_small_commits(catalog):
    table = keyed(catalog)
    for n in range(24):
        table.write(rows(n, 1))
    few = Thresholds(avoidable_files=20)
    health = table.health(few)
    found = [(f.name, f.severity) for f in health.findings]
    assert found == [("many-sorted-runs", "error"), ("small-files", "warning"), ("conflicting-options", "warning")]
    assert health.measures["most_sorted_runs"] >= 12
    assert health.measures["scan_requests"] == 8 + health.measures["manifests"] + 24
    mended(table, "many-sorted-runs", few)
    assert table.refresh().health(few).score > health.score + 20


def test_small_files_of_an_append_table(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    for n in range(12):
        table.write(rows(n, 1))
    assert names(table) == []
    few = Thresholds(avoidable_files=10)
    assert names(table, few) == ["small-files"]
    mended(table, "small-files", few)


def test_more_small_files_than_one_compaction_packs_into_one(catalog):
    options = {"write-only": "true", "source.split.open-file-cost": "128 mb"}  # four files are one task of a compaction
    table = catalog.create_table("db.t", SCHEMA, options=options)
    for n in range(20):
        table.write(rows(n, 1))
    mended(table, "small-files", Thresholds(avoidable_files=2))
    assert table.refresh().health().measures["files"] == 1


def test_a_full_compaction_on_the_command_line_packs_all_small_files(catalog, warehouse):
    options = {"write-only": "true", "source.split.open-file-cost": "128 mb"}  # four files are one task of a compaction
    table = catalog.create_table("db.t", SCHEMA, options=options)
    for n in range(20):
        table.write(rows(n, 1))
    assert main(["compact", "db.t", "--full", "--warehouse", str(warehouse)]) == 0
    assert table.refresh().health().measures["files"] == 1


def test_a_hot_bucket(catalog):
    table = keyed(catalog, bucket="4", write_only="false")
    table.write(pa.table({"id": [7], "day": [1], "text": [os.urandom(6000).hex()]}, schema=SCHEMA))
    table.write(rows(100, 20))
    limits = Thresholds(hot_bucket_bytes=4_000)
    (finding,) = table.health(limits).findings
    assert finding.name == "hot-bucket"
    assert "times the mean of the other 3 buckets, because few values of (id)" in finding.text
    assert (finding.arguments, finding.safe) == ({"buckets": 9}, False)
    table.mend(finding)
    assert table.refresh().options["bucket"] == 9
    assert table.refresh().scan().count() == 21


def test_too_many_and_too_few_buckets(catalog):
    table = keyed(catalog, bucket="30", write_only="false")
    table.write(rows(0, 2000))
    assert names(table) == ["too-many-buckets"]
    finding = mended(table, "too-many-buckets")
    assert finding.yaml == "options:\n  bucket: 1"
    table = catalog.table("db.t")
    small = Thresholds(bucket_bytes_most=1_000)
    (finding,) = table.health(small).findings
    assert (finding.name, finding.arguments) == ("too-few-buckets", {"buckets": 2})
    table.mend(finding)
    assert table.refresh().inspect.buckets().num_rows == 2


def test_many_small_partitions(catalog):
    table = catalog.create_table("db.t", SCHEMA, partition_by=["day"])
    table.write(pa.table({"id": range(600), "day": range(600), "text": ["x"] * 600}, schema=SCHEMA))
    (finding,) = table.health().findings
    assert (finding.name, finding.measure) == ("small-partitions", 600)
    with pytest.raises(paimon.InvalidRequest, match=r"small-partitions of table db\.t has no mend that runs by itself"):
        table.mend(finding)


def test_snapshots_that_never_expire(catalog):
    table = keyed(catalog, write_only="false")
    for n in range(12):
        table.write(rows(n, 1))
    limits = Thresholds(snapshots=10)
    assert names(table, limits) == ["no-expiry"]
    finding = mended(table, "no-expiry", limits)
    assert finding.arguments == {"keep_max": table.inspect.snapshots().num_rows} == {"keep_max": 5}


def test_old_versions_that_hold_many_bytes(catalog):
    table = keyed(catalog, write_only="false")
    for n in range(8):
        table.write(rows(n, 1000))
        table.compact(full=True)
    large = Thresholds(held_bytes=100, held_ratio=0.5)
    table.maintenance.reset_consumer("slow", 3)
    finding = next(f for f in table.health(large).findings)
    assert "; consumer slow keeps snapshots from 3 on" in finding.text
    table.maintenance.reset_consumer("slow")
    before = sum(f.stat().st_size for f in paths(table))
    finding = mended(table, "no-expiry", large)
    keep = str(finding.arguments["keep_max"])
    assert finding.options == {"snapshot.num-retained.min": keep, "snapshot.num-retained.max": keep}, (
        "10 is the default"
    )
    freed = before - sum(f.stat().st_size for f in paths(table))
    assert f"deletes at most {freed:,} bytes" in finding.mend_cost


def test_changelogs_that_outlive_their_snapshots_hold_bytes(catalog):
    for name, key, options in (
        ("input", ["id"], {"bucket": "1", "changelog-producer": "input"}),
        ("append", [], {}),
    ):
        keep = {"changelog.num-retained.min": "100", "changelog.num-retained.max": "100", "write-only": "true"}
        table = catalog.create_table(f"db.{name}", SCHEMA, primary_key=key, options=options | keep)
        for n in range(4):
            table.write(rows(n * 10, 10))
        table.compact(full=True)
        table.expire_snapshots(keep_last=1, keep_max=1, limit=100)
        measures = table.health().measures
        files = [f for f in Path(table.location).rglob("*.parquet") if f.name.startswith(("data-", "changelog-"))]
        held = sum(measures[f"{kind}_bytes"] for kind in ("live", "snapshot", "changelog", "tag", "branch"))
        assert (held, measures["changelogs"]) == (sum(f.stat().st_size for f in files), 4)
        assert measures["changelog_bytes"] > 0


def test_tags_that_never_expire(catalog, later):
    table = keyed(catalog, write_only="false")
    for n in range(6):
        table.write(rows(n, 1))
        table.tags.create(f"t{n}")
    table.tags.create("kept", keep_for=datetime.timedelta(days=1000))
    assert names(table) == []
    few = Thresholds(tags=4)
    assert names(table, few) == ["stale-tags"]
    finding = mended(table, "stale-tags", few)
    assert (finding.measure, finding.arguments["tags"]) == (6, ["t0", "t1", "t2"])
    assert len(table.tags.list()) == 4
    table.compact(full=True)
    table.expire_snapshots(keep_last=1, keep_max=1, limit=1000)
    later(100)
    assert names(table) == [], "the tag kept has the same files, so that a deletion of the others frees nothing"
    table.tags.delete("kept")
    before = sum(f.stat().st_size for f in paths(table))
    finding = mended(table, "stale-tags")
    assert finding.arguments == {"tags": ["t3", "t4", "t5"]}
    assert finding.cost_bytes == before - sum(f.stat().st_size for f in paths(table)) > 0


def test_a_forgotten_branch(catalog, later):
    table = keyed(catalog, write_only="false")
    table.write(rows(0, 10))
    table.tags.create("start")
    table.branches.create("b", tag="start")
    table.branch("b").write(rows(10, 10))
    later(20)
    assert names(table) == []
    later(40)
    assert names(table) == ["forgotten-branch"]
    finding = mended(table, "forgotten-branch")
    assert finding.cost_bytes > 0
    assert "branch b for 40.0 days" in finding.text


def test_deletes_that_no_compaction_removed(catalog):
    table = keyed(catalog)
    table.write(rows(0, 3000))
    table.delete(col("id") < 2000)
    assert names(table) == ["kept-deletes"]
    finding = mended(table, "kept-deletes")
    assert finding.measure == 0.4
    assert table.health().measures["deleted_rows"] == 0


def test_deleted_rows_of_deletion_vectors_count(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"deletion-vectors.enabled": "true", "write-only": "true"})
    table.write(rows(0, 3000))
    table.delete(col("id") < 2000)
    health = table.health()
    assert (health.measures["deleted_rows"], [f.name for f in health.findings]) == (2000, ["kept-deletes"])
    mended(table, "kept-deletes")


def test_level_0_that_no_compaction_merges(catalog, later):
    table = keyed(catalog)
    table.write(rows(0, 10))
    table.write(rows(0, 10))
    assert names(table) == []
    later(2)
    finding = mended(table, "old-level-0")
    assert (finding.severity, round(finding.measure)) == ("warning", 48)


def test_rows_that_batch_reads_do_not_see_are_an_error(catalog, later):
    table = keyed(catalog, **{"merge-engine": "first-row"})
    table.write(rows(0, 10))
    table.write(rows(10, 10))
    later(2)
    (finding,) = table.health().findings
    assert (finding.severity, "do not see their rows" in finding.text) == ("error", True)


def test_many_manifests(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"manifest.merge-min-count": "1000", "write-only": "true"})
    for n in range(12):
        table.write(rows(n, 1))
    limits = Thresholds(manifests=10)
    assert names(table, limits) == ["many-manifests"]
    mended(table, "many-manifests", limits)


def test_a_reader_that_died(catalog, later):
    table = keyed(catalog, write_only="false", **{"consumer.expiration-time": "365 d"})
    for n in range(5):
        table.write(rows(n, 1))
    table.maintenance.reset_consumer("reader", 2)
    assert names(table) == []
    later(8)
    table.maintenance.reset_consumer("waiting", 6)
    finding = mended(table, "dead-consumer")
    assert [c.name for c in table.maintenance.consumers()] == ["waiting"], "it has read everything"
    table.maintenance.reset_consumer("waiting")
    assert "no snapshot from 2 on can expire" in finding.text
    assert table.maintenance.consumers() == []


def test_indexes(catalog):
    table = keyed(catalog, write_only="false", **{"file-index.bloom-filter.columns": "id,text"})
    table.write(rows(0, 10))
    (finding,) = table.health().findings
    assert finding.name == "useless-index"
    assert finding.arguments == {"changes": ["SET ('file-index.bloom-filter.columns' = 'text')"]}
    mended(table, "useless-index")
    table = catalog.table("db.t").alter(
        "SET ('file-index.bitmap.columns' = 'day')", "RESET ('file-index.bloom-filter.columns')"
    )
    assert names(table) == []
    plain = catalog.create_table("db.plain", SCHEMA)
    plain.write(rows(0, 10))
    plain = plain.alter("SET ('file-index.bitmap.columns' = 'day')")
    assert names(plain) == ["missing-indexes"]
    mended(plain, "missing-indexes")


def test_options_that_fight_each_other(catalog):
    table = keyed(
        catalog,
        write_only="false",
        **{"target-file-size": "1 mb", "full-compaction.delta-commits": "1", "tag.automatic-creation": "process-time"},
    )
    table.write(rows(0, 10))
    (finding,) = table.health().findings
    assert (finding.name, finding.measure) == ("conflicting-options", 3)
    mended(table, "conflicting-options")


def test_each_finding_has_a_mend_or_needs_a_person():
    assert set(FINDINGS) - set(MENDS) == {"small-partitions"}
    assert len(RULES) == len(FINDINGS)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"snapshot": 3}, "there is no threshold 'snapshot'; there are avoidable_files"),
        ({"snapshots": -1}, "the threshold snapshots must be a whole number of 0 or more, not -1"),
        ({"snapshots": 1.5}, "the threshold snapshots must be a whole number"),
        ({"snapshots": True}, "the threshold snapshots must be a whole number"),
        ({"tag_days": float("nan")}, "the threshold tag_days must be a number of 0 or more, not nan"),
        ({"tag_days": "3"}, "the threshold tag_days must be a number"),
    ],
)
def test_wrong_thresholds_are_refused(values, said):
    with pytest.raises(paimon.InvalidRequest, match=said):
        Thresholds.of(values)


def test_bytes_are_told_by_what_holds_them(catalog):
    table = keyed(catalog, write_only="false")
    sizes = []
    for n in range(3):
        table.write(rows(0, 50 + random.randrange(9)))
        sizes.append(int(table.inspect.files()["file_size_in_bytes"].to_pylist()[-1]))
        if n == 0:
            table.tags.create("first")
    table.compact(full=True)
    everything = {f.name: f.stat().st_size for f in paths(table)}
    measures = table.health().measures
    assert measures["live_bytes"] + measures["snapshot_bytes"] == sum(everything.values())
    assert measures["space_amplification"] == round(sum(everything.values()) / measures["live_bytes"], 3)
    table.expire_snapshots(keep_last=1, keep_max=1, limit=100)
    left = sum(f.stat().st_size for f in paths(table))
    measures = table.health().measures
    assert measures["snapshot_bytes"] == 0
    assert measures["tag_bytes"] == left - measures["live_bytes"] > 0


def paths(table):
    return [path for path in Path(table.location).rglob("data-*") if path.is_file()]


def test_commands_of_a_branch_are_for_the_branch(catalog, later):
    table = keyed(catalog, write_only="false")
    table.write(rows(0, 10))
    table.tags.create("start")
    table.branches.create("b", tag="start")
    branch = table.branch("b")
    branch.write(rows(0, 10))
    later(100)
    (finding,) = (f for f in branch.health(Thresholds(tags=1)).findings if f.name == "stale-tags")
    command = "paimon-core doctor db.t --fix stale-tags --threshold tags=1 --branch b"
    assert finding.command == command, "db.t$branch_b is db.t in a shell"
    assert branch.health().text().startswith("db.t (branch b): ")


def test_commands_are_quoted_for_a_shell(catalog):
    schema = pa.schema([("it's", pa.int64()), ("a b$x`", pa.string()), ("d's", pa.string())])
    options = {"bucket": "1", "file-index.bloom-filter.columns": "it's,a b$x`,d's"}
    table = catalog.create_table("db.odd", schema, primary_key=["it's"], options=options)
    table.write(pa.table([[1], ["a"], ["b"]], schema=schema))
    (finding,) = table.health().findings
    change = "SET ('file-index.bloom-filter.columns' = 'a b$x`,d''s')"
    assert shlex.split(finding.command) == ["paimon-core", "alter", "db.odd", change]
    mended(table, "useless-index", by="it's")


def test_a_new_branch_of_an_old_version_is_not_forgotten(catalog, later):
    table = keyed(catalog, write_only="false")
    table.write(rows(0, 10))
    table.tags.create("start")
    for path in (*Path(table.location).glob("snapshot/snapshot-*"), *Path(table.location).glob("tag/tag-*")):
        plain = json.loads(path.read_text())
        path.write_text(json.dumps(plain | {"timeMillis": plain["timeMillis"] - 60 * DAY_MILLIS}))
    table = catalog.table("db.t")
    table.branches.create("b", tag="start")
    table.branches.create("c", tag="start")
    assert names(table) == []
    later(31)
    (finding,) = table.health().findings
    assert finding.command == " && ".join(f"paimon-core branches delete db.t {name} --apply" for name in "bc")
    assert names(table.with_options({"scan.fallback-branch": "b"}).branch("main")) == ["forgotten-branch"]
    health = table.with_options({"scan.fallback-branch": "b"}).health()
    assert [one.arguments["branches"] for one in health.findings] == [["c"]], "reads need the branch b"


def test_an_old_version_that_cannot_be_read_is_a_finding(catalog):
    table = keyed(catalog, write_only="false")
    for n in range(4):
        table.write(rows(10 * n, 10))
    table.tags.create("bad")
    table.tags.create("good", snapshot=2)
    table.branches.create("b", tag="good")
    place = Path(table.location)
    assert names(table) == []
    held = table.health().measures
    for name in ("snapshot/snapshot-1", "tag/tag-bad", "branch/branch-b/snapshot/snapshot-2"):
        (place / name).write_text("{")
    delta = table.context.snapshots.read(3).delta_manifest_list
    (place / "manifest" / delta).write_bytes(b"no list")
    table = catalog.table("db.t")
    health = table.health()
    (finding,) = health.findings
    assert (finding.name, finding.severity, finding.measure, finding.safe) == ("damaged-snapshot", "error", 4, False)
    assert finding.text.startswith("snapshot 1 cannot be read: ")
    repair = "paimon-core repair db.t --apply"
    assert finding.command == f"{repair} --branch b && {repair}"
    assert {name: health.measures[name] for name in ("live_bytes", "files", "tags", "branches")} == {
        "live_bytes": held["live_bytes"],
        "files": held["files"],
        "tags": 1,
        "branches": 1,
    }
    before = table.scan().to_arrow().sort_by("id")
    table.mend(finding)
    table = catalog.table("db.t")
    assert names(table) == []
    assert table.scan().to_arrow().sort_by("id") == before


def test_a_damaged_latest_version_is_an_error(catalog):
    table = keyed(catalog)
    table.write(rows(0, 10))
    (Path(table.location) / "manifest" / table.latest_snapshot().delta_manifest_list).write_bytes(b"no list")
    with pytest.raises(paimon.CorruptTable, match="manifest-list-"):
        catalog.table("db.t").health()


@pytest.mark.parametrize("schema", [b"{", None])
def test_a_branch_without_a_readable_schema(catalog, schema):
    table = keyed(catalog, write_only="false")
    table.write(rows(0, 10))
    table.tags.create("start")
    table.branches.create("b", tag="start")
    path = Path(table.location) / "branch" / "branch-b" / "schema" / "schema-0"
    path.write_bytes(schema) if schema else path.unlink()
    found = table.health().findings
    assert [f.text.partition(" cannot")[0] for f in found] == (["the schema of branch b"] if schema else [])


def test_a_snapshot_without_its_changelog_can_be_examined(catalog):
    table = keyed(catalog, **{"changelog-producer": "input"})
    table.write(rows(0, 10))
    table.tags.create("start")
    table.write(rows(10, 10))
    table.expire_snapshots(keep_last=1, keep_max=1, limit=10)
    table.branches.create("b", tag="start")
    assert table.health().measures["branches"] == 1
    table.rollback(tag="start")
    assert names(table) == []


def test_level_0_is_old_only_where_a_compaction_is_missing(catalog, later):
    table = keyed(catalog, write_only="false")
    table.write(rows(0, 10))
    table.write(rows(0, 10))
    later(2)
    assert names(table) == [], "two runs are allowed, and writes compact when there are more"
    hidden = catalog.create_table(
        "db.hidden",
        SCHEMA,
        primary_key=["id"],
        options={"bucket": "1", "merge-engine": "first-row", "write-only": "true"},
    )
    hidden.write(rows(0, 10))
    assert hidden.scan().count() == 0
    (finding,) = hidden.health().findings
    assert (finding.name, finding.severity) == ("old-level-0", "error"), "one run, but no read sees it"
    hidden.mend(finding)
    assert (names(hidden), hidden.refresh().scan().count()) == ([], 10)


def test_reads_that_leave_out_level_0_merge_nothing(catalog):
    table = keyed(catalog, bucket="1", **{"deletion-vectors.enabled": "true"})
    for _ in range(7):
        table.write(rows(0, 10))
    (finding,) = (f for f in table.health().findings if f.name == "many-sorted-runs")
    assert "7 sorted runs, more than the 5 that start a compaction: compactions have to merge" in finding.text
    assert finding.cost_bytes == 0


def test_files_that_cannot_have_an_index_do_not_lack_one(catalog):
    table = catalog.create_table("db.old", SCHEMA)
    table.write(rows(0, 10))
    table = table.alter("ADD COLUMN more INT", "SET ('file-index.bitmap.columns' = 'more')")
    assert names(table) == []


def test_indexes_of_dynamic_buckets(catalog):
    table = keyed(catalog, bucket="-1")
    table.write(rows(0, 10))
    table = table.alter("SET ('file-index.bitmap.columns' = 'day')")
    assert names(table) == ["missing-indexes"]
    mended(table, "missing-indexes")


def test_a_reader_that_had_nothing_to_read_is_not_dead(catalog, later):
    table = keyed(catalog, write_only="false")
    table.write(rows(0, 1))
    table.maintenance.reset_consumer("reader", 2)
    later(10)
    table.write(rows(1, 1))
    assert names(table) == []
    later(18)
    assert names(table) == ["dead-consumer"]


def test_automatic_tags_with_a_maximum_are_not_stale(catalog):
    automatic = {"tag.automatic-creation": "process-time", "tag.creation-period": "hourly"}
    table = keyed(catalog, write_only="false", **automatic | {"tag.num-retained-max": "90"})
    table.write(rows(0, 1))
    (made,) = (Path(table.location) / "tag").iterdir()
    for hour in range(24):
        made.with_name(f"tag-2026-01-01 {hour:02}").write_bytes(made.read_bytes())
    assert table.health().measures["tags"] == 25
    assert names(table, Thresholds(tags=5)) == []
    table.tags.create("own")
    (finding,) = table.health(Thresholds(tags=1)).findings
    assert finding.arguments == {"tags": ["own"]}


def test_rows_of_the_postpone_bucket_that_nobody_moves(catalog, later):
    table = keyed(catalog, bucket="-2", write_only="false", **{"postpone.batch-write-fixed-bucket": "false"})
    table.write(rows(0, 10))
    assert names(table) == []
    measures = table.health().measures
    assert (measures["waiting_rows"], measures["live_bytes"], table.scan().count()) == (10, 0, 0)
    later(2)
    (finding,) = table.health().findings
    assert (finding.name, finding.severity, finding.safe) == ("waiting-rows", "error", True)
    table.mend(finding)
    assert (names(table), table.refresh().scan().count()) == ([], 10)


def test_the_buckets_of_a_postponed_table_are_its_own_choice(catalog):
    options = {"postpone.default-bucket-num": "9"}
    table = keyed(catalog, bucket="-2", write_only="false", **options)
    table.write(rows(0, 2000))
    table.compact()
    assert names(table) == [], "a fixed number of buckets would make it another kind of table"


def test_a_branch_without_snapshots(catalog, later):
    table = keyed(catalog, write_only="false")
    table.branches.create("empty")
    assert (names(table), table.health().measures["branches"]) == ([], 1)
    later(31)
    mended(table, "forgotten-branch")
    assert table.branches.list() == []


def test_an_index_file_beside_a_data_file_is_an_index(catalog):
    options = {"file-index.bloom-filter.columns": "text", "file-index.in-manifest-threshold": "1 b"}
    table = catalog.create_table("db.t", SCHEMA, options=options)
    table.write(rows(0, 10))
    assert list(Path(table.location).rglob("*.index"))
    assert names(table) == []


def test_manifests_that_their_entries_need_are_not_many(catalog):
    options = {"manifest.target-file-size": "1 b", "write-only": "true"}
    table = catalog.create_table("db.t", SCHEMA, options=options)
    for n in range(12):
        table.write(rows(n, 1))
    table.maintenance.compact_manifests()
    assert table.health().measures["manifests"] == 12
    assert names(table, Thresholds(manifests=10)) == []
