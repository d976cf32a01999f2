"""Compact and tag: what a reader sees stays, and nothing is done twice."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from paimon_core.table.table import Table
from pipelines.maintenance import compact, tag
from pipelines.protocol import PipelineError
from tests.support.lakes import SmallLake

NAME = "shop.days"
DAYS = """
columns: {month: STRING, id: BIGINT, text: STRING}
primary_key: [month, id]
partition_by: [month]
options: {bucket: "2", write-only: "true", num-sorted-run.compaction-trigger: "2"}
"""


def filled(lake: SmallLake) -> Table:
    """Three commits to both buckets of two months."""
    lake.declare(NAME, DAYS)
    table = lake.create(NAME)
    for text in ("a", "b", "c"):
        months = ["2024-01"] * 10 + ["2024-02"] * 10
        table.write(pa.table({"month": months, "id": list(range(20)), "text": [text] * 20}))
    return table


def test_a_compaction_keeps_what_a_reader_sees(lake: SmallLake) -> None:
    filled(lake)
    before = lake.rows(NAME)
    part = compact(lake.spark, lake.settings, NAME, full=True, partitions=["2024-01"])
    assert {level: size.files for level, size in part.levels_before.items()} == {0: 12}
    assert part.levels_after[0].files == 6
    done = compact(lake.spark, lake.settings, NAME, properties={"dagster.run-id": "r1"})
    assert 0 not in done.levels_after
    assert (done.files, done.row_count, done.commits) == (4, 20, (5,))
    assert lake.rows(NAME) == before
    properties = dict(lake.table(NAME).inspect.snapshots()["properties"].to_pylist()[-1])
    assert (properties["pipeline.step"], properties["dagster.run-id"]) == ("compact", "r1")
    nothing = compact(SmallLake(lake.folder).spark, lake.settings, NAME)
    assert (nothing.commits, nothing.note) == ((), "nothing to merge")


def test_a_dry_run_starts_no_spark_and_tells_what_it_would_merge(dry_lake: SmallLake) -> None:
    filled(dry_lake)
    planned = compact(dry_lake.spark, dry_lake.settings, NAME, full=True, partitions=["2024-01"], dry_run=True)
    assert (planned.commits, planned.details["buckets"], planned.details["input_files"]) == ((), 2, 6)
    assert planned.note == "would merge 6 files of 2 buckets"


@pytest.mark.parametrize(("kind", "value", "text"), [("INT", 7, "7"), ("DATE", date(2024, 1, 1), "2024-01-01")])
def test_a_partition_of_a_number_or_a_date_is_named_by_its_text(
    dry_lake: SmallLake, kind: str, value: object, text: str
) -> None:
    dry_lake.declare(NAME, f"columns: {{part: {kind}, id: BIGINT}}\nprimary_key: [part, id]\npartition_by: part\n")
    table = dry_lake.create(NAME)
    for _ in range(2):
        table.write([{"part": value, "id": 1}])
    planned = compact(dry_lake.spark, dry_lake.settings, NAME, full=True, partitions=[text], dry_run=True)
    assert planned.details["input_files"] == 2
    with pytest.raises(PipelineError, match=f"shop.days: partition 'x' is no value of its column 'part', a {kind}"):
        compact(dry_lake.spark, dry_lake.settings, NAME, partitions=["x"], dry_run=True)


def test_partitions_of_a_table_without_any_are_refused(dry_lake: SmallLake) -> None:
    dry_lake.declare(NAME, DAYS.replace("partition_by: [month]\n", ""))
    dry_lake.create(NAME)
    with pytest.raises(PipelineError, match=r"shop.days has no partitions"):
        compact(dry_lake.spark, dry_lake.settings, NAME, partitions=["2024-01"])


def test_a_tag_is_created_once(dry_lake: SmallLake) -> None:
    dry_lake.declare(NAME, DAYS)
    dry_lake.create(NAME)
    assert tag(dry_lake.settings, NAME, "eod").note == "no snapshot to tag"
    table = filled(dry_lake)
    assert tag(dry_lake.settings, NAME, "eod").details == {"tag": "eod", "tagged_snapshot": 3}
    table.write(pa.table({"month": ["2024-01"], "id": [1], "text": ["d"]}))
    again = tag(dry_lake.settings, NAME, "eod")
    assert (again.details["tagged_snapshot"], again.note) == (3, "eod exists already, on snapshot 3")
