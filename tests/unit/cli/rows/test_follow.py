"""``tail --follow``: the changes of commits as they arrive (resembles issue 29)."""

import itertools
import json
import os
import signal
import threading

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.cli.rows import follow as follow_room
from paimon_core.cli.rows.follow import Missed, changes_from
from paimon_core.errors import ReadOutdated, TableNotFound
from paimon_core.table.stream.position import Position


@pytest.fixture
def catalog(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    return catalog


@pytest.fixture
def keyed(catalog):
    columns = {"id": "BIGINT NOT NULL", "note": "STRING"}
    table = catalog.create_table("db.t", columns, primary_key="id", options={"bucket": "1"})
    table.write([{"id": 1, "note": "a"}])
    return table


def followed(table, position, actions, columns=None):
    """Return what ``changes_from`` yields; each pause runs the next action, and the last pause ends it."""
    left = list(actions)

    def wait():
        if not left:
            return True
        left.pop(0)()
        return False

    found = []
    for one in changes_from(table.refresh, position, columns, wait):
        found += [one] if isinstance(one, Missed) else one.to_pylist()
    return [one if isinstance(one, Missed) else {k: v for k, v in one.items() if k != "_COMMIT_TIME"} for one in found]


def test_changes_of_a_keyed_table_have_row_kinds(keyed):
    found = followed(
        keyed,
        Position(2),
        [lambda: keyed.write([{"id": 1, "note": "b"}, {"id": 2, "note": "c"}]), lambda: keyed.delete("id = 1")],
    )
    assert [(row["rowkind"], row["_SNAPSHOT_ID"], row["id"], row["note"]) for row in found] == [
        ("-U", 2, 1, "a"),
        ("+U", 2, 1, "b"),
        ("+I", 2, 2, "c"),
        ("-D", 3, 1, "b"),
    ]


def test_snapshots_that_expired_are_named(keyed):
    def burst():
        for number in range(2, 5):
            keyed.write([{"id": number, "note": "n"}])
        keyed.maintenance.apply(keyed.maintenance.plan_snapshot_expiry(keep_last=2, keep_max=2))

    found = followed(keyed, Position(2), [burst])
    assert found[0] == Missed(2, 3)
    assert [row["_SNAPSHOT_ID"] for row in found[1:]] == [4]
    assert "snapshots 2 to 3 are missing" in found[0].sentence()
    assert found[0].sentence().endswith("continuing with snapshot 4")


def test_what_is_missing_is_told_also_when_nothing_follows(keyed):
    def burst():
        keyed.write([{"id": 2, "note": "n"}])
        keyed.write([{"id": 3, "note": "n"}])
        keyed.maintenance.apply(keyed.maintenance.plan_snapshot_expiry(keep_last=1, keep_max=1))

    assert followed(keyed, Position(2), [burst]) == [Missed(2, 3)]


def test_an_append_table_loses_no_rows_when_only_the_version_before_expired(catalog):
    table = catalog.create_table("db.a", {"id": "BIGINT"})
    table.write([{"id": 1}])

    def burst():
        table.write([{"id": 2}])
        table.maintenance.apply(table.maintenance.plan_snapshot_expiry(keep_last=1, keep_max=1))

    assert [row["id"] for row in followed(table, Position(2), [burst])] == [2]


def test_rows_have_columns_that_are_added_later(keyed):
    found = followed(
        keyed,
        Position(2),
        [lambda: keyed.alter("ADD COLUMN extra INT").write([{"id": 2, "note": "b", "extra": 7}])],
    )
    assert [row["extra"] for row in found] == [7]


def test_a_rollback_and_a_drop_are_errors(catalog, keyed):
    for number in (2, 3):
        keyed.write([{"id": number, "note": "n"}])

    def rolled_back():
        keyed.maintenance.apply(keyed.maintenance.plan_rollback(snapshot=2))
        keyed.write([{"id": 9, "note": "n"}])

    with pytest.raises(ReadOutdated):
        followed(keyed, Position(3), [rolled_back])
    with pytest.raises(TableNotFound):
        followed(keyed, Position(4), [lambda: catalog.drop_table("db.t")])


def test_a_signal_ends_it_with_code_0(keyed, command):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    timer.start()
    code, out = command("tail", "db.t", "--follow", "--json", "--every", "0.05")
    timer.join()
    assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (0, [1])
    assert signal.getsignal(signal.SIGINT) is before


def committing(monkeypatch, act):
    """Before each look for a snapshot, call ``act`` with the number of the look."""
    real, looks = follow_room.next_snapshot, itertools.count(1)

    def found(context, position):
        act(next(looks))
        return real(context, position)

    monkeypatch.setattr(follow_room, "next_snapshot", found)


def test_the_time_ends_it_also_when_commits_arrive_faster_than_they_are_printed(keyed, command, monkeypatch):
    def act(look):
        assert look < 10, "still looks for changes"
        keyed.write([{"id": look + 1, "note": "n"}])

    committing(monkeypatch, act)
    code, out = command("tail", "db.t", "-f", "--from", "earliest", "--seconds", "0", "--json")
    assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (0, [1, 2])


def test_a_signal_ends_it_also_between_snapshots_without_changes(keyed, command, monkeypatch):
    for number in range(2, 6):
        keyed.compact(full=True)
        keyed.write([{"id": number, "note": "n"}])
    latest = keyed.latest_snapshot().id
    reads = []

    def act(look):
        reads.append(look)
        if look == 2:
            os.kill(os.getpid(), signal.SIGINT)

    committing(monkeypatch, act)
    monkeypatch.setattr(type(keyed), "changes", lambda *_, **__: pa.table({"id": pa.array([], pa.int64())}))
    code, out = command("tail", "db.t", "-f", "--from", "earliest")
    assert (code, out) == (0, "")
    assert len(reads) < latest


def test_a_pause_may_be_longer_than_python_waits(keyed, command):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    code, out = command("tail", "db.t", "-f", "--from", "now", "--every", "1e300")
    timer.join()
    assert (code, out) == (0, "")


@pytest.mark.parametrize(
    ("start", "ids"), [("now", []), ("latest", [2]), ("earliest", [1, 2]), ("2", [2]), ("3", []), (None, [1, 2])]
)
def test_where_it_begins(keyed, command, start, ids):
    keyed.write([{"id": 2, "note": "b"}])
    chosen = [] if start is None else ["--from", start]
    code, out = command("tail", "db.t", "-f", "--seconds", "0.01", "--json", *chosen)
    assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (0, ids)


def test_columns_are_aligned_with_one_header(keyed, command):
    keyed.write([{"id": 2, "note": "x\x1b[31m"}])
    code, out = command("tail", "db.t", "-f", "--from", "earliest", "--seconds", "0.01", "--columns", "id,note")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 3)
    assert lines[0].split() == ["rowkind", "_SNAPSHOT_ID", "_COMMIT_TIME", "id", "note"]
    assert lines[2].endswith("2   x\\x1b[31m")


