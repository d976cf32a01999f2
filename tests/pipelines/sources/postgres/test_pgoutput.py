"""Messages of pgoutput, written here byte by byte as the manual of PostgreSQL describes them."""

from __future__ import annotations

import struct

import pytest

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.pgoutput import UNCHANGED, Decoder, LaterColumns, Relation

TABLE, OTHER = 16_385, 16_386
SAME = object()


def begin(lsn):
    return b"B" + struct.pack("!QqI", lsn, 0, 700)


def commit(lsn):
    return b"C\0" + struct.pack("!QQq", lsn, lsn + 10, 0)


def relation(oid=TABLE, *, identity="d", names=("id", "more", "t")):
    columns = b"".join(
        bytes([name == "id"]) + name.encode() + b"\0" + struct.pack("!Ii", 23 + at, -1) for at, name in enumerate(names)
    )
    return b"R" + struct.pack("!I", oid) + b"s\0o\0" + identity.encode() + struct.pack("!H", len(names)) + columns


def row(*values):
    found = struct.pack("!H", len(values))
    for value in values:
        if value is None:
            found += b"n"
        elif value is SAME:
            found += b"u"
        else:
            found += b"t" + struct.pack("!I", len(value)) + value
    return found


def insert(*values, oid=TABLE):
    return b"I" + struct.pack("!I", oid) + b"N" + row(*values)


def update(*values, old=None, mark=b"K"):
    return b"U" + struct.pack("!I", TABLE) + (mark + row(*old) if old else b"") + b"N" + row(*values)


def delete(*values, mark=b"K"):
    return b"D" + struct.pack("!I", TABLE) + mark + row(*values)


def truncate(*oids):
    return b"T" + struct.pack("!IB", len(oids), 0) + struct.pack(f"!{len(oids)}I", *oids)


def transaction(*messages, lsn=100):
    return [begin(lsn), relation(), *messages, commit(lsn)]


def decoded(messages, after=0, *, rows=1000, size_bytes=1 << 20, most_bytes=1 << 20, columns=("t", "id"), check=bool):
    decoder = Decoder(TABLE, columns, ("id",), check, most_bytes)
    return decoder.read(iter(messages), after, rows=rows, size_bytes=size_bytes)


def net(messages, after=0):
    """Key to values, root and whether it is deleted, of the columns t and id."""
    found, is_read = decoded(messages, after)
    assert is_read
    return {key[0]: (change.values, change.root, change.is_delete) for key, change in found.rows.items()}


def test_the_last_change_of_each_row_in_the_order_of_the_last_changes():
    found, is_read = decoded(
        [
            *transaction(insert(b"1", None, b"a"), insert(b"2", b"x", None), update(b"1", None, b"b")),
            *transaction(delete(b"2", None, None), insert(b"3", None, b"c"), insert(b"9", oid=OTHER), lsn=200),
        ]
    )
    assert [(key, change.values, change.is_delete, change.lsn) for key, change in found.rows.items()] == [
        ((b"1",), (b"b", b"1"), False, 100),
        ((b"2",), (None, b"2"), True, 200),
        ((b"3",), (b"c", b"3"), False, 200),
    ]
    assert (found.changes, found.transactions, found.end, is_read) == (5, 2, 210, True)


def test_a_changed_key_deletes_the_old_key():
    same = transaction(update(b"2", None, b"a", old=(b"1", None, None)))
    assert net(same) == {b"1": ((None, b"1"), None, True), b"2": ((b"a", b"2"), None, False)}
    full = transaction(update(b"1", b"m", b"a", old=(b"1", b"m", b"b"), mark=b"O"))
    assert net(full) == {b"1": ((b"a", b"1"), None, False)}


def test_unchanged_values_come_from_the_old_row_an_earlier_change_or_the_table():
    assert net(transaction(update(b"1", None, SAME, old=(b"1", None, b"old"), mark=b"O"))) == {
        b"1": ((b"old", b"1"), None, False)
    }
    assert net(transaction(insert(b"1", None, b"a"), update(b"1", b"x", SAME)))[b"1"] == ((b"a", b"1"), None, False)
    assert net(transaction(update(b"1", None, SAME)))[b"1"] == ((UNCHANGED, b"1"), (b"1",), False)


def test_unchanged_values_keep_the_key_of_the_table_through_changes_of_the_key():
    found = net(
        transaction(
            update(b"2", None, SAME, old=(b"1", None, None)),
            update(b"3", None, SAME, old=(b"2", None, None)),
            update(b"3", b"x", SAME),
        )
    )
    assert found[b"3"] == ((UNCHANGED, b"3"), (b"1",), False)
    assert [key for key, change in found.items() if change[2]] == [b"1", b"2"]


def test_a_key_that_is_unchanged_comes_from_the_old_key():
    found = net(transaction(update(SAME, b"x", b"a", old=(b"1", None, None))))
    assert found == {b"1": ((b"a", b"1"), None, False)}
    with pytest.raises(PipelineError, match=r"does not have the values of the key.*set REPLICA IDENTITY FULL"):
        net(transaction(update(SAME, b"x", b"a")))


