"""Streams: where they start, what they return for each snapshot, how they resume, and what they refuse to skip."""

from __future__ import annotations

import datetime
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import CommitConflict, InvalidRequest, ReadOutdated, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata import clock
from paimon_core.predicate import col
from paimon_core.table.stream.position import Position
from paimon_core.table.stream.table_stream import Until

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def create(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")

    def make(**options):
        keyed = options.pop("keyed", True)
        texts = {"write-only": "true", **({"bucket": "1"} if keyed else {})}
        texts |= {name.replace("_", "-"): value for name, value in options.items()}
        return catalog.create_table("db.t", SCHEMA, primary_key=["k"] if keyed else [], options=texts)

    return make


def write(table, *rows, **more):
    table.write([{"k": k, "v": v} for k, v in rows], **more)


def delete(table, *keys):
    data = pa.table(
        {"k": keys, "v": [None] * len(keys), "kind": ["-D"] * len(keys)}, pa.schema([*SCHEMA, ("kind", "string")])
    )
    table.write(data, kinds="kind")


def told(stream):
    """What the stream returns until there is nothing new: (snapshot, kind, rows as "+I1a")."""
    out = []
    while (batch := stream.poll()) is not None:
        rows = batch.to_arrow().to_pylist()
        out.append((batch.snapshot.id, batch.kind, [f"{r['rowkind']}{r['k']}{r['v'] or ''}" for r in rows]))
    return out


class Stops:
    """Waits not at all, and stops at the nth wait; ``then`` runs at each wait."""

    def __init__(self, waits, then=lambda: None):
        self.left, self.then, self.seconds = waits, then, []

    def wait(self, timeout):
        self.seconds.append(timeout)
        self.left -= 1
        self.then()
        return self.left < 0


def test_the_content_then_every_change(create):
    table = create()
    write(table, (1, "a"), (2, "b"))
    stream, latest, first = table.stream(), table.stream("latest"), table.stream(1)
    assert told(stream) == [(1, "full", ["+I1a", "+I2b"])]
    delete(table, 2)
    table.compact(full=True)
    write(table, (3, "c"))
    after = [(2, "delta", ["-D2"]), (4, "delta", ["+I3c"])]
    assert told(stream) == told(latest) == after
    assert told(first) == [(1, "delta", ["+I1a", "+I2b"]), *after]
    assert told(table.stream(3, full=True)) == [(3, "full", ["+I1a"]), after[1]]
    assert told(table.stream("compacted-full"))[0] == (3, "full", ["+I1a"])
    assert told(table.stream("earliest", where=col("k") > 2, columns=["v", "k"]))[-1] == (4, "delta", ["+I3c"])
    times = [s.time_millis for s in map(table.context.snapshots.read, range(1, 5))]
    at = datetime.datetime.fromtimestamp((times[-1] + 1) / 1000, datetime.UTC)
    assert told(table.stream(at)) == []
    assert told(table.stream(datetime.datetime(2020, 1, 1))) == [(1, "delta", ["+I1a", "+I2b"]), *after]


@pytest.mark.parametrize(
    ("options", "begin", "start"),
    [
        ({}, 2, "latest"),
        ({"scan.mode": "latest"}, 2, None),
        ({"scan.mode": "from-snapshot", "scan.snapshot-id": "2"}, 2, None),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "1"}, 1, None),
        ({"scan.timestamp-millis": "1"}, 1, None),
    ],
)
def test_a_table_never_written_and_options(create, options, begin, start):
    table = create()
    waiting = table.stream(start)
    write(table, (1, "a"))
    assert told(waiting) == [(1, "delta", ["+I1a"])]
    stream = table.with_options(options).stream(start)
    write(table, (2, "b"))
    assert [found[0] for found in told(stream)] == list(range(begin, 3))


@pytest.mark.parametrize(
    ("producer", "content"),
    [("none", ["+I1b", "+I2c"]), ("input", ["+I1b", "+I2c"]), ("lookup", ["+I1a"]), ("full-compaction", ["+I1a"])],
)
def test_the_content_leaves_out_what_a_changelog_repeats(create, producer, content):
    table = create(changelog_producer=producer)
    write(table, (1, "a"))
    table.compact(full=True)
    write(table, (1, "b"), (2, "c"))
    stream = table.stream()
    assert told(stream) == [(3, "full", content)]
    table.compact(full=True)
    expected = [(4, "changelog", ["-U1a", "+U1b", "+I2c"])] if len(content) == 1 else []
    assert told(stream) == expected


