"""Groups on a storage in memory: two tables change in one atomic step, wherever the publishing process dies."""

import contextlib
import itertools
import json

import pyarrow as pa
import pytest

from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.errors import (
    AlreadyExists,
    CommitConflict,
    CommitStateUnknown,
    CorruptTable,
    InvalidRequest,
    NotFound,
    PaimonError,
    StorageError,
    UnsupportedFeature,
)
from paimon_core.group import group as group_module
from paimon_core.group import table_commit
from paimon_core.group.group import Group
from paimon_core.group.record import Intent, Mode, Part
from paimon_core.group.store import GroupStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support.faulty_storage import MUTATIONS, Died, FaultyStorage, Outcome
from tests.support.long_cases import long_cases

numbers = itertools.count()
NAMES = ("db.a", "db.b")


@pytest.fixture
def catalog():
    catalog = FilesystemCatalog(FsspecStorage("memory"), f"/group-{next(numbers)}")
    catalog.create_database("db")
    for name in NAMES:
        schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
        options = {"bucket": "1", "write-only": "true", "commit.min-retry-wait": "1 ms"}
        catalog.create_table(name, schema, primary_key=["k"], options=options)
    return catalog


def through(catalog, storage) -> FilesystemCatalog:
    return FilesystemCatalog(storage, catalog.warehouse)


def rows(value: int) -> pa.Table:
    return pa.table({"k": [1, 2], "v": [value, value]}, pa.schema([("k", pa.int64()), ("v", pa.int64())]))


def parts(catalog, value: int, names=NAMES):
    out = {}
    for name in names:
        with catalog.table(name).writer() as writer:
            writer.write(rows(value))
            out[name] = writer.flush()
    return out


def seen(group: Group, version: int | None = None) -> set[tuple[int, ...]]:
    """Return the values that a reader of the group finds, by table."""
    return {tuple(group.table(name, version).scan(["v"]).to_arrow()["v"].to_pylist()) for name in NAMES}


def test_a_publish_is_one_version_of_all_tables(catalog):
    group = catalog.group("daily")
    first = group.publish(parts(catalog, 1), properties={"run": "r1"})
    assert (first.number, first.properties) == (1, {"run": "r1"})
    second = group.publish(parts(catalog, 2))
    assert seen(group) == {(2, 2)}
    assert seen(group, 1) == {(1, 1)}
    assert [v.number for v in group.versions()] == [1, second.number]
    assert catalog.table("db.a").latest_snapshot().properties["group.version"] == "2"


def test_readers_of_the_group_do_not_see_what_a_table_alone_commits(catalog):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1))
    catalog.table("db.a").write(rows(7))
    assert seen(group) == {(1, 1)}


def test_a_table_that_a_publish_leaves_alone_keeps_its_snapshot(catalog):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1))
    catalog.table("db.b").write(rows(7))
    version = group.publish(parts(catalog, 2, ["db.a"]))
    assert version.tables["db.b"] == group.versions()[0].tables["db.b"]
    assert group.table("db.b").scan(["v"]).to_arrow()["v"].to_pylist() == [1, 1]


BUCKETS = {
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "2", "merge-engine": "aggregation"}
    | {"fields.v.aggregate-function": "sum"},
    "postponed": {"bucket": "-2", "postpone.target-row-num-per-bucket": "2", "merge-engine": "aggregation"}
    | {"fields.v.aggregate-function": "sum"},
}


@pytest.mark.parametrize("mode", BUCKETS)
def test_rows_whose_buckets_another_commit_took_are_written_again_by_whoever_finishes(catalog, monkeypatch, mode):
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
    table = catalog.create_table("db.b2", schema, primary_key=["k"], options=BUCKETS[mode])

    def publish(group, value):
        return group.publish(parts(catalog, value, ["db.a", "db.b2"]))

    group, commits = catalog.group("g"), []
    commit = table_commit.commit_part

    def after_another(part_table, *args):
        commits.append(part_table.name)
        if part_table.name == "db.b2":
            table.write(pa.table({"k": [2, 3, 4 + len(commits), 9, 10], "v": [1] * 5}, schema))
        if len(commits) == 2:
            raise Died
        return commit(part_table, *args)

    monkeypatch.setattr(group_module, "commit_part", after_another)
    with pytest.raises(Died):
        publish(group, 10)
    assert group.recover().number == 1
    assert publish(group, 100).number == 2
    found = {r["k"]: r["v"] for r in group.table("db.b2").scan().to_arrow().to_pylist()}
    assert (found[1], found[2], found[3]) == (110, 113, 3)
    assert {r["k"]: r["v"] for r in group.table("db.b2", 1).scan().to_arrow().to_pylist()}[2] == 12
    assert not table.maintenance.check(deep=True).errors  # the files of the intent are not referenced


