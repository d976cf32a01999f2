"""One round of maintenance of a lake: budget, tags, off-peak hours, the log, and the command."""

from __future__ import annotations

import datetime
import json
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimon_core.catalog.maintenance_log import MaintenanceLog
from paimon_core.errors import StorageError
from paimon_core.health.plan.candidates import Budget
from paimon_core.metadata import clock
from paimon_core.table.upkeep.group_run import PREFIX
from paimon_lake.cli.main import main
from paimon_lake.declarations import Settings, SettingsError
from paimon_lake.steps.upkeep.maintain import maintain, plan_lake, policy_of
from paimon_lake.tables import open_lake, open_table
from tests.support.declared_lakes import declared_lake

ROWS = pa.table({"id": [1], "day": [datetime.date(2024, 1, 1)], "name": ["a"]})
TEXT = "options: {bucket: '1', write-only: 'true'}\n"


def lake(folder: Path, base: str = "", **compaction: str) -> Settings:
    """Three tables with 3, 5 and 9 sorted runs."""
    names = {"ods.few": 3, "ods.some": 5, "ods.many": 9}
    tables = {name: f"{TEXT}compaction: {{{compaction.get(name[4:], '')}}}\n" for name in names}
    settings = declared_lake(folder / "lake", tables, f"warehouse: warehouse\n{base}")
    for name, runs in names.items():
        table = open_table(settings, name, create=True)
        for _ in range(runs):
            table.write(ROWS)
    return settings


def chosen(settings: Settings, budget: Budget | None = None) -> list[str]:
    return [c.table for c in plan_lake(settings, budget).chosen]


def test_the_worst_comes_first_and_the_log_is_always_written(tmp_path: Path) -> None:
    settings = lake(tmp_path)
    assert chosen(settings) == ["ods.many", "ods.some", "ods.few"]
    done = maintain(settings, properties={"by": "test"})
    assert [(r.table, r.details["works"], len(r.commits)) for r in done.results] == [
        ("ods.many", 1, 1),
        ("ods.some", 1, 1),
        ("ods.few", 1, 1),
    ]
    assert done.problems == {}
    snapshot = open_table(settings, "ods.many").latest_snapshot()
    assert snapshot is not None
    assert {"pipeline.step": "maintain", "by": "test"}.items() <= snapshot.properties.items()
    rows = open_lake(settings).system_table("sys.maintenance").to_arrow()
    assert rows["table_name"].to_pylist() == ["ods.many", "ods.some", "ods.few"]
    assert maintain(settings).results == ()


def test_the_declared_budget_and_its_replacement(tmp_path: Path) -> None:
    settings = lake(tmp_path, "maintenance: {bytes: 12000}\n")
    assert chosen(settings) == ["ods.many"]
    assert len(chosen(settings, Budget())) == 3
    assert maintain(settings, dry_run=True).results == ()
    assert len(open_table(settings, "ods.many").inspect.files()) == 9


@pytest.mark.long
def test_nothing_starves(tmp_path: Path) -> None:
    """The budget is too small for the worst table beside the others, and the worst becomes ill again and again."""
    settings = lake(tmp_path, "maintenance: {bytes: 13000, patience: 2}\n")
    table, rounds = open_table(settings, "ods.many"), list[str]()
    for _ in range(5):
        rounds += [result.table for result in maintain(settings).results]
        for _ in range(9 - len(table.inspect.files())):
            table.write(ROWS)
    assert rounds.count("ods.many") > 2
    assert set(rounds) == {"ods.few", "ods.some", "ods.many"}


def test_limits_of_tags_and_scans(tmp_path: Path) -> None:
    base = "maintenance: {limits: {slow: {tasks: 1}, off: {tasks: 0}}}\n"
    settings = lake(tmp_path, base, many="tags: [slow]", some="tags: slow, scans: 9", few="tags: ['off']")
    plan = plan_lake(settings)
    assert [c.table for c in plan.chosen] == ["ods.some"]
    assert {one.candidate.table: one.reason for one in plan.left_out} == {"ods.many": "budget", "ods.few": "too-large"}


def test_off_peak_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = lake(tmp_path, "maintenance: {bytes: 1000000, off_peak: {start: 22, end: 6}}\n")

    def at(hour: int) -> list[str]:
        moment = time.localtime()
        millis = int(time.mktime((moment.tm_year, moment.tm_mon, moment.tm_mday, hour, 30, 0, 0, 0, -1))) * 1000
        monkeypatch.setattr(clock, "now_millis", lambda now=None: millis if now is None else now)
        return chosen(settings)

    assert (len(at(23)), len(at(12)), len(at(5)), len(at(6))) == (3, 0, 3, 0)