@pytest.mark.long
@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
def test_a_stream_that_stops_at_any_time_ends_with_the_table(create, producer):
    """Content and changes, applied in order, are the table; the consumer keeps what an expiry would delete."""
    table = create(changelog_producer=producer, bucket="2")
    random.seed(producer)
    position, state = None, {}

    def follow(batches):
        nonlocal position
        stream = table.stream(position, consumer="job")
        while batches and (batch := stream.poll()) is not None:
            for row in batch.to_arrow().to_pylist():
                if row["rowkind"] in ("+I", "+U"):
                    state[row["k"]] = row["v"]
                else:
                    state.pop(row["k"], None)
            position, batches = batch.position, batches - 1
            stream.commit(position)

    for step in range(30):
        match random.choice(["write", "write", "write", "delete", "compact", "full", "expire", "follow", "follow"]):
            case "write":
                write(table, *[(random.randrange(12), f"{step}.{n}") for n in range(4)])
            case "delete":
                delete(table, random.randrange(12), 99)
            case "compact":
                table.compact()
            case "full":
                table.compact(full=True)
            case "expire":
                table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
            case "follow":
                follow(random.randrange(1, 3))
    table.compact(full=True)
    follow(99)
    assert state == {r["k"]: r["v"] for r in table.scan().to_arrow().to_pylist()}


def test_a_position_resumes(create):
    table = create()
    for n in range(4):
        write(table, (n, "a"))
    stream = table.stream(1)
    stored = [stream.position.to_json()]
    found = []
    while (batch := stream.poll()) is not None:
        found.append(batch.snapshot.id)
        stored.append(batch.position.to_json())
    assert found == [1, 2, 3, 4]
    for at, text in enumerate(stored):
        assert [f[0] for f in told(table.stream(Position.from_json(text)))] == found[at:]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "{}",
        '{"next_snapshot": 0}',
        '{"next_snapshot": true}',
        '{"next_snapshot": 1, "x": 1}',
        '{"next_snapshot": 1, "index": -1}',
    ],
)
def test_what_is_no_position_is_refused(text):
    with pytest.raises(InvalidRequest, match="not a position"):
        Position.from_json(text)


def test_a_rollback_below_the_position_is_an_error(create):
    table = create()
    for n in range(3):
        write(table, (n, "a"))
    stream, whole, waiting = table.stream(1), table.stream(), table.stream("latest")
    assert len(told(stream)) == 3
    table.rollback(snapshot=2)
    write(table, (7, "other"))
    for one in (stream, whole, waiting):
        with pytest.raises(ReadOutdated, match="rolled back: snapshot 3"):
            one.poll()
    write(table, (8, "b"))
    with pytest.raises(ReadOutdated, match="rolled back: snapshot 3"):
        stream.poll()
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    with pytest.raises(ReadOutdated, match="rolled back: snapshot 3"):
        stream.poll()
    table.rollback(snapshot=4)
    assert told(table.stream()) != []


def test_expired_changes_are_an_error_unless_a_consumer_holds_them(create):
    table = create()
    write(table, (0, "a"))
    stream, held = table.stream("latest"), table.stream("latest", consumer="job")
    for n in range(1, 5):
        write(table, (n, "a"))
    assert held.poll().snapshot.id == 2
    held.commit()
    expire = {"keep_last": 1, "older_than": datetime.timedelta()}
    table.expire_snapshots(**expire)
    assert table.context.snapshots.ids() == [3, 4, 5]
    with pytest.raises(SnapshotNotFound, match="snapshot 2 has expired"):
        stream.poll()
    resumed = table.stream("full", consumer="job")
    assert [f[0] for f in told(resumed)] == [3, 4, 5]
    resumed.commit()
    table.expire_snapshots(**expire)
    assert table.context.snapshots.ids() == [5]
    assert [c.next_snapshot for c in table.maintenance.consumers()] == [6]
    ignoring = table.with_options({"consumer.ignore-progress": True, "consumer-id": "job"})
    assert [f[:2] for f in told(ignoring.stream())] == [(5, "full")]


def test_the_full_phase_is_not_progress(create):
    """A consumer resumes changes only: what was not read as a whole is read again."""
    table = create()
    write(table, (1, "a"))
    stream = table.stream(consumer="job")
    assert table.maintenance.consumers() == []
    assert stream.poll().kind == "full"
    assert told(table.stream(consumer="job"))[0][1] == "full"
    stream.commit()
    write(table, (2, "b"))
    assert [f[1] for f in told(table.stream(consumer="job"))] == ["delta"]


