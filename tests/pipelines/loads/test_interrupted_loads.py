"""Loads that die at any call of the operating system: a repeated load ends in the same rows, none lost, none twice.

The tasks run in this process instead of Spark, so that every call of tasks and driver can be the last one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from types import SimpleNamespace

import pytest

from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import load_settings
from paimon_lake.loads import write_tasks
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.load import load_table
from paimon_lake.tables import open_lake
from tests.support.tasks import in_this_process

CALLS = ("open", "fsync", "link", "unlink", "replace", "mkdir")


class Died(BaseException):
    """The process died; nothing handles it."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    path = tmp_path / "lake"
    new_lake(path)
    return path


def load(folder, *partitions):
    session = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    return load_table(lambda: session, load_settings("local", configs=folder), "shop.orders", partitions or None)


def dies_at(monkeypatch, number):
    """Let this call, counted over all calls that change the disk, be the last one; return the count of calls."""
    made = [0]

    def dying(original):
        def call(*args, **kwargs):
            made[0] += 1
            if made[0] == number:
                raise Died
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, dying(getattr(os, name)))
    return made


def content(folder):
    catalog = open_lake(load_settings("local", configs=folder))
    found = [catalog.table(name).scan().to_arrow() for name in ("shop.orders", "shop.orders__rejects")]
    found[1] = found[1].drop_columns(["loaded_at"])
    return [Counter(json.dumps(row, default=str) for row in rows.to_pylist()) for rows in found]


def counts(folder):
    table = open_lake(load_settings("local", configs=folder)).table("shop.orders")
    found = [
        [int(load.properties[f"pipeline.rows-{w}"]) for w in ("read", "written", "rejected")]
        for load in loads_of(table)
    ]
    return [sum(column) for column in zip(*found, strict=True)]


@pytest.mark.parametrize("step", [11, pytest.param(3, marks=pytest.mark.long)])
def test_a_load_that_died_anywhere_is_completed_by_the_next(folder, monkeypatch, step):
    pristine = folder.parent / "pristine"
    shutil.copytree(folder, pristine)
    load(folder, "2024-01-01")
    load(folder)
    expected = content(folder)
    assert counts(folder) == [13, 12, 1]
    calls, number = 10**9, 1
    while number <= calls:
        shutil.rmtree(folder)
        shutil.copytree(pristine, folder)
        load(folder, "2024-01-01")
        with monkeypatch.context() as patched:
            made = dies_at(patched, number)
            try:
                load(folder)
            except Died:
                pass
            else:
                calls = made[0]
        load(folder)
        assert content(folder) == expected, f"died at call {number}"
        assert counts(folder) == [13, 12, 1], f"died at call {number}"
        number += step
    assert calls > 30
