"""WritableTable: users, identifiers, watermarks and callbacks; what a commit guarantees to its caller."""

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.table.writes import after_commit

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def table(catalog):
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "1", "write-only": "true"})


def rows(*keys):
    return pa.table({"k": list(keys), "v": [str(k) for k in keys]}, schema=SCHEMA)


@pytest.mark.parametrize(
    ("user", "word"),
    [("a/b", "'/'"), ("a\\b", "'/'"), ("a\nb", "control character"), ("x" * 201, "201 bytes"), ("ö" * 101, "202 bytes"),
     ("\ud800", "text"), ("", "blank"), ("\t", "blank"), (5, "blank")],
)  # fmt: skip
def test_a_commit_user_is_fit_for_file_names(table, user, word):
    with pytest.raises(paimon.InvalidRequest, match=word):
        table.write(rows(1), user=user)
    assert table.latest_snapshot() is None


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda t: t.write(rows(1), properties=5), "must map texts to texts"),
        (lambda t: t.write(rows(1), properties="run=1"), "must map texts to texts"),
        (lambda t: t.write(rows(1), properties={"paimon-core.base": "1 x"}), "is set by the commit itself"),
        (lambda t: t.filter_committed("u", 5), "whole numbers"),
        (lambda t: t.filter_committed("u", ["5"]), "whole numbers"),
        (lambda t: t.analyze("k"), "list of columns"),
        (lambda t: t.analyze(5), "list of columns"),
    ],
)
def test_arguments_of_another_type_are_named(table, wrong, says):
    with pytest.raises(paimon.InvalidRequest, match=says):
        wrong(table)
    assert table.latest_snapshot() is None


@pytest.mark.parametrize("user", ["load of ods.flights, 2013-01-01: 3f", "ö" * 100, "a.b-c_d"])
def test_a_commit_user_may_be_a_sentence(table, user):
    assert table.write(rows(1), user=user).commit_user == user


def test_a_watermark_never_falls_back(table):
    assert table.write(rows(1)).watermark is None
    assert table.write(rows(1), watermark=9).watermark == 9
    assert table.overwrite(rows(2), watermark=4).watermark == 9
    with table.writer() as writer:
        writer.write(rows(3))
        assert table.commit(writer.flush(), watermark=10).watermark == 10
    for wrong in (1.5, "9", True, 2**63):
        with pytest.raises(paimon.InvalidRequest, match="watermark"):
            table.write(rows(1), watermark=wrong)


def test_a_restarted_job_learns_which_identifiers_are_left(table):
    assert table.filter_committed("u", [1, 2]) == [1, 2]
    table.write(rows(1), user="u", identifier=2)
    table.write(rows(1), user="other", identifier=9)
    table.write(rows(1), user="u")
    assert table.filter_committed("u", [1, 2, 3, 7]) == [3, 7]
    assert table.filter_committed("nobody", [0]) == [0]


def test_an_empty_batch_makes_a_snapshot_only_where_an_option_says_so(catalog, table):
    assert table.write(rows()) is None
    assert table.write(rows(), user="u", identifier=1) is None
    options = {"bucket": "1", "write-only": "true"}
    kept = catalog.create_table(
        "db.kept", SCHEMA, primary_key=["k"], options={**options, "snapshot.ignore-empty-commit": "false"}
    )
    assert kept.write(rows(), watermark=3).watermark == 3
    forced = catalog.create_table(
        "db.forced", SCHEMA, primary_key=["k"], options={**options, "commit.force-create-snapshot": "true"}
    )
    assert forced.write(rows()) is None
    assert forced.write(rows(), user="u", identifier=1).total_record_count == 0
    assert forced.write(rows(1), user="u", identifier=1).id == 1


def test_messages_of_another_branch_are_refused(catalog, table):
    other = catalog.create_table("db.o", SCHEMA, primary_key=["k"], options={"bucket": "2", "write-only": "true"})
    with table.writer() as writer:
        writer.write(rows(1))
        messages = writer.flush()
    with pytest.raises(paimon.CommitConflict, match="written to another table"):
        other.commit(messages)


def test_changes_and_compactions_pass_over_statistics(table):
    table.write(rows(1))
    table.analyze()
    table.write(rows(2))
    assert table.changes().to_arrow()["k"].to_pylist() == [1, 2]
    assert table.compact(full=True).snapshot.statistics == table.at(snapshot=2).latest_snapshot().statistics


# -- callbacks


def test_callbacks_follow_every_commit_and_every_repetition(table):
    told = []
    telling = table.with_callbacks(lambda t, s: told.append((t.name, s.id, s.commit_kind)))
    telling.write(rows(1), user="u", identifier=1)
    telling.write(rows(1), user="u", identifier=1)
    telling.overwrite(rows(2))
    telling.analyze()
    telling.write(rows())
    table.write(rows(3))
    assert told == [
        ("db.t", 1, "APPEND"),
        ("db.t", 1, "APPEND"),
        ("db.t", 2, "OVERWRITE"),
        ("db.t", 3, "ANALYZE"),
    ]


def test_a_callback_that_fails_fails_no_commit_and_no_other_callback(catalog):
    table = catalog.create_table("db.c", SCHEMA, primary_key=["k"], options={"bucket": "1"})
    told = []

    def broken(table, snapshot):
        raise ValueError("no network")

    telling = table.with_callbacks(broken).with_callbacks(lambda t, s: told.append(s.id))
    with pytest.raises(paimon.AfterCommitFailed, match=r"snapshot 1 of user u is committed.*no network") as caught:
        telling.write(rows(1), user="u", identifier=1)
    assert caught.value.facts["snapshot"] == 1
    assert isinstance(caught.value.__cause__, ValueError)
    assert told == [1]
    assert table.scan().count() == 1
    with pytest.raises(paimon.InvalidRequest, match="callable"):
        table.with_callbacks("print")


