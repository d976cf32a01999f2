"""The number of processors: machine, affinity, quota of a container, task of Spark."""

import os
import sys
from types import SimpleNamespace

import pytest

from paimon_core import processors
from paimon_core.parallel_work import own_processors, run_parallel
from paimon_core.processors import quota, usable, usable_by_task


@pytest.fixture
def groups(tmp_path):
    """Write quotas by directory and the path of the process's group; return what ``quota`` reads."""

    def write(quotas, own):
        root = tmp_path / "cgroup"
        for path, text in quotas.items():
            (root / path).mkdir(parents=True, exist_ok=True)
            (root / path / "cpu.max").write_text(text)
        (tmp_path / "own").write_text(own)
        return root, tmp_path / "own"

    return write


@pytest.mark.parametrize(
    ("quotas", "own", "expected"),
    [
        ({"a/b": "150000 100000\n"}, "0::/a/b\n", 1.5),
        ({"a/b": "max 100000\n"}, "0::/a/b\n", None),
        ({"a": "300000 100000", "a/b": "400000 100000"}, "0::/a/b\n", 3.0),
        ({"a": "max 100000", "a/b": "50000 100000"}, "0::/a/b\n", 0.5),
        ({".": "200000 100000"}, "0::/host/path/of/the/container\n", 2.0),
        ({".": "200000 100000"}, "0::/\n", 2.0),
        ({"a": "200000 100000"}, "4:cpu,cpuacct:/a\n", None),
        ({"a": "many 100000"}, "0::/a\n", None),
        ({"a": "200000 0"}, "0::/a\n", None),
        ({"a": "200000"}, "0::/a\n", None),
        ({"a": f"1{'0' * 400} 1"}, "0::/a\n", None),
        ({".": "200000 100000"}, "0:://outside\n", None),
        ({".": "200000 100000"}, "0::/../beside\n", 2.0),
        ({}, "", None),
    ],
)
def test_the_smallest_quota_of_the_group_and_the_groups_around_it(groups, quotas, own, expected):
    assert quota(*groups(quotas, own)) == expected


def test_no_groups(tmp_path):
    assert quota(tmp_path, tmp_path / "none") is None


@pytest.fixture
def machine(monkeypatch):
    def of(count, bound, given):
        monkeypatch.setattr(os, "cpu_count", lambda: count)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(bound)), raising=False)
        monkeypatch.setattr(processors, "_own_quota", lambda: given)

    return of


@pytest.mark.parametrize(
    ("count", "bound", "given", "expected"),
    [
        (8, 8, None, 8),
        (8, 3, None, 3),
        (8, 8, 1.5, 2),
        (8, 2, 4.0, 2),
        (8, 8, 0.1, 1),
        (None, 1, None, 1),
        (2, 2, 9.0, 2),
    ],
)
def test_the_smallest_limit_counts(machine, count, bound, given, expected):
    machine(count, bound, given)
    assert usable() == expected
    assert own_processors() == expected


def test_a_real_affinity_is_obeyed():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system does not bind processes to processors")
    known = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(known)})
        assert usable() == 1
    finally:
        os.sched_setaffinity(0, known)


@pytest.mark.parametrize(("cpus", "expected"), [(1, 1), (3, 3), (16, 8), (None, 1)])
def test_a_task_of_spark_has_its_own_processors_only(machine, monkeypatch, cpus, expected):
    machine(8, 8, None)
    context = SimpleNamespace(get=lambda: SimpleNamespace(cpus=lambda: cpus))
    monkeypatch.setitem(sys.modules, "pyspark.taskcontext", SimpleNamespace(TaskContext=context))
    assert usable() == 8
    assert usable_by_task() == own_processors() == expected
    assert run_parallel(lambda _: own_processors(), range(1)) == [expected]


def test_the_driver_of_spark_has_all_processors(machine, monkeypatch):
    machine(8, 8, None)
    context = SimpleNamespace(get=lambda: None)
    monkeypatch.setitem(sys.modules, "pyspark.taskcontext", SimpleNamespace(TaskContext=context))
    assert usable_by_task() == 8