def test_a_damaged_table_and_a_broken_log_are_problems_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = lake(tmp_path)
    for path in Path(open_table(settings, "ods.some").location).glob("snapshot/snapshot-*"):
        path.write_text("{}")

    def broken(*_: object) -> None:
        raise StorageError("no disk")

    monkeypatch.setattr(MaintenanceLog, "append", broken)
    assert main(["maintain", "--configs", str(tmp_path / "lake")]) == 1
    said = capsys.readouterr()
    assert "paimon-lake maintain: ods.some: corrupt-table" in said.err
    assert "paimon-lake maintain: log: storage-error: no disk" in said.err
    assert len(open_table(settings, "ods.many").inspect.files()) == 1


def test_a_table_that_rests_after_an_error_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = lake(tmp_path)
    next(iter(Path(open_table(settings, "ods.some").location).glob("bucket-0/data-*"))).unlink()
    here = ["--configs", str(settings.folder)]
    assert main(["maintain", *here]) == 1
    capsys.readouterr()
    for arguments in (["--dry-run"], []):
        assert main(["maintain", *arguments, *here]) == 1
        said = capsys.readouterr()
        assert "paimon-lake maintain: ods.some: compact ods.some bucket 0 failed and after 1 failure" in said.err
        assert "ods.some is not in order" in said.out


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = lake(tmp_path)
    here = ["--configs", str(settings.folder)]
    assert main(["maintain", "--dry-run", *here]) == 0
    assert "compact ods.many bucket 0: saves" in capsys.readouterr().out
    assert main(["maintain", "--bytes", "12000 b", "--seconds", "600", "--json", *here]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["table"], found["details"]["works"]) == ("ods.many", 1)
    with pytest.raises(SystemExit):
        main(["maintain", "--bytes", "12000", *here])
    assert "has no unit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("base", "compaction", "message"),
    [
        ("maintenance: {mode: cost}", "", "maintenance.mode: cost needs a budget: bytes or seconds"),
        ("maintenance: {mode: price}", "", "maintenance.mode must be one of runs, cost, not 'price'"),
        ("maintenance: {bytes: 10 gb}", "", "maintenance.bytes must be a whole number, not '10 gb'"),
        ("maintenance: {stop_mark: 1}", "", "maintenance.stop_mark: must not exceed start_mark 0.1, not 1"),
        ("maintenance: {off_peak: {start: 6, end: 6}}", "", "start and end must be two different hours, not both 6"),
        ("maintenance: {off_peak: {start: 6, end: 24}}", "", "maintenance.off_peak.end must be 23 or less, not 24"),
        ("maintenance: {limits: {slwo: {tasks: 1}}}", "tags: slow", "the tag 'slwo', but no table has it"),
        ("maintenance: {interval: '1'}", "", "must be a duration with its unit"),
        ("", "scans: -1", "compaction.scans must be 0 or more, not -1"),
    ],
)
def test_mistakes_in_declarations(tmp_path: Path, base: str, compaction: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        declared_lake(tmp_path, {"ods.t": f"{TEXT}compaction: {{{compaction}}}\n"}, f"warehouse: w\n{base}\n")
    assert message in str(raised.value)


def test_the_policy_has_the_limits_of_the_tables_that_there_are(tmp_path: Path) -> None:
    settings = lake(tmp_path, "maintenance: {limits: {slow: {bytes: 5, seconds: 2}}}\n", many="tags: slow")
    limit = policy_of(settings).limits["slow"]
    assert (limit.tasks, limit.budget) == (None, Budget(5, 2))
    part = settings.model_copy(update={"tables": {"ods.few": settings.table("ods.few")}})
    assert policy_of(part).limits == {}


def test_a_round_of_many_bytes_runs_in_spark_with_its_predictions(tmp_path: Path, spark: SparkSession) -> None:
    settings = lake(tmp_path, "maintenance: {spark_from_bytes: 1}\n")
    done = maintain(settings, spark=lambda: spark)
    assert done.problems == {}
    assert [r.note for r in done.results] == ["1 works done, the compactions in Spark"] * 3
    rows = open_lake(settings).system_table("sys.maintenance").to_arrow().to_pylist()
    assert {row["host"] for row in rows} == {f"spark {settings.spark.master}"}
    for row in rows:
        assert row["bytes_read"] == row["predicted_bytes_read"] > 0
        assert row["bytes_written"] > 0
        assert row["predicted_bytes_written"] > 0
        assert row["peak_memory"] is None
    table = open_table(settings, "ods.many")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert {
        f"{PREFIX}predicted-bytes-written",
        f"{PREFIX}bytes-written",
        f"{PREFIX}seconds",
    } <= snapshot.properties.keys()
    assert (len(table.inspect.files()), table.scan().to_arrow().num_rows) == (1, 1)


def test_a_small_round_does_not_ask_for_spark(tmp_path: Path) -> None:
    settings = lake(tmp_path, "maintenance: {spark_from_bytes: 1000000}\n")

    def none() -> SparkSession:
        raise AssertionError

    assert len(maintain(settings, spark=none).results) == 3