def test_a_truncate_removes_what_was_before():
    found, _ = decoded(transaction(insert(b"1", None, b"a"), truncate(OTHER, TABLE), insert(b"2", None, b"b")))
    assert (list(found.rows), found.is_truncated) == ([(b"2",)], True)
    found, _ = decoded(transaction(insert(b"1", None, b"a"), truncate(OTHER)))
    assert (list(found.rows), found.is_truncated) == ([(b"1",)], False)
    with pytest.raises(PipelineError, match="changes a row that it has deleted before"):
        net(transaction(truncate(TABLE), update(b"1", None, SAME)))
    with pytest.raises(PipelineError, match="changes a row that it has deleted before"):
        net(transaction(delete(b"1", None, None), update(b"1", None, SAME)))


def test_transactions_before_the_position_are_skipped():
    messages = [
        *transaction(insert(b"1", None, b"a"), lsn=99),
        *transaction(insert(b"2", None, b"b"), truncate(), lsn=100),
    ]
    assert list(net(messages, after=100)) == [b"2"]
    assert list(net([*transaction(truncate(TABLE), lsn=99), *messages], after=100)) == [b"2"]


@pytest.mark.parametrize("bound", [{"rows": 2}, {"size_bytes": 150}])
def test_a_batch_ends_with_a_whole_transaction(bound):
    messages = transaction(insert(b"1", None, b"a"), insert(b"2", None, b"b"), insert(b"3", None, b"c"))
    found, is_read = decoded([*messages, *transaction(insert(b"4", None, b"d"), lsn=200)], **bound)
    assert (len(found.rows), found.end, is_read) == (3, 110, False)


def test_a_transaction_that_is_too_large_is_refused():
    messages = transaction(*(insert(b"1", None, b"a" * 50) for _ in range(3)))
    assert len(decoded(messages, most_bytes=1000)[0].rows) == 1
    with pytest.raises(
        PipelineError, match=r"committed at 0/64 has more than 180 bytes: raise source\.transaction_byt"
    ):
        decoded(messages, most_bytes=180)
    others = transaction(*(insert(b"1", None, b"a" * 50, oid=TABLE + 1) for _ in range(9)), insert(b"1", None, b"a"))
    assert len(decoded(others, most_bytes=180)[0].rows) == 1


def test_the_description_of_the_table_is_checked_before_the_first_change_that_has_it():
    seen = []
    second = relation(identity="f", names=("id", "t"))
    messages = [
        relation(OTHER),
        relation(),
        insert(b"1", None, b"a"),
        relation(),
        second,
        insert(b"2", b"b"),
        relation(),
    ]
    decoded([begin(5), *messages, commit(5)], check=seen.append)
    first = Relation("d", [("id", 23, -1, True), ("more", 24, -1, False), ("t", 25, -1, False)])
    assert seen == [first, Relation("f", [("id", 23, -1, True), ("t", 24, -1, False)])]
    decoded(transaction(insert(b"1", None, b"a"), lsn=5), after=6, check=lambda _: pytest.fail("it is loaded already"))


def test_a_batch_ends_before_the_first_transaction_with_later_columns():
    def check(one):
        if len(one.columns) > 2:
            raise LaterColumns(one)

    old = [begin(100), relation(names=("id", "t")), insert(b"1", b"a"), commit(100)]
    new = transaction(insert(b"2", b"m", b"b"), lsn=200)
    decoder = Decoder(TABLE, ("id", "t"), ("id",), check, 1 << 20)
    for messages, after, follows in ((old + new, 0, True), (new, 0, False), (old + new, 101, False)):
        with pytest.raises(LaterColumns) as caught:
            decoder.read(iter(messages), after, rows=99, size_bytes=1 << 20)
        assert (caught.value.lsn, caught.value.follows, len(caught.value.relation.columns)) == (200, follows, 3)
    found, is_read = decoder.read(iter(old + new), 0, rows=99, size_bytes=1 << 20, before=200)
    assert (list(found.rows), found.end, is_read) == ([(b"1",)], 110, False)


def test_changes_before_a_column_was_added_have_null_in_it():
    decoder = Decoder(TABLE, ("more", "id", "t"), ("id",), bool, 1 << 20, frozenset({"more"}))
    messages = [relation(names=("id", "t")), insert(b"1", b"a"), relation(), insert(b"2", b"m", b"b")]
    found, _ = decoder.read(iter([begin(5), *messages, commit(5)]), 0, rows=99, size_bytes=1 << 20)
    assert [change.values for change in found.rows.values()] == [(None, b"1", b"a"), (b"m", b"2", b"b")]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (insert(b"1", None, b"a")[:-3], "cut off"),
        (insert(b"1", None, b"aa")[:-1], "cut off"),
        (relation()[:6], "cut off"),
        (b"I", "cut off"),
        (relation()[:9], "cut off"),
        (b"Z", "unknown type b'Z'"),
        (insert(b"1", None), "does not fit the description"),
        (insert(b"1", None, b"a").replace(b"n", b"b"), "unknown kind b'b'"),
        (truncate(TABLE)[:-1], "cut off"),
    ],
)
def test_messages_that_are_not_valid(message, said):
    with pytest.raises(PipelineError, match=said):
        decoded([begin(5), relation(), message, commit(5)])


def test_a_row_before_its_description():
    with pytest.raises(PipelineError, match="does not fit the description"):
        decoded([begin(5), insert(b"1", None, b"a"), commit(5)])