def test_two_streams_of_one_consumer(create):
    table = create()
    write(
        table,
        (1, "a"),
    )
    one, two = (table.stream(1, consumer="job") for _ in range(2))
    write(table, (2, "b"))
    assert one.poll() is not None
    one.commit()
    assert len(told(two)) == 2
    with pytest.raises(CommitConflict, match="moved to snapshot 2 by another stream"):
        two.commit()
    assert told(one) == [(2, "delta", ["+I2b"])]
    one.commit()


def test_a_stream_without_consumer_has_no_progress(create):
    with pytest.raises(InvalidRequest, match="no consumer"):
        create().stream().commit()


def test_an_overwrite_is_told_or_left_out_or_refused(create):
    table = create(keyed=False)
    stream, skips, fails = table.stream(), table.stream(on_overwrite="skip"), table.stream(on_overwrite="fail")
    adds = table.with_options({"streaming-read-append-overwrite": True}).stream()
    table.overwrite([{"k": 1, "v": "a"}, {"k": 4, "v": "d"}])
    assert told(stream) == told(fails) == told(adds) == [(1, "overwrite", ["+I1a", "+I4d"])]
    assert told(skips) == []
    table.overwrite([{"k": 2, "v": "b"}, {"k": 4, "v": "d"}])
    write(table, (3, "c"))
    assert told(stream) == [(2, "overwrite", ["-D1a", "+I2b"]), (3, "delta", ["+I3c"])]
    with pytest.raises(InvalidRequest, match="snapshot 2 of table"):
        fails.poll()
    assert told(skips) == [(3, "delta", ["+I3c"])]
    assert told(adds) == [(2, "overwrite", ["+I2b", "+I4d"]), (3, "delta", ["+I3c"])]
    table.delete(col("k") == 4)
    assert told(stream) == [(4, "overwrite", ["-D4d"])]
    assert [f[2] for f in told(table.stream(2, where=col("k") > 1, columns=["v", "k"]))] == [
        ["+I2b"],
        ["+I3c"],
        ["-D4d"],
    ]


@pytest.mark.parametrize("upgrade", ["true", "false"])
@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
def test_an_overwrite_of_a_table_with_a_key(create, producer, upgrade):
    """Rows of which a later changelog tells are not told when they are written, nor when they are replaced.

    No changelog tells the rows that an overwrite puts at the last level.
    """
    table = create(changelog_producer=producer, overwrite_upgrade=upgrade)
    stream = table.stream()
    table.overwrite([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}])
    first = told(stream)
    if later := upgrade == "false" and producer in ("lookup", "full-compaction"):
        table.compact(full=True)
        first = told(stream)
    assert first[-1][2] == ["+I1a", "+I2b"]
    write(table, (3, "never told by a changelog"))
    table.overwrite([{"k": 1, "v": "c"}])
    rows = told(stream)[-1]
    assert rows[1] == "overwrite"
    if later:
        assert rows[2] == ["-D1a", "-D2b"]
        table.compact(full=True)
        assert told(stream) == [(5, "changelog", ["+I1c"])]
    else:
        unheard = [] if producer in ("lookup", "full-compaction") else ["-D3never told by a changelog"]
        assert rows[2] == ["-U1a", "+U1c", "-D2b", *unheard]


def test_changes_are_returned_at_an_age(create, monkeypatch):
    table = create(**{"streaming.read.snapshot.delay": "5 s"})
    write(table, (1, "a"))
    now = table.latest_snapshot().time_millis
    monkeypatch.setattr(clock, "now_millis", lambda: now)
    stream = table.stream()
    assert told(stream) == [(1, "full", ["+I1a"])]
    later = table.stream(1)
    assert later.poll() is None
    monkeypatch.setattr(clock, "now_millis", lambda: now + 4_999)
    assert later.poll() is None
    # A bound that only time decides is not reached while a snapshot within it is too young.
    stopping = [False, True]
    assert list(later.follow(until=Until(time=now + 1), stop=Stop(stopping))) == []
    assert stopping == []
    monkeypatch.setattr(clock, "now_millis", lambda: now + 5_000)
    assert told(later) == [(1, "delta", ["+I1a"])]


class Stop:
    """Answers ``wait`` as listed."""

    def __init__(self, answers):
        self.answers = answers

    def wait(self, timeout):
        return self.answers.pop(0)


def test_the_version_before_an_overwrite_is_kept_for_consumers(create):
    table = create(keyed=False)
    write(table, (1, "a"))
    held = table.stream("latest", consumer="job")
    table.overwrite([{"k": 2, "v": "b"}])
    write(table, (3, "c"))
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    assert table.context.snapshots.ids() == [1, 2, 3]
    batch = held.poll()
    table.maintenance.reset_consumer("job", 3)
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    with pytest.raises(SnapshotNotFound, match="difference to snapshot 1, which has expired"):
        batch.to_arrow()
    with pytest.raises(SnapshotNotFound, match="snapshot 2 has expired"):
        table.stream(Position(2)).poll()


