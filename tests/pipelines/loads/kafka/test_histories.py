"""Random histories of a topic, with a loader and a broker that are killed: the table equals a model at its position."""

from __future__ import annotations

import json
import math
import random
import time

import pytest

from paimon_lake.loads import load as commits
from paimon_lake.loads.kafka import kafka_loads
from paimon_lake.protocol import PipelineError
from tests.pipelines.loads.postgres.histories import seeds
from tests.support.loader_process import LoaderProcess


def die(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("where", "name"), [(kafka_loads, "write_parts"), (commits, "commit_load")])
def test_messages_that_were_not_committed_are_read_again(fed, monkeypatch, where, name):
    fed.declare(rest="mode: append")
    fed.send(*({"id": n, "t": "a"} for n in range(4)))
    with monkeypatch.context() as patched:
        patched.setattr(where, name, die)
        with pytest.raises(KeyboardInterrupt):
            fed.load()
    fed.send({"id": 4, "t": "a"})
    assert fed.load().details["rows_read"] == 5
    assert fed.rows() == [(n, "a") for n in range(5)]


def test_a_rollback_loads_the_messages_again(fed):
    fed.declare(rest="mode: append")
    fed.send({"id": 0, "t": "a"})
    first = fed.load().commits[-1]
    fed.send({"id": 1, "t": "a"})
    fed.load()
    fed.lake.table("shop.o").rollback(snapshot=first)
    assert fed.load().details["rows_read"] == 1
    assert fed.rows() == [(0, "a"), (1, "a")]


def test_a_compacted_topic_has_gaps_that_are_no_loss(fed):
    fed.declare("format: json, key: id")
    fed.server.compact(fed.topic)
    fed.send(*((n % 10, {"id": n % 10, "t": str(n)}) for n in range(500)), (3, None))
    time.sleep(1)  # the segment becomes old, and the next message begins another one
    fed.send((3, None), (99, {"id": 99, "t": "active segment"}))
    fed.server.wait_for_compaction(fed.topic, 400)
    result = fed.load()
    assert result.details["rows_read"] < 100
    assert fed.rows() == [(n, str(490 + n)) for n in range(10) if n != 3] + [(99, "active segment")]
    assert fed.load().commits == ()


def test_two_loads_at_the_same_time_load_each_message_once(fed, monkeypatch):
    fed.declare(rest="mode: append")
    fed.send(*({"id": n, "t": "a"} for n in range(4)))
    write, others = kafka_loads.write_parts, []

    def with_another(*arguments, **more):
        if not others:
            others.append(1)
            fed.load()
            fed.send({"id": 4, "t": "a"})
        return write(*arguments, **more)

    monkeypatch.setattr(kafka_loads, "write_parts", with_another)
    fed.load()
    fed.load()
    assert fed.rows() == [(n, "a") for n in range(5)]


def test_a_broker_that_stops_while_a_load_reads(fed, monkeypatch):
    fed.send(*({"id": n, "t": "a"} for n in range(100)))
    fed.load()
    fed.send(*({"id": n, "t": "b"} for n in range(100)))
    monkeypatch.setattr("paimon_lake.sources.kafka.messages.STALL_SECONDS", 3.0)
    monkeypatch.setattr("paimon_lake.sources.kafka.broker.WAIT_SECONDS", 5.0)
    write = kafka_loads.write_parts

    def killed(*arguments, **more):
        fed.server.kill()
        return write(*arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(kafka_loads, "write_parts", killed)
        with pytest.raises(PipelineError, match=r"delivered nothing after offset 99 for 3 s"):
            fed.load()
    fed.server.start()
    fed.load()
    assert fed.rows() == [(n, "b") for n in range(100)]


@pytest.mark.parametrize("seed", seeds(1))
def test_a_loader_and_a_broker_that_are_killed(fed, seed):
    """The loader is a process that is killed at random; each state of the table is the model at its position."""
    chance = random.Random(seed)
    fed.declare("format: json, key: id, batch_rows: 40")
    fed.server.grow(fed.topic, 2)
    history: list[list[tuple[int, str | None]]] = [[], []]
    kills = 2
    for turn in range(3):
        loader = LoaderProcess(fed.lake.folder, "shop.o", with_spark=False)
        before, deadline, ends = commits_of(fed), time.monotonic() + 60, math.inf
        try:
            while time.monotonic() < ends:
                if ends == math.inf and commits_of(fed) > before:  # it is killed within 3 s
                    ends = time.monotonic() + chance.uniform(0, 3)
                assert ends < math.inf or time.monotonic() < deadline, "the loader commits nothing"
                partition = chance.randrange(2)
                changes = [
                    (2 * chance.randrange(15) + partition, None if chance.random() < 0.2 else str(chance.random()))
                    for _ in range(chance.randrange(1, 60))
                ]
                sent = [(key, None if text is None else {"id": key, "t": text}) for key, text in changes]
                fed.send(*sent, partition=partition)
                history[partition] += changes
                if turn == 1 and ends < math.inf and kills and chance.random() < 0.5:
                    kills -= 1
                    fed.server.kill()
                    fed.server.start()
                time.sleep(chance.uniform(0, 0.2))
        finally:
            loader.kill()
        check(fed, history)
    fed.load()
    assert offsets_of(fed) == [len(one) for one in history]
    check(fed, history)


def commits_of(fed):
    if not (fed.lake.folder / "warehouse" / "shop.db" / "o").exists():
        return 0
    return fed.lake.table("shop.o").inspect.snapshots().num_rows


def offsets_of(fed):
    snapshots = fed.lake.table("shop.o").inspect.snapshots().to_pylist()
    properties = [dict(one["properties"] or ()) for one in snapshots]
    found = [json.loads(one["pipeline.position"]) for one in properties if "pipeline.position" in one]
    return found[-1]["topics"][fed.topic][1] if found else [0, 0]


def check(fed, history):
    if not (fed.lake.folder / "warehouse" / "shop.db" / "o").exists():
        return
    model: dict[int, str | None] = {}
    for one, offset in zip(history, offsets_of(fed), strict=True):
        model |= dict(one[:offset])
    assert fed.rows() == sorted((key, text) for key, text in model.items() if text is not None)
