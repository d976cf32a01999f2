"""The last changes of rows by columns: equal to the last changes that are decoded message by message."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres import net_changes as module
from paimon_lake.sources.postgres.change_rows import batch_of_changes
from paimon_lake.sources.postgres.net_changes import net_changes
from paimon_lake.sources.postgres.pgoutput import Decoder, LaterColumns
from paimon_lake.sources.postgres.transactions import read_transactions
from tests.pipelines.sources.postgres.test_pgoutput import (
    OTHER,
    SAME,
    TABLE,
    begin,
    commit,
    delete,
    insert,
    relation,
    transaction,
    truncate,
    update,
)

END = 1 << 40


def read(messages, after=0, before=END, *, tables=(TABLE,), rows=1000, size_bytes=1 << 20, most_bytes=1 << 20):
    return read_transactions(
        iter(messages), tables, after, before, rows=rows, size_bytes=size_bytes, most_bytes=most_bytes
    )


def decoder(columns=("t", "id"), key=("id",)):
    return Decoder(TABLE, columns, key, bool, 1 << 20)


keys = st.sampled_from([b"1", b"2", b"3", b""])
values = st.one_of(st.none(), st.sampled_from([b"", b"a", b"bc", b"x" * 300]))
rows = st.tuples(keys, values, values)
changes = st.one_of(
    rows.map(lambda row: insert(*row)),
    rows.map(lambda row: insert(*row, oid=OTHER)),
    rows.map(lambda row: update(*row)),
    st.tuples(rows, rows, st.sampled_from([b"K", b"O"])).map(lambda both: update(*both[0], old=both[1], mark=both[2])),
    rows.map(lambda row: delete(*row)),
    st.just(truncate(TABLE)),
    st.just(truncate(OTHER, TABLE)),
    st.just(truncate(OTHER)),
    st.just(relation()),
)
transactions = st.lists(st.lists(changes, max_size=8), max_size=4)


def messages_of(histories):
    found = [relation()]
    for number, messages in enumerate(histories):
        found += [begin(100 * (number + 1)), *messages, commit(100 * (number + 1))]
    return found


@given(transactions, st.sampled_from([0, 100, 150, 300]), st.sampled_from([("id",), ("id", "more")]))
@settings(deadline=None)
def test_columns_and_messages_have_the_same_last_changes(histories, after, key):
    messages = messages_of(histories)
    one = decoder(("t", "id", "more"), key)
    expected, _ = one.read(iter(messages), after, rows=1 << 30, size_bytes=1 << 30)
    found = net_changes(read(messages), one, after)
    assert found.batch.equals(batch_of_changes(expected.rows, 3, [one.columns.index(name) for name in key]))
    assert (found.changes, found.transactions, found.is_truncated) == (
        expected.changes,
        expected.transactions,
        expected.is_truncated,
    )


def test_long_and_many_values_are_copied_whole(monkeypatch):
    monkeypatch.setattr(module, "_GATHER_BYTES", 64)
    monkeypatch.setattr(module, "_LARGE", 50)
    sizes = [0, 1, 49, 50, 51, 300, 7, 7, 7, 64, 20]
    rows = [insert(b"%d" % at, None, bytes([65 + at]) * size) for at, size in enumerate(sizes)]
    found = net_changes(read(transaction(*rows)), decoder(), 0).batch
    assert found["v0"].to_pylist() == [bytes([65 + at]) * size for at, size in enumerate(sizes)]


def test_unchanged_values_are_taken_from_the_changes_before():
    found = net_changes(read(transaction(insert(b"1", None, b"a"), update(b"1", b"x", SAME))), decoder(), 0)
    assert found.batch["v0"].to_pylist() == [b"a"]
    found = net_changes(read(transaction(update(b"1", b"x", SAME))), decoder(("id", "more")), 0)
    assert found.batch.schema.names == ["lsn", "deleted", "v0", "v1"]  # the unchanged column is not declared


def test_a_table_that_is_described_in_two_ways():
    messages = transaction(insert(b"1", None, b"a"), relation(names=("id", "t")), insert(b"2", b"b"))
    assert net_changes(read(messages), decoder(), 0).batch["v0"].to_pylist() == [b"a", b"b"]


def test_changes_end_before_the_first_transaction_with_later_columns():
    def check(one):
        if len(one.columns) > 2:
            raise LaterColumns(one)

    old = transaction(relation(names=("id", "t")), insert(b"1", b"a"))
    both = [begin(200), insert(b"2", b"b"), relation(), insert(b"3", b"m", b"c"), commit(200)]
    one = Decoder(TABLE, ("t", "id"), ("id",), check, 1 << 20)
    emptied = [*transaction(truncate(TABLE)), relation(names=("id", "t")), *both]
    for messages, after, follows in ((old + both, 0, True), (old + both, 101, False), (emptied, 0, True)):
        with pytest.raises(LaterColumns) as caught:
            net_changes(read(messages), one, after)
        assert (caught.value.lsn, caught.value.follows, len(caught.value.relation.columns)) == (200, follows, 3)
    found = net_changes(read(old + both), one, 0, 200)
    assert (found.batch["v1"].to_pylist(), found.changes, found.transactions) == ([b"1"], 1, 1)


def test_columns_that_a_description_lacks_are_null():
    one = Decoder(TABLE, ("more", "id", "extra"), ("id",), bool, 1 << 20, frozenset({"more", "extra"}))
    lacking = [relation(names=("id", "t")), insert(b"1", b"a"), update(b"2", b"b", old=(b"1", b"a"))]
    found = net_changes(read(transaction(*lacking)), one, 0).batch
    assert [found[name].to_pylist() for name in ("deleted", "v0", "v1", "v2")] == [
        [True, False], [None, None], [b"1", b"2"], [None, None],
    ]  # fmt: skip
    found = net_changes(read(transaction(*lacking, relation(), insert(b"3", b"m", b"c"))), one, 0).batch
    assert found["v0"].to_pylist() == [None, None, b"m"]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (transaction(insert(b"1", None, b"abcdef")[:-3]), "cut off"),
        (transaction(insert(b"1", None, b"a")[:12]), "cut off"),
        (transaction(insert(b"1", None, b"a")[:6]), "cut off"),
        (transaction(delete(b"1", None, None)[:-1]), "cut off"),
        (transaction(update(b"1", None, b"a", old=(b"1", None, None))[:21]), "cut off|does not fit"),
        (transaction(insert(b"1", None, b"a")[:-7] + b"x"), "unknown kind b'x'"),
        (transaction(insert(b"1", None)), "does not fit the description"),
        ([begin(1), insert(b"1", None, b"a"), commit(1)], "does not fit the description"),
        (transaction(b"Z" + bytes(20)), "unknown type b'Z'"),
        ([begin(1)[:4]], "cut off"),
        ([b""], "cut off"),
        (transaction(truncate(TABLE, OTHER)[:-2]), "cut off"),
        (transaction(relation()[:-2]), "cut off"),
    ],
)
def test_messages_that_are_not_valid(messages, text):
    with pytest.raises(PipelineError, match=text):
        net_changes(read(messages), decoder(), 0)


def test_transactions_are_read_between_two_positions():
    messages = [one for lsn in (100, 200, 300) for one in transaction(insert(b"%d" % lsn, None, b"a"), lsn=lsn)]
    found = read(messages, 200, 300)
    assert net_changes(found, decoder(), 0).batch["v1"].to_pylist() == [b"200"]
    assert (found.is_at_end, found.is_full, found.end) == (True, False, 210)
    assert net_changes(read(messages), decoder(), 300).batch["v1"].to_pylist() == [b"300"]


@pytest.mark.parametrize("bound", [{"rows": 2}, {"size_bytes": 100}])
def test_reading_ends_with_a_whole_transaction(bound):
    first = transaction(insert(b"1", None, b"a"), insert(b"2", None, b"b"), insert(b"3", None, b"c"))
    found = read([*first, *transaction(insert(b"4", None, b"d"), lsn=200)], **bound)
    assert (len(found.messages), found.is_full, found.end) == (6, True, 110)


def test_other_tables_and_skipped_transactions_do_not_count():
    messages = [
        *transaction(*[insert(b"1", None, b"a")] * 9, lsn=50),
        *transaction(*[insert(b"1", None, b"a", oid=OTHER)] * 9),
        *transaction(insert(b"2", None, b"b"), lsn=200),
    ]
    found = read(messages, 60, rows=3)
    assert net_changes(found, decoder(), 0).batch["v1"].to_pylist() == [b"2"]
    assert (found.is_full, found.read) == (False, len(messages))


def test_a_transaction_that_is_too_large():
    with pytest.raises(PipelineError, match=r"at 0/64 has more than 30 bytes: raise source\.transaction_bytes"):
        read(transaction(insert(b"1", None, b"a" * 40)), most_bytes=30)