@pytest.mark.parametrize(
    ("options", "key", "said"),
    [
        ({"bucket": "-1"}, ["k"], "cross-partition upsert"),
        ({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, ["k", "v"], "in the postpone bucket"),
    ],
)
def test_what_a_version_could_not_show_is_refused_before_the_intent_exists(catalog, options, key, said):
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
    catalog.create_table("db.c", schema, primary_key=key, partition_by=["v"], options=options)
    group = catalog.group("g")
    with pytest.raises(UnsupportedFeature, match=said):
        group.publish(parts(catalog, 1, ["db.a", "db.c"]))
    assert group.publish(parts(catalog, 1)).number == 1


def test_a_token_publishes_once(catalog):
    group = Group(catalog, "daily")
    messages = parts(catalog, 1)
    assert group.publish(messages, token="run-1") == group.publish(messages, token="run-1")
    assert len(group.versions()) == 1


def test_a_token_publishes_once_when_another_publishes_it_while_a_number_is_chosen(catalog, monkeypatch):
    group = Group(catalog, "daily")
    first, second = parts(catalog, 1), parts(catalog, 1)
    real = Group._highest_known_number

    def slow(self, wish):
        monkeypatch.setattr(Group, "_highest_known_number", real)
        group.publish(first, token="run-1")
        return real(self, wish)

    monkeypatch.setattr(Group, "_highest_known_number", slow)
    assert group.publish(second, token="run-1").number == 1
    assert [version.number for version in group.versions()] == [1]


def test_an_overwrite_replaces_the_table(catalog):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1))
    with catalog.table("db.a").writer() as writer:
        writer.write(rows(5).slice(0, 1))
        messages = {"db.a": writer.flush()}
    group.publish(messages, overwrite={"db.a": Mode.OVERWRITE_TABLE})
    assert group.table("db.a").scan().to_arrow().num_rows == 1


def test_a_rollback_brings_all_tables_back_and_withdraws_what_was_between(catalog):
    group = Group(catalog, "daily")
    for value in (1, 2, 3):
        group.publish(parts(catalog, value))
    version = group.rollback(1)
    assert (version.number, version.restores) == (4, 1)
    assert seen(group) == {(1, 1)}
    assert catalog.table("db.a").scan(["v"]).to_arrow()["v"].to_pylist() == [1, 1]
    assert [v.number for v in group.versions()] == [1, 4]
    with pytest.raises(InvalidRequest, match="version 3 of group daily was withdrawn"):
        group.table("db.a", 3)
    group.publish(parts(catalog, 9))
    assert seen(group) == {(9, 9)}


def test_a_rollback_that_wakes_up_late_undoes_nothing_that_came_after(catalog):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1))
    group.publish(parts(catalog, 2))
    storage = FaultyStorage(catalog.storage)
    late = Group(through(catalog, storage), "daily")

    def others():
        assert group.recover().restores == 1
        group.publish(parts(catalog, 5))

    decided = lambda: storage.before("read", "/db.db/b/tag/", others)  # noqa: E731
    storage.before("create_exclusive", "/intent-3", decided)
    late.rollback(1)
    assert seen(group) == {(5, 5)}


def test_expired_versions_free_their_tags(catalog):
    group = Group(catalog, "daily")
    for value in (1, 2, 3):
        group.publish(parts(catalog, value))
    assert group.expire(keep_last=1) == [1, 2]
    assert [t.name for t in catalog.table("db.a").tags.list()] == ["group-daily-3"]
    assert seen(group) == {(3, 3)}
    with pytest.raises(NotFound, match="group daily has no version 1: it has 3 to 3"):
        group.table("db.a", 1)