def test_an_overwrite_without_the_version_before(create):
    table = create(keyed=False)
    write(table, (1, "a"))
    table.overwrite([{"k": 2, "v": "b"}])
    table.tags.create("kept", snapshot=1)
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    stream, other = table.stream("earliest"), table.stream("earliest")
    assert told(stream) == [(2, "overwrite", ["-D1a", "+I2b"])]
    table.tags.delete("kept")
    with pytest.raises(SnapshotNotFound, match="difference to snapshot 1, which has expired"):
        other.poll()
    assert told(table.stream("earliest", on_overwrite="skip")) == []


def test_an_unknown_changelog_producer(create):
    """It is unclear where the changes of such a table are; its rows and the difference of versions are readable."""
    table = create()
    write(table, (1, "a"))
    path = table.context.paths.schema(0)
    text = table.context.storage.read(path).decode()
    table.context.storage.overwrite(
        path, text.replace('"bucket"', '"changelog-producer": "sometimes", "bucket"').encode()
    )
    table = paimon.open_catalog(table.context.paths.root.rsplit("/", 2)[0]).table("db.t")
    assert len(table.scan().to_arrow()) == 1
    assert len(table.diff(0, 1).to_arrow()) == len(table.changes(way="diff").to_arrow()) == 1
    incremental = table.with_options({"incremental-between": "0,1"})
    for read in (table.stream, table.changes, incremental.scan):
        with pytest.raises(UnsupportedFeature, match="changelog-producer = 'sometimes' is not supported"):
            read()


@pytest.mark.parametrize(
    ("options", "arguments", "error"),
    [
        ({}, {"start": "now"}, InvalidRequest),
        ({}, {"start": 9}, SnapshotNotFound),
        ({}, {"start": True}, InvalidRequest),
        ({}, {"on_overwrite": "ignore"}, InvalidRequest),
        ({}, {"on_overwrite": "added"}, UnsupportedFeature),
        ({}, {"consumer": "a/b"}, InvalidRequest),
        ({}, {"consumer": ""}, InvalidRequest),
        ({}, {"start": "compacted-full"}, SnapshotNotFound),
        ({"scan.watermark": "5"}, {}, UnsupportedFeature),
    ],
)
def test_what_is_refused(create, options, arguments, error):
    table = create()
    write(table, (1, "a"))
    with pytest.raises(error):
        table.with_options(options).stream(**arguments)
    with pytest.raises(AttributeError, match="call stream on"):
        table.at(snapshot=1).stream()


def test_follow_waits_and_ends(create):
    table = create()
    numbers = iter(range(9))
    stop = Stops(3, lambda: write(table, (next(numbers), "a"), watermark=100))
    found = [b.snapshot.id for b in table.stream().follow(stop=stop, interval=datetime.timedelta(seconds=7))]
    assert (found, stop.seconds) == ([1, 2, 3], [7.0] * 4)
    write(table, (9, "z"), watermark=200)
    never = Stops(0)
    for until in (Until(snapshot=4), Until(watermark=100), Until(time=table.context.snapshots.read(4).time_millis)):
        ids = [b.snapshot.id for b in table.stream(1).follow(until=until, stop=never)]
        assert ids[:4] == [1, 2, 3, 4]
    bounded = table.with_options({"scan.bounded.watermark": 100, "continuous.discovery-interval": "3 s"})
    assert len(list(bounded.stream(1).follow(stop=never))) == 4
    assert never.seconds in ([], [10.0])
    assert list(bounded.stream("latest").follow(stop=never)) == []
    assert never.seconds[-1] == 3.0


def test_at_least_once_stores_the_progress_itself(create):
    table = create().with_options({"consumer.mode": "at-least-once", "consumer-id": "job"})
    write(table, (1, "a"))
    write(table, (2, "b"))
    batches = table.stream(1).follow(until=Until(snapshot=2))
    stored = [table.maintenance.consumers()[0].next_snapshot for _ in batches]
    assert stored == [1, 2]
    assert table.maintenance.consumers()[0].next_snapshot == 3


def test_a_stream_is_an_iterator_of_batches(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("at_hand")
    table = catalog.create_table("at_hand.t", {"id": "BIGINT"}, primary_key="id")
    table.write([{"id": 1}])
    table.write([{"id": 2}])
    for number, batch in enumerate(table.stream()):
        assert batch.to_arrow()["id"].to_pylist() == [[1, 2], [3]][number]
        if number:
            break
        table.write([{"id": 3}])
