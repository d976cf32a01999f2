"""Follow: tables are loaded again and again, compactions run beside the loads, and errors do not end it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from paimon_core.errors import StorageError
from paimon_lake.cli import follow_command
from paimon_lake.cli.main import main
from paimon_lake.loads.files.file_load import FileLoads
from paimon_lake.protocol import PipelineError, StepResult
from paimon_lake.steps import follow
from paimon_lake.steps.follow import Failure, Follow
from paimon_lake.tables import fullest_bucket
from tests.support.lakes import SmallLake, small_lake
from tests.support.loader_process import LoaderProcess
from tests.support.project import ROOT

ORDERS = """
    columns: {id: BIGINT, price: DOUBLE}
    primary_key: id
    source: {type: files, path: "orders/*.csv"}
    options: {num-sorted-run.compaction-trigger: "2", num-sorted-run.stop-trigger: "3"}
"""


@pytest.fixture
def lake(tmp_path: Path, spark) -> SmallLake:
    found = small_lake(tmp_path / "lake", spark)
    found.declare("shop.orders", ORDERS)
    found.file("orders/000.csv", "id,price\n0,1.5\n")
    return found


def following(lake: SmallLake, **more) -> Follow:
    return Follow(lake.spark, lake.settings, ["shop.orders"], **{"every": 0.01, "seconds": 60.0, **more})


def test_new_files_are_loaded_and_compacted_until_it_is_stopped(lake):
    follows = following(lake)
    steps = []
    for result in follows.run():
        assert isinstance(result, StepResult)
        steps.append(result.step)
        if result.step == "load":
            number = steps.count("load")
            if number == 6:
                follows.stop.set()
            lake.file(f"orders/{number:03}.csv", f"id,price\n{number},2.5\n")
    assert steps.count("load") == 6
    assert "compact" in steps
    assert lake.rows("shop.orders") == [(0, 1.5), *((n, 2.5) for n in range(1, 6))]
    assert follows.failing == {}


def test_a_load_waits_for_the_compaction_when_a_bucket_has_too_many_runs(lake, monkeypatch):
    """The compaction ends only after the third load: no load comes before, because the stop trigger is 3."""
    runs, released = [], threading.Event()
    compact, load = follow.compact, follow.load_table

    def slow(*args, **more):
        assert released.wait(30)
        return compact(*args, **more)

    def counted(spark, settings, name, **more):
        runs.append(fullest_bucket(lake.table(name)) if runs else 0)
        lake.file(f"orders/{len(runs):03}.csv", f"id,price\n{len(runs)},2.5\n")
        if len(runs) == 3:
            threading.Timer(0.5, released.set).start()
        return load(spark, settings, name)

    monkeypatch.setattr(follow, "compact", slow)
    monkeypatch.setattr(follow, "load_table", counted)
    follows = following(lake)
    for result in follows.run():
        if result.step == "load" and len(runs) == 5:
            follows.stop.set()
    assert runs[:3] == [0, 1, 2]
    assert max(runs) < 3


def test_a_load_that_fails_is_repeated_and_told_and_other_tables_go_on(lake, monkeypatch):
    lake.declare("shop.more", ORDERS.replace("orders/", "more/"))
    lake.file("more/0.csv", "id,price\n7,1.5\n")
    load, failures = follow.load_table, []

    def failing(spark, settings, name, **more):
        if name == "shop.orders" and len(failures) in (1, 2):
            failures.append(name)
            raise StorageError("the store does not answer")
        failures.extend([name] if name == "shop.orders" else [])
        return load(spark, settings, name)

    monkeypatch.setattr(follow, "load_table", failing)
    follows = Follow(lake.spark, lake.settings, ["shop.orders", "shop.more"], every=0.01, seconds=60.0)
    told = []
    for one in follows.run():
        told.append(one)
        if isinstance(one, Failure):
            assert follows.failing == {"shop.orders": "load"}
            assert one.sentence() == "load shop.orders failed and will be repeated: the store does not answer"
            lake.file("orders/001.csv", "id,price\n1,2.5\n")
        elif (one.table, one.step) == ("shop.orders", "load") and len(failures) > 3:
            follows.stop.set()
    assert sum(isinstance(one, Failure) for one in told) == 2
    assert follows.failing == {}
    assert lake.rows("shop.orders") == [(0, 1.5), (1, 2.5)]
    assert lake.rows("shop.more") == [(7, 1.5)]


def test_a_wrong_request_ends_it_at_once(lake):
    lake.file("orders/000.csv", "other,price\n0,1.5\n")
    with pytest.raises(PipelineError, match="other"):
        list(following(lake).run())


def test_failures_in_a_row_wait_longer(lake, monkeypatch):
    times = []

    def failing(spark, settings, name, **more):
        times.append(time.monotonic())
        if len(times) > 1:
            raise StorageError("no answer")
        return StepResult("load", name, None, None, 0, (), {}, {}, 0.0)

    lake.create("shop.orders")
    monkeypatch.setattr(follow, "load_table", failing)
    follows = following(lake, every=0.05, seconds=3.0)
    assert all(isinstance(one, Failure) for one in follows.run())
    waits = [later - earlier for earlier, later in pairwise(times[1:])]
    assert len(waits) >= 2
    assert all(wait > 0.9 * 0.05 * 2 ** (number + 1) for number, wait in enumerate(waits))
    assert follows.failing == {"shop.orders": "load"}


WIDE = """
    columns: {id: BIGINT, a: INT, a_at: INT, b: INT, b_at: INT}
    primary_key: id
    parts:
      a: {source: {type: files, path: "a/*.csv"}, columns: a, order_by: a_at}
      b: {source: {type: files, path: "b/*.csv"}, columns: b, order_by: b_at}