def test_two_processes_may_expire_versions_at_once(catalog, monkeypatch):
    group = Group(catalog, "daily")
    for value in (1, 2, 3):
        group.publish(parts(catalog, value))
    real = GroupStore.numbers

    def overtaken(store, kind):
        found = real(store, kind)
        with monkeypatch.context() as patched:
            patched.setattr(GroupStore, "numbers", real)
            assert group.expire(2) == ([1] if kind == "version" and 1 in found else [])
        return found

    monkeypatch.setattr(GroupStore, "numbers", overtaken)
    assert group.expire(2) == []
    monkeypatch.undo()
    assert [v.number for v in group.versions()] == [2, 3]


def test_reads_and_publishes_go_on_while_another_process_expires_versions(catalog, monkeypatch):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1), token="1")
    real = GroupStore.numbers

    def overtaken(store, kind):
        found = real(store, kind)
        with monkeypatch.context() as patched:
            patched.setattr(GroupStore, "numbers", real)
            if len(real(store, "version")) == 1:
                group.publish(parts(catalog, 2))
                group.expire(1)
        return found

    monkeypatch.setattr(GroupStore, "numbers", overtaken)
    assert group.store.intent_of("1") is None
    monkeypatch.undo()
    made = []

    def again(store, kind):
        found = real(store, kind)
        if not made:
            made.append(0)
            made.append(group.publish(parts(catalog, 3)))
            group.expire(1)
        return found

    monkeypatch.setattr(GroupStore, "numbers", again)
    assert group.latest() == made[1]


def test_numbers_that_are_in_use_lose_no_rows(catalog):
    """Numbers are skipped that a foreign tag uses, or that a table has from a group whose records were deleted."""
    table = catalog.table("db.a")
    table.write(rows(0))
    table.tags.create("group-daily-3")
    group = catalog.group("daily")
    assert group.publish(parts(catalog, 1)).number == 4
    catalog.storage.delete_directory(group.store.directory)
    assert group.publish(parts(catalog, 2)).number == 5
    assert seen(group) == {(2, 2)}


def test_a_tag_created_during_a_publish_is_not_taken_for_its_own(catalog):
    catalog.table("db.a").write(rows(0))
    storage = FaultyStorage(catalog.storage)
    storage.before("create_exclusive", "snapshot-2", lambda: catalog.table("db.a").tags.create("group-daily-1"))
    with contextlib.suppress(PaimonError):
        through(catalog, storage).group("daily").publish(parts(catalog, 1))
    catalog.storage.delete([catalog.table("db.a").context.paths.snapshot(2)])
    group = catalog.group("daily")
    if group.latest() is None:
        with pytest.raises(AlreadyExists, match="is not of group daily"):
            group.recover()
        catalog.table("db.a").tags.rename("group-daily-1", "mine")
        assert group.recover().number == 1
        assert seen(group) == {(1, 1)}


def test_committed_messages_are_refused_before_an_intent_is_created(catalog):
    group = catalog.group("daily")
    same = parts(catalog, 1)
    group.publish(same, token="once")
    group.publish(parts(catalog, 2))
    group.expire(1)
    with pytest.raises(InvalidRequest, match="were committed before"):
        group.publish(same, token="once")
    assert group.publish(parts(catalog, 3)).number == 3
    assert seen(group) == {(3, 3)}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda g, c: g.publish({}), "needs the messages of at least one table"),
        (lambda g, c: g.publish({"db.none": []}), "no table db.none"),
        (lambda g, c: g.publish({}, overwrite={"db.a": Mode.APPEND}), "no messages"),
        (lambda g, c: g.publish({"db.a": []}, overwrite={"db.a": Mode.ROLLBACK}), "call rollback"),
        (lambda g, c: g.rollback(9), "no version 9"),
        (lambda g, c: g.table("db.a"), "nothing was published yet"),
        (lambda g, c: g.expire(0), "keep_last must be a whole number"),
        (lambda g, c: g.expire(None), "keep_last must be a whole number"),
        (lambda g, c: g.rollback("1"), "to must be a whole number"),
        (lambda g, c: g.table("db.a", 1.5), "version must be a whole number"),
        (lambda g, c: g.publish(None), "messages by table"),
        (lambda g, c: g.publish(parts(c, 1), overwrite="append"), "must map tables to modes"),
        (lambda g, c: g.publish(parts(c, 1), overwrite={"db.a": "truncate"}), "must be one of append"),
        (lambda g, c: g.publish(parts(c, 1), properties={"run": 1}), "must be text"),
        (lambda g, c: g.publish(parts(c, 1), properties=5), "properties must map"),
        (lambda g, c: g.publish(parts(c, 1), token=5), "token must be"),
        (lambda g, c: g.publish(parts(c, 1) | {"db.a$branch_main": []}), "are the same table"),
        (lambda g, c: Group(c, "../x").versions(), "group name"),
        (lambda g, c: Intent.from_bytes(b"[]"), "not a group intent"),
    ],
)
def test_wrong_calls_are_refused(catalog, wrong, message):
    with pytest.raises(PaimonError, match=message):
        wrong(Group(catalog, "daily"), catalog)


