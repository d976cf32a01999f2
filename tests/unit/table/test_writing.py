"""TableWrites: users, identifiers, watermarks and callbacks; what a commit guarantees to its caller."""

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.table import after_commit

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def catalog(tmp_path):
    made = paimon.open_catalog(str(tmp_path))
    made.create_database("db")
    return made


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
    assert table.compact(full=True).statistics == table.at(snapshot=2).latest_snapshot().statistics


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