"""


@pytest.fixture
def wide(quick, monkeypatch) -> SmallLake:
    """A lake with a wide table, whose compactions do nothing."""
    quick.declare("shop.wide", WIDE)
    for part in "ab":
        quick.file(f"{part}/0.csv", f"id,{part},{part}_at\n1,0,0\n")
    idle = StepResult("compact", "shop.wide", None, None, 0, (), {}, {}, 0.0)
    quick.compactions = []
    monkeypatch.setattr(follow, "compact", lambda *_: quick.compactions.append(1) or idle)
    return quick


def test_a_part_that_fails_is_repeated_and_the_other_parts_go_on_without_it(wide, monkeypatch):
    """The part b fails three times after its first load, and waits longer each time."""
    plan, tried, loads = FileLoads.plan, [], [0]

    def failing(loads, step):
        if step.spec.load_name == "shop.wide part b":
            tried.append(time.monotonic())
            if 1 < len(tried) < 5:
                raise StorageError("no answer")
        return plan(loads, step)

    monkeypatch.setattr(FileLoads, "plan", failing)
    follows = Follow(wide.spark, wide.settings, ["shop.wide"], every=0.1, seconds=60.0)
    told = []
    for one in follows.run():
        told.append(one)
        if isinstance(one, Failure):
            assert follows.failing == {"shop.wide": "load"}
            assert one.sentence().endswith("; part b failed: no answer")
        else:
            loads[0] += 1
            wide.file(f"a/{loads[0]}.csv", f"id,a,a_at\n1,{loads[0]},{loads[0]}\n")
            if len(tried) > 5:
                follows.stop.set()
    assert sum(isinstance(one, Failure) for one in told) == 3
    waits = [later - earlier for earlier, later in pairwise(tried[1:5])]
    assert all(wait > 0.1 * 2 ** (number + 1) for number, wait in enumerate(waits))
    assert loads[0] > 5, "the part a was loaded meanwhile"
    assert wide.compactions, "what the part a committed is compacted"
    assert follows.failing == {}


def test_the_commits_beside_a_part_whose_first_load_failed_are_told(wide, monkeypatch, capsys):
    monkeypatch.setattr(follow_command, "start_session", lambda settings: wide.session)
    wide.file("b/0.csv", "id,b,b_at\n1,x,0\n")
    assert main(["follow", "shop.wide", "--configs", str(wide.folder), "--seconds", "30", "--json"]) == 1
    told = capsys.readouterr()
    (line,) = told.out.splitlines()
    assert json.loads(line)["commits"] == [1]
    assert "part b failed: " in told.err


def test_a_table_whose_parts_all_fail_is_loaded_again_when_one_of_them_is_due(wide, monkeypatch):
    plan, tried = FileLoads.plan, []

    def failing(loads, step):
        tried.append(step.spec.part)
        if len(tried) > 2:
            raise StorageError("no answer")
        return plan(loads, step)

    monkeypatch.setattr(FileLoads, "plan", failing)
    follows = Follow(wide.spark, wide.settings, ["shop.wide"], every=0.2, seconds=2.0)
    failures = sum(isinstance(one, Failure) for one in follows.run())
    assert (failures > 0, len(tried) <= 10) == (True, True), "waits of 0.4 s, 0.8 s and so on, not of 0.2 s"


def test_a_part_that_failed_is_repeated_before_a_longer_wait_of_its_table(wide, monkeypatch):
    plan, tried = FileLoads.plan, []

    def failing(loads, step):
        if step.spec.part == "b":
            tried.append(step)
            if len(tried) == 2:
                wide.file("a/1.csv", "id,a,a_at\n1,1,1\n")
                raise StorageError("no answer")
        if len(tried) == 3:
            follows.stop.set()
        return plan(loads, step)

    monkeypatch.setattr(FileLoads, "plan", failing)
    monkeypatch.setattr(follow, "MOST_WAIT_SECONDS", 0.5)
    follows = Follow(wide.spark, wide.settings, ["shop.wide"], every=60.0, seconds=10.0)
    assert sum(isinstance(one, Failure) for one in follows.run()) == 1
    assert (len(tried), follows.failing) == (3, {})


def test_the_command_line(lake, capsys, monkeypatch):
    monkeypatch.setattr(follow_command, "start_session", lambda settings: lake.session)
    given = ["--configs", str(lake.folder), "--seconds", "2", "--every", "0.1", "--json"]
    assert main(["follow", "shop.orders", *given]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["rows_written"] == 1
    assert main(["follow", "shop.orders", "--configs", str(lake.folder), "--every", "0"]) == 2
    assert "--every must be a number of seconds above 0" in capsys.readouterr().err
    assert main(["follow", "shop.trains", "--configs", str(lake.folder)]) == 2
    assert "no table 'shop.trains' is declared" in capsys.readouterr().err


@pytest.mark.programs
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_a_signal_ends_the_program_after_the_load_that_runs(tmp_path, number):
    lake = small_lake(tmp_path / "lake")
    lake.declare("shop.orders", ORDERS)
    lake.file("orders/000.csv", "id,price\n0,1.5\n")
    command = [sys.executable, "-m", "paimon_lake", "follow", "shop.orders", "--configs", str(lake.folder)]
    paths = os.pathsep.join(str(ROOT / name) for name in ("", "pipelines"))
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout.readline().startswith(b"load shop.orders: 1 rows written")
        program.send_signal(number)
        _, errors = program.communicate(timeout=120)
    assert (program.returncode, b"Traceback" in errors) == (0, False), errors.decode()
    assert lake.rows("shop.orders") == [(0, 1.5)]


@pytest.mark.long
def test_a_jvm_that_is_killed_ends_the_program_with_one_sentence(tmp_path):
    lake = small_lake(tmp_path / "lake")
    lake.declare("shop.orders", ORDERS)
    lake.file("orders/000.csv", "id,price\n0,1.5\n")
    program = LoaderProcess(lake.folder, "shop.orders", with_spark=True)
    try:
        program.wait(lambda: program.loads > 0)
        assert program.kill_jvm()
        lake.file("orders/001.csv", "id,price\n1,2.5\n")
        program.wait(lambda: False)
    finally:
        program.kill()
    assert program.text.splitlines()[-1].startswith("paimon-lake follow: the JVM of Spark has ended"), program.text


PARTS = """
    columns: {id: BIGINT, a: INT, a_at: INT, b: INT, b_at: INT}
    primary_key: id
    parts:
      a: {source: {type: files, path: "a/*.csv"}, columns: a, order_by: a_at}
      b: {source: {type: files, path: "b/*.csv"}, columns: b, order_by: b_at}