def test_messages_that_may_conflict_are_refused(catalog):
    for value in (1, 2):
        catalog.table("db.a").write(rows(value))
    table = catalog.table("db.a")
    messages = [table.run_compaction(task) for task in table.plan_compaction(full=True)]
    with pytest.raises(InvalidRequest, match="commit them to the table alone"):
        Group(catalog, "daily").publish({"db.a": messages})


def test_a_publish_that_can_never_land_is_abandoned(catalog):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1))
    wish = parts(catalog, 2)
    with pytest.raises(NotFound, match="has no pending publish"):
        group.abandon()
    assert group.store.create_intent(Intent(2, "t", {n: Part(Mode.APPEND, tuple(m)) for n, m in wish.items()}))
    catalog.drop_table("db.b")
    with pytest.raises(PaimonError):
        group.recover()
    with pytest.raises(InvalidRequest, match=r"is committed to table db\.a already"):
        group.abandon()
    catalog.table("db.a").rollback(snapshot=1)
    assert group.abandon().properties == {"group.abandoned": "true"}
    assert group.recover() is None
    assert group.publish(parts(catalog, 3, ["db.a"])).number == 3
    assert group.table("db.a").scan(["v"]).to_arrow()["v"].to_pylist() == [3, 3]
    assert group.expire(keep_last=1) == [1, 2]


@pytest.mark.parametrize("member", ["number", "time_millis", "properties", "restores", "tables"])
def test_a_mistyped_record_is_told(catalog, member):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1))
    value = json.loads(catalog.storage.read(f"{group.store.directory}/version-1"))
    catalog.storage.overwrite(f"{group.store.directory}/version-1", json.dumps({**value, member: ["x"]}).encode())
    with pytest.raises(CorruptTable, match="version-1"):
        group.versions()


def test_records_travel():
    intent = Intent(3, "t", {"db.a": Part(Mode.ROLLBACK, tag="x", undone=(4, "u"))}, {"p": "q"}, 1)
    assert Intent.from_bytes(intent.to_bytes()) == intent


class Watched(FaultyStorage):
    """Runs a check at every mutating call."""

    check = staticmethod(lambda: None)

    def _call(self, verb, path, action):
        if verb in MUTATIONS:
            self.check()
        return super()._call(verb, path, action)


@pytest.mark.parametrize("after", [False, *long_cases([True])])
def test_a_reader_sees_all_old_or_all_new_wherever_the_publisher_dies(catalog, after):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 0))
    looks = 0
    for value in range(1, 100):
        storage = Watched(catalog.storage, die_at=value - 1, die_after=after)
        states = []
        storage.check = lambda states=states: states.append(seen(group))
        wish = parts(catalog, value)
        try:
            Group(through(catalog, storage), "daily").publish(wish, token=str(value))
        except Died:
            assert all(len(state) == 1 for state in [*states, seen(group)])
            looks += len(states)
            group.publish(wish, token=str(value))
            assert seen(group) == {(value, value)}
            continue
        break
    assert 8 < value < 99
    assert looks > 50
    for name in NAMES:
        snapshots = catalog.table(name).context.snapshots
        assert [snapshots.read(i).commit_identifier for i in snapshots.ids()] == list(range(1, value + 2))