def test_a_note_about_missing_changes_is_json_too(keyed, command, capsys):
    for number in (2, 3):
        keyed.write([{"id": number, "note": "n"}])
    keyed.maintenance.apply(keyed.maintenance.plan_snapshot_expiry(keep_last=1, keep_max=1))
    code, out = command("tail", "db.t", "-f", "--from", "earliest", "--seconds", "0.01", "--json")
    assert (code, json.loads(out)["missed_snapshots"]) == (0, [3, 3])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--from", "now"], "--from needs --follow"),
        (["--every", "2"], "--every needs --follow"),
        (["-f", "--from", "tomorrow"], "--from must be now, latest, earliest or a snapshot id, not 'tomorrow'"),
        (["-f", "--from", "9"], "has no snapshot 9"),
        (["-f", "--from", "now", "-n", "3"], "-n cannot be given with --from"),
        (["-f", "--every", "0"], "--every must be more than 0 seconds"),
        (["-f", "--every", "x"], "'x' is not a duration"),
        (["-f", "-n", "-1"], "must be 0 or more"),
        (["-f", "--columns", "nope"], "no column 'nope'"),
    ],
)
def test_wrong_arguments_are_named(keyed, command, arguments, problem):
    code, out = command("tail", "db.t", *arguments)
    assert (code, problem in out) == (2, True), out
