"""Rows of loads that a removal of missing data files took: told by the audit, and loaded again or asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from paimon_core import col
from paimon_core.maintain.repair.loss import LOSS
from paimon_lake.check_result import CheckResult
from paimon_lake.loads import load as loading
from paimon_lake.loads.ledger.ledger import carry_on, read_ledger
from paimon_lake.loads.ledger.load_snapshot import FILES
from paimon_lake.loads.ledger.loaded_files import LoadedFiles
from paimon_lake.loads.ledger.lost import Lost
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.audits.audit import audit
from tests.support.lakes import SmallLake

NAME = "shop.orders"
ORDERS = """
    columns: {id: BIGINT, day: STRING, amount: INT}
    primary_key: [id]
    source: {type: files, path: "data/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, end: 2024-01-31, column: day}
"""
APPENDED = ORDERS.replace("primary_key", "mode: append\n    natural_key")
SUMS = ORDERS + "    options: {merge-engine: aggregation, fields.amount.aggregate-function: sum}\n"
BY_DAY = ORDERS.replace("[id]", "[id, day]") + "    partition_by: [day]\n    mode: overwrite-partitions\n"
LOADED = [(1, "2024-01-02", 12), (2, "2024-01-01", 20), (3, "2024-01-02", 30), (4, "2024-01-03", 40)]


def day(lake: SmallLake, number: int, *rows: str) -> None:
    lake.file(f"data/2024-01-{number:02}.csv", "\n".join(["id,day,amount", *rows]) + "\n")


def data_files(lake: SmallLake) -> set[Path]:
    return set(Path(lake.table(NAME).location).rglob("data-*"))


def removed(lake: SmallLake, files: set[Path]) -> None:
    """Delete data files, and let the removal of missing files correct the table."""
    for file in files:
        file.unlink()
    table = lake.table(NAME)
    assert table.maintenance.apply(table.maintenance.plan_missing_removal()).snapshot is not None


def loaded(lake: SmallLake, text: str, *, order: tuple[int, ...] = (1, 2, 3)) -> list[set[Path]]:
    """Load the files of three days one after the other; return the data files of each load."""
    lake.declare(NAME, text)
    day(lake, 1, "1,2024-01-01,11", "2,2024-01-01,20")
    day(lake, 2, "1,2024-01-02,12", "3,2024-01-02,30")
    day(lake, 3, "4,2024-01-03,40")
    files, seen = [], set[Path]()
    for number in order:
        lake.load(NAME, f"2024-01-{number:02}")
        files.append(data_files(lake) - seen)
        seen |= files[-1]
    return files


def expired(lake: SmallLake) -> None:
    """Carry the entries of all snapshots on, and let all but the newest expire."""
    carry_on(lake.table(NAME), range(1, 10_000))
    lake.table(NAME).expire_snapshots(keep_last=1, keep_max=1, older_than=timedelta(0))


def rows_audit(lake: SmallLake) -> CheckResult:
    (found,) = audit(lake.settings, NAME, ["rows"])
    return found


def test_lost_rows_are_told_and_loaded_again_in_the_order_of_the_loads(quick: SmallLake) -> None:
    files = loaded(quick, ORDERS)
    before = quick.rows(NAME)
    assert before == LOADED
    assert rows_audit(quick).passed
    removed(quick, files[0])
    told = rows_audit(quick)
    assert not told.passed
    assert told.sentence.startswith(
        "2 rows lost: snapshot 4 removed missing data files that loads had written (snapshot 1), and they were not "
        "loaded again"
    )
    result = quick.load(NAME)
    assert [result.details[name] for name in ("files_read", "files_loaded_before")] == [3, 0]
    assert str(result.details["files_loaded_again"]).count(".csv") == 3
    assert quick.rows(NAME) == before, "the older file does not replace the row of a newer one"
    assert rows_audit(quick).passed
    assert quick.load(NAME).skipped == ("3 files loaded before",)


def test_files_that_were_loaded_before_the_lost_ones_are_not_read(quick: SmallLake) -> None:
    files = loaded(quick, ORDERS)
    removed(quick, files[2])
    day(quick, 4, "5,2024-01-04,50")
    result = quick.load(NAME)
    assert (result.details["files_read"], result.details["files_loaded_before"]) == (2, 2)
    assert quick.rows(NAME) == [*LOADED, (5, "2024-01-04", 50)]


def test_a_load_of_some_partitions_names_the_lost_files_and_the_command(quick: SmallLake) -> None:
    removed(quick, loaded(quick, ORDERS)[1])
    with pytest.raises(
        PipelineError,
        match=r"shop\.orders: nothing was loaded, because of 2 lost rows: snapshot 4 removed .*"
        r"of 1 source file \(.*2024-01-02\.csv\); these .* partitions\. .*`paimon-lake load --table shop",
    ):
        quick.load(NAME, "2024-01-02")


@pytest.mark.parametrize("text", [APPENDED, SUMS])
def test_where_rows_would_count_twice_only_a_reload_of_the_table_is_accepted(quick: SmallLake, text: str) -> None:
    files = loaded(quick, text)
    before = quick.rows(NAME)
    removed(quick, files[1])
    for partitions, more in (((), {}), (("2024-01-02",), {}), (("2024-01-02",), {"reload": True})):
        with pytest.raises(PipelineError, match=r"2024-01-02\.csv.*--reload` which replaces all rows|reload the whole"):
            quick.load(NAME, *partitions, **more)
    quick.load(NAME, reload=True)
    assert quick.rows(NAME) == before
    assert rows_audit(quick).passed


def test_a_reload_of_a_table_that_aggregates_counts_no_row_twice(quick: SmallLake) -> None:
    loaded(quick, SUMS)
    before = quick.rows(NAME)
    quick.load(NAME, reload=True)
    assert quick.rows(NAME) == before
    with pytest.raises(PipelineError, match="would aggregate their rows again; reload the whole table"):
        quick.load(NAME, "2024-01-01", reload=True)


def test_of_replaced_partitions_only_the_lost_ones_are_loaded_again(quick: SmallLake) -> None:
    files = loaded(quick, BY_DAY)
    before = quick.rows(NAME)
    removed(quick, files[0])
    assert quick.load(NAME, "2024-01-02").skipped == ("1 files loaded before",)
    assert not rows_audit(quick).passed
    assert quick.load(NAME, "2024-01-01").details["files_read"] == 1
    assert quick.rows(NAME) == before
    assert rows_audit(quick).passed


def test_a_compaction_of_manifests_that_repeats_the_properties_of_a_removal_is_none(quick: SmallLake) -> None:
    removed(quick, loaded(quick, ORDERS)[0])
    lost = read_ledger(quick.table(NAME)).lost
    quick.table(NAME).maintenance.compact_manifests()
    latest = quick.table(NAME).latest_snapshot()
    assert latest is not None
    assert latest.id == 5
    assert LOSS in (latest.properties or {})
    assert read_ledger(quick.table(NAME)).lost == lost


def test_rows_of_many_loads_that_were_compacted_need_a_reload(quick: SmallLake) -> None:
    loaded(quick, ORDERS)
    older = data_files(quick)
    quick.table(NAME).compact(full=True)
    removed(quick, data_files(quick) - older)
    with pytest.raises(
        PipelineError,
        match=r"not known which loads had written the rows. Load .* --reload` which reads the whole source again",
    ):
        quick.load(NAME)
    quick.load(NAME, reload=True)
    assert quick.rows(NAME) == LOADED
    assert rows_audit(quick).passed


def test_files_that_were_not_loaded_in_the_order_of_their_paths_are_not_repeated(quick: SmallLake) -> None:
    files = loaded(quick, ORDERS, order=(2, 1, 3))
    removed(quick, files[0])
    with pytest.raises(PipelineError, match="not loaded in the order of their paths, so old rows could replace new"):
        quick.load(NAME)


def test_a_lost_file_that_is_not_in_the_source_any_more(quick: SmallLake) -> None:
    removed(quick, loaded(quick, ORDERS)[1])
    (quick.folder / "data/2024-01-02.csv").unlink()
    with pytest.raises(
        PipelineError, match="1 of the files that were loaded since then are not in the source any more"
    ):
        quick.load(NAME)
    told = "1 file with lost rows not in the source any more: these rows stay lost"
    assert told in quick.load(NAME, reload=True).skipped
    assert quick.load(NAME).skipped == ("2 files loaded before",)


def test_what_is_lost_is_carried_on_before_an_expiry_and_a_rollback_forgets_it(quick: SmallLake) -> None:
    files = loaded(quick, ORDERS)
    removed(quick, files[2])
    table = quick.table(NAME)
    table.tags.create("before", 3)
    lost = read_ledger(table).lost
    assert carry_on(table, range(1, 5)) is not None
    assert carry_on(table, range(1, 5)) is None
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=timedelta(0))
    assert read_ledger(quick.table(NAME)).lost == lost
    assert lost == Lost((4,), 1, (3,), lost.files, lost.order)
    assert quick.load(NAME).details["files_read"] == 1
    assert quick.rows(NAME) == LOADED
    table.refresh().rollback(tag="before")
    assert not read_ledger(quick.table(NAME), accept_gaps=True).lost


def test_rows_that_are_lost_while_a_load_runs_are_loaded_by_the_next(
    quick: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = loaded(quick, ORDERS)
    day(quick, 4, "2,2024-01-04,21")
    real: Callable[..., Any] = loading.commit_load

    def after_removal(*given: Any) -> Any:
        removed(quick, files[0])
        return real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(loading, "commit_load", after_removal)
        quick.load(NAME, "2024-01-04")
    assert not rows_audit(quick).passed
    assert quick.load(NAME).details["files_read"] == 4
    assert (2, "2024-01-04", 21) in quick.rows(NAME)
    assert rows_audit(quick).passed


@pytest.mark.parametrize("keyed", [False, True])
def test_rows_that_expire_or_are_deleted_are_told_and_no_loss(quick: SmallLake, keyed: bool) -> None:
    options = "partition.expiration-time: 1 d, partition.timestamp-formatter: yyyy-MM-dd"
    text = ORDERS.replace("[id]", "[id, day]") if keyed else APPENDED
    vectors = "" if keyed else ", deletion-vectors.enabled: 'true', bucket: '-1'"
    loaded(quick, text + f"    partition_by: [day]\n    options: {{{options}{vectors}}}\n")
    quick.table(NAME).delete(col("id") == 2)
    told = rows_audit(quick)
    assert told.passed, told.sentence
    if not keyed:
        assert "1 of them deleted by deletion vectors" in told.sentence
    table = quick.table(NAME)
    report = table.maintenance.apply(table.maintenance.plan_partition_expiry())
    assert quick.rows(NAME) == []
    told = rows_audit(quick)
    assert told.passed, told.sentence
    assert f"snapshot {report.snapshots[-1]} of " in told.sentence
    assert quick.load(NAME).skipped == ("3 files loaded before",)


def test_rows_of_other_writers_are_told_and_stop_no_load(quick: SmallLake) -> None:
    quick.declare(NAME, APPENDED)
    day(quick, 1, "1,2024-01-01,11", "2,2024-01-01,20")
    quick.load(NAME)
    table = quick.table(NAME)
    seen = data_files(quick)
    table.write(pa.table({"id": [9], "day": ["x"], "amount": pa.array([1], pa.int32())}), user="by hand")
    removed(quick, data_files(quick) - seen)
    quick.table(NAME).delete(col("id") == 2)
    found = rows_audit(quick)
    assert found.passed, found.sentence
    assert "snapshot 2 of by hand (APPEND) changed the rows in files by +1" in found.sentence
    assert "1 row in files, all visible" in found.sentence
    assert quick.load(NAME).skipped == ("1 files loaded before",)
    carry_on(quick.table(NAME), {1, 2}, begin=True)
    quick.table(NAME).expire_snapshots(keep_last=3, keep_max=3, older_than=timedelta(0))
    assert not read_ledger(quick.table(NAME)).lost, "also when the snapshot of the other writer has expired"


def test_a_second_removal_keeps_what_an_expiry_carried_on(quick: SmallLake) -> None:
    files = loaded(quick, ORDERS)
    removed(quick, files[0])
    expired(quick)
    by_another = quick.table(NAME)
    by_another.write(
        pa.table({"id": [9], "day": ["x"], "amount": pa.array([1], pa.int32())}),
        user=f"load {NAME}",
        identifier=9,
        properties={FILES: LoadedFiles().with_files([("/new.csv", "v")]).to_text()},
    )
    removed(quick, data_files(quick) - set.union(*files))
    lost = read_ledger(quick.table(NAME), accept_gaps=True).lost
    assert lost.files == frozenset(LoadedFiles().with_files([("data/2024-01-01.csv", ""), ("/new.csv", "")]).versions)
    assert [len(group) for group in lost.order] == [1, 1, 1, 1], "the order of the loads, oldest first"
    assert lost.order[-1] == frozenset(LoadedFiles().with_files([("/new.csv", "")]).versions)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"snapshots": 1}', Lost((1,), -1).to_text().replace("[1]", '["a"]')])
def test_a_damaged_record_of_lost_rows_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        Lost.from_text(text, 8)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_lost_the_audit_says_so_and_the_loads_bring_it_back(quick: SmallLake, seed: int) -> None:
    random = Random(seed)
    quick.declare(NAME, ORDERS.replace("{date}", "*").split("    partitions")[0])
    expected: dict[int, tuple[int, str, int]] = {}
    for number in range(10, 40):
        rows = [(random.randrange(8), f"f{number}", random.randrange(100)) for _ in range(3)]
        quick.file(f"data/{number}.csv", "\n".join(["id,day,amount", *(",".join(map(str, r)) for r in rows)]) + "\n")
        expected |= {row[0]: row for row in rows}
        try:
            quick.load(NAME)
        except PipelineError:
            quick.load(NAME, reload=True)
        assert quick.rows(NAME) == sorted(expected.values()), number
        assert rows_audit(quick).passed
        table = quick.table(NAME)
        match random.randrange(4):
            case 0:
                table.compact(full=random.random() < 0.5)
            case 1:
                expired(quick)
            case _:
                for _ in range(random.randint(1, 2)):
                    live = sorted(quick.table(NAME).inspect.files()["file_name"].to_pylist())
                    if not live:
                        break
                    chosen = random.sample(live, min(len(live), random.randint(1, 2)))
                    removed(quick, {file for file in data_files(quick) if file.name in chosen})
                    if random.random() < 0.3:
                        expired(quick)
                assert not rows_audit(quick).passed