"""


@pytest.mark.long
def test_a_jvm_that_is_killed_ends_the_program_of_a_wide_table_too(tmp_path):
    lake = small_lake(tmp_path / "lake")
    lake.declare("shop.orders", PARTS)
    for part in ("a", "b"):
        lake.file(f"{part}/0.csv", f"id,{part},{part}_at\n1,1,1\n")
    program = LoaderProcess(lake.folder, "shop.orders", with_spark=True)
    try:
        program.wait(lambda: program.loads > 0)
        assert program.kill_jvm()
        lake.file("a/1.csv", "id,a,a_at\n2,2,2\n")
        program.wait(lambda: program.text.count("will be repeated") > 3)
    finally:
        program.kill()
    assert program.text.splitlines()[-1].startswith("paimon-lake follow: the JVM of Spark has ended"), program.text


def test_a_compaction_that_failed_is_repeated_on_an_idle_table(lake, monkeypatch):
    compact, failed = follow.compact, []

    def failing(*args, **more):
        if len(failed) < 2:
            failed.append(time.monotonic())
            raise StorageError("no answer")
        return compact(*args, **more)

    monkeypatch.setattr(follow, "compact", failing)
    follows = following(lake, every=0.05)
    told = []
    for one in follows.run():
        told.append(type(one))
        if one.step == "load":
            lake.file("orders/001.csv", "id,price\n1,2.5\n")
        if one.step == "compact" and isinstance(one, StepResult):
            follows.stop.set()
    assert told.count(Failure) == 2
    assert follows.failing == {}


def test_a_failed_compaction_is_not_forgotten_when_loads_fail_and_succeed(lake, monkeypatch):
    """A load that succeeds says nothing about the compaction: the exit code stays 1."""
    load, loads = follow.load_table, []

    def once_failing(*args, **more):
        loads.append(args)
        if len(loads) == 2:
            raise StorageError("no answer")
        return load(*args, **more)

    def failing(*_, **__):
        raise StorageError("no space")

    monkeypatch.setattr(follow, "load_table", once_failing)
    monkeypatch.setattr(follow, "compact", failing)
    follows = following(lake, every=0.01)
    for one in follows.run():
        if one.step == "compact" and len(loads) > 3:
            follows.stop.set()
    assert follows.failing == {"shop.orders": "compact"}


def test_stale_partitions_are_in_the_exit_code(lake, capsys, monkeypatch):
    result = StepResult("load", "shop.orders", None, None, 0, (), {}, {}, 0.0, stale={"2024-01-01": "shop.x changed"})
    monkeypatch.setattr(follow_command, "start_session", lambda settings: lake.session)
    monkeypatch.setattr(follow, "load_table", lambda *_, **__: result)
    lake.create("shop.orders")
    assert main(["follow", "shop.orders", "--configs", str(lake.folder), "--seconds", "0.2"]) == 3
    assert "shop.orders is stale: partition 2024-01-01 (shop.x changed)" in capsys.readouterr().err