@pytest.mark.parametrize("outcome", [Outcome.LOSE, Outcome.EXISTS, Outcome.UNKNOWN, Outcome.FAIL])
@pytest.mark.parametrize("record", ["/intent-2", "/version-2", "/tag-group-daily-2"])
def test_a_lost_answer_publishes_once(catalog, outcome, record):
    group = Group(catalog, "daily")
    group.publish(parts(catalog, 1))
    storage = FaultyStorage(catalog.storage)
    storage.on("create_exclusive", record, outcome)
    wish = parts(catalog, 2)
    try:
        Group(through(catalog, storage), "daily").publish(wish, token="x")
    except (StorageError, CommitStateUnknown):
        group.publish(wish, token="x")
    assert seen(group) == {(2, 2)}
    assert [v.number for v in group.versions()] == [1, 2]


@pytest.mark.parametrize("at", [pytest.param(at, marks=pytest.mark.long if at % 9 else ()) for at in range(0, 40, 3)])
def test_two_publishers_take_turns(catalog, at):
    """A second publish begins at some call of the first: both succeed, one after the other."""
    group = Group(catalog, "daily")
    storage = FaultyStorage(catalog.storage)
    calls = itertools.count()

    class Interrupted(FaultyStorage):
        def _call(self, verb, path, action):
            if next(calls) == at:
                group.publish(parts(catalog, 8))
            return super()._call(verb, path, action)

    storage = Interrupted(catalog.storage)
    wish = parts(catalog, 9)
    Group(through(catalog, storage), "daily").publish(wish)
    values = [seen(group, v.number) for v in group.versions()]
    assert values in ([{(8, 8)}, {(9, 9)}], [{(9, 9)}, {(8, 8)}])


def loaded(catalog, value):
    """The snapshots of both tables after rows were committed to each by itself."""
    return {name: catalog.table(name).write(rows(value)).id for name in NAMES}


def test_snapshots_that_the_tables_have_are_published(catalog):
    group = Group(catalog, "g")
    first = loaded(catalog, 1)
    loaded(catalog, 2)
    version = group.publish_snapshots(first, properties={"at": "1"}, token="one")
    assert group.publish_snapshots(first, token="one").number == version.number
    assert ({name: member.snapshot for name, member in version.tables.items()}, version.properties) == (
        first,
        {"at": "1"},
    )
    assert group.table("db.a").scan().to_arrow()["v"].to_pylist() == [1, 1]
    assert [catalog.table(name).latest_snapshot().id for name in NAMES] == [2, 2]


def test_a_version_of_snapshots_has_only_their_tables(catalog):
    group = Group(catalog, "g")
    found = loaded(catalog, 1)
    group.publish_snapshots(found)
    version = group.publish_snapshots({"db.b": found["db.b"]})
    assert version.tables.keys() == {"db.b"}
    group.expire(1)
    assert catalog.table("db.a").tags.list() == []


def test_snapshots_are_not_published_over_a_version_that_the_caller_has_not_seen(catalog):
    group = Group(catalog, "g")
    first = group.publish_snapshots(loaded(catalog, 1), after=0)
    for unseen in (0, 7):
        with pytest.raises(CommitConflict, match=f"the newest version is 1, not {unseen}"):
            group.publish_snapshots(loaded(catalog, 2), after=unseen)
    assert group.latest() == first
    with pytest.raises(InvalidRequest, match="after must be a whole number"):
        group.publish_snapshots(loaded(catalog, 2), after="1")
    assert group.publish_snapshots(loaded(catalog, 3), after=1).number == 2


def test_snapshots_that_do_not_exist_are_refused(catalog):
    group = Group(catalog, "g")
    for wrong, error in (({}, InvalidRequest), ({"db.a": 9}, NotFound), ({"db.a": "1"}, InvalidRequest)):
        with pytest.raises(error):
            group.publish_snapshots(wrong)
    assert group.latest() is None


def test_a_publish_of_a_snapshot_that_is_gone_can_be_abandoned(catalog, monkeypatch):
    group = Group(catalog, "g")
    first, second = loaded(catalog, 1), loaded(catalog, 2)
    with monkeypatch.context() as patched:
        patched.setattr(group_module, "commit_part", lambda *_: (_ for _ in ()).throw(Died))
        with pytest.raises(Died):
            group.publish_snapshots(second)
    catalog.table("db.b").rollback(snapshot=first["db.b"])
    catalog.table("db.b").write(rows(3))  # the number of the snapshot is used again
    with pytest.raises(NotFound, match="was replaced"):
        group.recover()
    group.abandon()
    assert group.publish_snapshots(first).tables["db.b"].snapshot == first["db.b"]
