"""Compact and tag: what a reader sees stays, and nothing is done twice."""

from __future__ import annotations

from datetime import date, datetime
from urllib.parse import unquote

import pyarrow as pa
import pytest

from paimon_core.table.table import Table
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.upkeep.maintenance import compact, tag
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


@pytest.mark.parametrize(
    ("kind", "value", "texts"),
    [
        ("DATE", date(2024, 1, 2), ["2024-01-02", "19724"]),
        ("INT", 7, ["7"]),
        ("TIMESTAMP(3)", datetime(2024, 1, 2, 5), ["2024-01-02T05:00", "2024-01-02 05:00:00"]),
        ("STRING", "7", ["7"]),
    ],
)
def test_partitions_are_named_by_their_value_or_their_directory(
    dry_lake: SmallLake, kind: str, value: object, texts: list[str]
) -> None:
    dry_lake.declare(NAME, f"columns: {{p: {kind}, id: BIGINT}}\npartition_by: p\nnatural_key: id")
    table = dry_lake.create(NAME)
    table.write([{"p": value, "id": 1}])
    table.write([{"p": value, "id": 2}, {"p": None, "id": 3}])
    named = min(table.inspect.partitions()["partition"].to_pylist())
    for text in (*texts, unquote(named.removeprefix("p="))):
        planned = compact(dry_lake.spark, dry_lake.settings, NAME, full=True, partitions=[text], dry_run=True)
        assert planned.details["input_files"] == 2


def test_a_text_that_is_no_value_of_the_partition_column_is_refused(dry_lake: SmallLake) -> None:
    dry_lake.declare(NAME, "columns: {p: DATE, id: BIGINT}\npartition_by: p\nnatural_key: id")
    dry_lake.create(NAME)
    with pytest.raises(PipelineError, match=r"'monday' is no value of the partition column 'p', a DATE"):
        compact(dry_lake.spark, dry_lake.settings, NAME, partitions=["monday"])
    for digits in ("9" * 12, "9" * 5000):
        with pytest.raises(PipelineError, match=r"'9+'? is no value of the partition column 'p', a DATE"):
            compact(dry_lake.spark, dry_lake.settings, NAME, partitions=[digits])


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


def test_a_compaction_clusters_an_append_table_that_declares_it(lake: SmallLake) -> None:
    clustered = 'clustering.incremental: "true", clustering.columns: "id"'
    options = f'options: {{{clustered}, num-sorted-run.compaction-trigger: "2"}}'
    lake.declare(NAME, f"columns: {{month: STRING, id: BIGINT}}\npartition_by: month\nnatural_key: id\n{options}")
    table = lake.create(NAME)
    for ids in ([5, 1, 3], [4, 2, 0]):
        table.write(pa.table({"month": ["2024-01"] * 3, "id": ids}))
    done = compact(lake.spark, lake.settings, NAME)
    assert {level: size.files for level, size in done.levels_after.items()} == {2: 1}
    assert table.scan().to_arrow()["id"].to_pylist() == list(range(6))
    assert compact(lake.spark, lake.settings, NAME).note == "nothing to merge"