UNSORTED = {"bucket": "-1"}
BITMAP = "SET ('file-index.bitmap.columns' = 'v')"
POSTPONED = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}
SWITCHED = {"deletion-vectors.modifiable": "true"}
DATED = {"partition.expiration-time": "1 d", "partition.timestamp-formatter": "yyyy-MM-dd"}
EXPIRES = DATED | {"end-input.check-partition-expire": "true"}


def _missing(table):
    (path, *_) = [f.path for f in table.context.storage.walk(table.context.paths.root) if "/data-" in f.path]
    table.context.storage.delete([path])
    return table.maintenance.apply(table.maintenance.plan_missing_removal())


def _prepared(table):
    return table.prepare(rows(5)).publish()


def _expired(table):
    return table.maintenance.apply(table.maintenance.plan_partition_expiry())


COMMITS = {
    "write": (lambda t: t.write(rows(5)), {}, ["APPEND"]),
    "write and compact": (lambda t: t.write(rows(5)), {"full-compaction.delta-commits": "1"}, ["APPEND", "COMPACT"]),
    "commit": (lambda t: t.commit(t.prepare(rows(5)).messages), {}, ["APPEND"]),
    "prepared": (_prepared, {}, ["APPEND"]),
    "overwrite": (lambda t: t.overwrite(rows(5)), {}, ["OVERWRITE"]),
    "update": (lambda t: t.update(paimon.col("k") == 1, {"v": "n"}), {}, ["APPEND"]),
    "delete": (lambda t: t.delete(paimon.col("k") == 1), {}, ["APPEND"]),
    "merge": (lambda t: t.merge(rows(1), on=["k"]), {}, ["APPEND"]),
    "compact": (lambda t: t.compact(full=True), {}, ["COMPACT"]),
    "postponed": (lambda t: t.compact(), POSTPONED, ["COMPACT"]),
    "sort": (lambda t: t.sort_compact(["v"]), UNSORTED, ["COMPACT"]),
    "rewrite indexes": (lambda t: t.alter(BITMAP).rewrite_file_index(), UNSORTED, ["COMPACT"]),
    "rescale": (lambda t: t.rescale(3), {}, ["OVERWRITE"]),
    "analyze": (lambda t: t.analyze(), {}, ["ANALYZE"]),
    "remove missing files": (_missing, {}, ["OVERWRITE"]),
    "compact manifests": (lambda t: t.maintenance.compact_manifests(), {}, ["COMPACT"]),
    "switch of deletion vectors": (
        lambda t: t.alter("SET ('deletion-vectors.enabled' = 'true')"),
        SWITCHED,
        ["APPEND"],
    ),
    "expire partitions": (_expired, DATED, ["OVERWRITE"]),
    "write and expire partitions": (lambda t: t.write(rows(5)), EXPIRES, ["APPEND", "OVERWRITE"]),
}


@pytest.mark.parametrize("name", COMMITS)
def test_callbacks_follow_every_call_that_commits(catalog, name):
    call, options, kinds = COMMITS[name]
    key = [] if options is UNSORTED else ["k"]
    options = {"bucket": "1", **options}
    if "partition.expiration-time" in options:
        dated = {"partition_by": ["v"], "primary_key": ["k", "v"]}
        table = catalog.create_table("db.c", SCHEMA, options=options, **dated)
        table.with_options({"write-only": "true"}).write(pa.table({"k": [9], "v": ["2020-01-01"]}, schema=SCHEMA))
    else:
        table = catalog.create_table("db.c", SCHEMA, primary_key=key, options=options)
    quiet = table.with_options({"write-only": "true"})
    quiet.write(rows(1, 2))
    quiet.write(rows(2, 3))
    if name == "switch of deletion vectors":
        table.compact(full=True)
    told = []

    def fail(table, snapshot):
        told.append(snapshot)
        raise ValueError("no network")

    before = quiet.context.snapshots.latest_id()
    with pytest.raises(paimon.AfterCommitFailed, match="no network") as caught:
        call(table.with_callbacks(fail))
    assert caught.value.facts["snapshot"] == told[0].id
    assert [str(s.commit_kind) for s in told] == kinds
    after = quiet.context.snapshots.latest_id()
    assert [s.id for s in told] == list(range(before + 1, after + 1))


def test_what_the_table_does_by_itself_follows_every_commit(catalog, monkeypatch, caplog):
    done = []

    def fail(context, snapshot):
        raise paimon.StorageError("no tags today")

    monkeypatch.setattr(after_commit, "AFTER_COMMIT", (lambda context, snapshot: done.append(snapshot.id), fail))
    table = catalog.create_table("db.u", SCHEMA, primary_key=["k"], options={"bucket": "1"})
    table.write(rows(1), user="u", identifier=1)
    table.write(rows(1), user="u", identifier=1)
    table.commit(table.prepare(rows(2)).messages)
    assert done == [1, 1, 2]
    assert "no tags today" in caplog.text
    quiet = catalog.create_table("db.q", SCHEMA, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    quiet.write(rows(1))
    assert done == [1, 1, 2]


def test_a_batch_write_has_the_watermark_of_the_end_of_its_input(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.w", {"k": "INT"}, options={"end-input.watermark": "77"})
    assert table.write([{"k": 1}]).watermark == 77
    assert table.write([{"k": 2}], watermark=99).watermark == 99
    assert table.with_options({"end-input.watermark": 100}).overwrite([{"k": 3}]).watermark == 100
