"""Consumer files: one JSON member; a file without it is an error, and its consumer is never ignored."""

from __future__ import annotations

import pytest

from paimon_core.errors import CorruptTable, InvalidRequest, NotFound
from tests.support.fake_tables import fake_table


def test_a_consumer_is_set_moved_and_deleted():
    context = fake_table()
    store = context.consumers
    assert store.list() == []
    store.reset("b", 7)
    store.reset("a", 3)
    assert [(c.name, c.next_snapshot) for c in store.list()] == [("a", 3), ("b", 7)]
    store.reset("a", 4)
    assert store.read("a").next_snapshot == 4
    assert store.read("a").modified_millis > 0
    assert context.storage.read(context.paths.consumer("a")) == b'{\n  "nextSnapshot" : 4\n}'
    store.delete("a")
    for call in (store.read, store.delete):
        with pytest.raises(NotFound, match=r"no consumer 'a'.*consumers: b"):
            call("a")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"nextSnapshot": "3"}', b'{"nextSnapshot": true}', b"[" * 9999]
)
def test_a_bad_file_is_named(data):
    context = fake_table()
    context.storage.write(context.paths.consumer("bad"), data)
    with pytest.raises(CorruptTable, match="consumer-bad has no valid nextSnapshot"):
        context.consumers.list()


def test_other_files_are_not_consumers():
    context = fake_table()
    context.storage.write(f"{context.paths.consumer_directory}/other", b"x")
    context.storage.write(f"{context.paths.consumer_directory}/consumer-d/x", b"x")
    assert context.consumers.list() == []


@pytest.mark.parametrize("next_snapshot", [0, -1, 2**63, True, "1", None, 1.5])
def test_a_number_that_is_not_a_snapshot_id_is_refused(next_snapshot):
    with pytest.raises(InvalidRequest, match="not a snapshot id"):
        fake_table().consumers.reset("c", next_snapshot)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a\nb"])
def test_a_name_that_is_not_a_file_name_is_refused(name):
    with pytest.raises(InvalidRequest, match="consumer name"):
        fake_table().consumers.reset(name, 1)
