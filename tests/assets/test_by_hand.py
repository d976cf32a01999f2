"""Jobs that a person starts for one table: their defaults, what they refuse, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from paimon_core.alter import SetOption
from paimon_core.table.table import Table
from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import Settings
from paimon_lake.tables import open_table
from tests.support.declared_lakes import written_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")

KEYED, LOG = "ods.keyed", "ods.log"
TABLES = {
    KEYED: "columns: {id: BIGINT, name: STRING}\nprimary_key: [id]\noptions: {bucket: '2', write-only: 'true'}\n"
    "retention: {keep_snapshots: 1, keep_hours: 0}\n",
    LOG: "columns: {id: BIGINT, name: STRING}\nnatural_key: [id]\n",
}
Run = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return written_lake(tmp_path / "lake", TABLES)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.fixture
def run(settings: Settings, instance: dg.DagsterInstance) -> Run:
    definitions = build_definitions(settings)

    def execute(job: str, **config: Any) -> dg.ExecuteInProcessResult:
        ops = {"ops": {f"{job}_table": {"config": config}}}
        found = definitions.resolve_job_def(job)
        return found.execute_in_process(instance=instance, run_config=ops, raise_on_error=False)

    return execute


@pytest.fixture
def table(settings: Settings) -> Table:
    made = open_table(settings, KEYED, create=True)
    for n in range(3):
        made.write(pa.table({"id": [1, 2], "name": [f"a{n}", f"b{n}"]}))
    return made.refresh()


def told(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    (event,) = result.get_asset_observation_events()
    found = event.asset_observation_data.asset_observation.metadata
    return {name.removeprefix("paimon/"): value.value for name, value in found.items()}


def failure(result: dg.ExecuteInProcessResult) -> str:
    assert not result.success
    (event,) = [e for e in result.all_events if e.is_step_failure]
    assert [e for e in result.all_events if e.is_step_up_for_retry] == []
    return str(event.step_failure_data.error_display_string)


def test_a_rollback_shows_what_would_be_lost_and_only_then_does_it(run: Run, table: Table) -> None:
    planned = told(run("rollback", table=KEYED, snapshot=1))
    assert planned["note"] == "would delete snapshot 3, snapshot 2; dry_run: false does it"
    assert [text.partition(" of ")[0] for text in planned["lost"].split("; ")] == ["snapshot 3", "snapshot 2"]
    assert planned["lost"].endswith(": +2 rows in files")
    assert table.refresh().latest_snapshot().id == 3  # type: ignore[union-attr]
    done = told(run("rollback", table=KEYED, snapshot=1, dry_run=False))
    assert done["note"] == "deleted snapshot 3, snapshot 2"
    assert done["given_up"] == 2
    assert table.refresh().scan().to_arrow()["name"].to_pylist() == ["a0", "b0"]


def test_an_expiry_is_a_dry_run_by_default(run: Run, table: Table) -> None:
    assert (
        told(run("expire", table=KEYED))["note"] == "would delete 2 snapshots and 0 data files; dry_run: false does it"
    )
    assert table.inspect.snapshots().num_rows == 3
    assert told(run("expire", table=KEYED, dry_run=False))["expired_snapshots"] == 2
    assert table.inspect.snapshots().num_rows == 1


def test_tags_and_branches_are_made_and_deleted(run: Run, table: Table) -> None:
    assert told(run("tag", table=KEYED, name="before"))["tagged_snapshot"] == 3
    assert told(run("tag", table=KEYED))["tag"].startswith("20")
    made = told(run("branch", table=KEYED, name="trial"))
    assert made["note"] == "branch trial was created with the rows of tag trial-start"
    assert table.refresh().branch("trial").scan().count() == 2
    assert told(run("branch", table=KEYED, name="other", tag="before"))["tag"] == "before"
    planned = told(run("delete", table=KEYED, branch="trial"))
    assert planned["note"].startswith("would delete branch trial and ")
    assert table.branches.list() == ["other", "trial"]
    assert told(run("delete", table=KEYED, branch="trial", dry_run=False))["note"].startswith(
        "deleted branch trial and"
    )
    assert table.branches.list() == ["other"]
    told(run("delete", table=KEYED, tag="before", dry_run=False))
    assert "before" not in [tag.name for tag in table.tags.list()]


@pytest.mark.parametrize(
    ("job", "config", "why"),
    [
        ("rollback", {}, "give either a snapshot or a tag to roll back to; neither is given"),
        ("rollback", {"snapshot": 1, "tag": "x"}, "snapshot is 1 and tag is 'x'"),
        ("rollback", {"snapshot": 9}, "snapshot 9"),
        ("rollback", {"tag": "missing"}, "missing"),
        ("delete", {}, "give either a tag or a branch to delete; neither is given"),
        ("delete", {"tag": "a", "branch": "b"}, "tag is 'a' and branch is 'b'"),
        ("delete", {"branch": "none"}, "none"),
        ("branch", {"name": "b", "tag": "missing"}, "missing"),
        ("branch", {"name": "main"}, "main"),
        ("rescale", {"buckets": 4}, "buckets is 4, but option bucket is 2"),
        ("sort", {}, "order_by is empty; name the columns to sort by: id, name"),
        ("sort", {"order_by": ["id"]}, KEYED),
        ("reload", {}, "has no source, so it cannot be loaded again"),
    ],
)
def test_wrong_config_is_refused_with_its_value(
    run: Run, table: Table, job: str, config: dict[str, Any], why: str
) -> None:
    assert why in failure(run(job, table=KEYED, **config))
    assert table.refresh().latest_snapshot().id == 3  # type: ignore[union-attr]
    assert table.branches.list() == []


def test_another_table_is_refused_with_the_names_of_the_tables(run: Run) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError, match=r"ods\.other"):
        run("tag", table="ods.other")
    assert "not in the lake" in failure(run("tag", table=LOG))


def test_a_lake_of_one_table_needs_no_config(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    settings = written_lake(tmp_path / "one", {KEYED: TABLES[KEYED]})
    open_table(settings, KEYED, create=True).write(pa.table({"id": [1], "name": ["a"]}))
    result = build_definitions(settings).resolve_job_def("tag").execute_in_process(instance=instance)
    assert result.success
    assert len(open_table(settings, KEYED).tags.list()) == 1


@pytest.mark.long
def test_a_rescale_and_a_sort_keep_the_rows(
    run: Run, table: Table, settings: Settings, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimon_dagster.resources.start_session", lambda _: spark)
    monkeypatch.setattr("paimon_dagster.resources.SparkResource.teardown_after_execution", lambda *_: None)
    assert told(run("rescale", table=KEYED))["note"] == "nothing to rescale"
    table.alter(SetOption("bucket", "4"))
    planned = told(run("rescale", table=KEYED, dry_run=True))
    assert planned["note"] == "would rewrite 1 partitions into 4 buckets: the whole table; dry_run: false does it"
    assert told(run("rescale", table=KEYED))["note"] == "rewrote 1 partitions into 4 buckets"
    assert sorted(open_table(settings, KEYED).scan().to_arrow()["name"].to_pylist()) == ["a2", "b2"]
    log = open_table(settings, LOG, create=True)
    for ids in ([3, 1], [2, 0]):
        log.write(pa.table({"id": ids, "name": ["x", "y"]}))
    assert told(run("sort", table=LOG, order_by=["id"]))["note"] == "sorted 2 files by id"
    assert log.refresh().scan().to_arrow()["id"].to_pylist() == [0, 1, 2, 3]
    (properties,) = [dict(p) for p in log.refresh().inspect.snapshots()["properties"].to_pylist()[-1:]]
    assert properties["dagster.job"] == "sort"
