import pytest

from paimon_core.errors import CommitStateUnknown, ConditionalWriteUnsupported, StorageError
from paimon_core.storage.object_stores import probe


class Store:
    """A fake store that answers creations from a list: True, False, or an error to raise."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.created, self.deleted = [], []

    def create(self, path, data):
        assert data
        self.created.append(path)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def check_conditional_write(self):
        probe.check_conditional_write(self.create, self.deleted.extend, "/w/snapshot")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(probe, "_FIRST_PAUSE_SECONDS", 0)


LOST = CommitStateUnknown("lost")


@pytest.mark.parametrize("answers", [[True, False], [LOST, False], [LOST, True, False], [True, LOST, LOST, False]])
def test_proven(answers):
    store = Store(*answers)
    store.check_conditional_write()
    assert store.answers == []
    assert len(set(store.created)) == 1
    assert store.created[0].startswith("/w/snapshot/.probe-")
    assert store.deleted == store.created[:1]


@pytest.mark.parametrize(
    "answers", [[True, True], [True, LOST, True], [LOST, True, True], [StorageError("no", status=501)]]
)
def test_refused(answers):
    store = Store(*answers)
    with pytest.raises(ConditionalWriteUnsupported, match="If-None-Match"):
        store.check_conditional_write()
    assert store.deleted


@pytest.mark.parametrize(
    "answers", [[LOST] * probe.TRIES, [True, *[LOST] * (probe.TRIES - 1)], [StorageError("denied")]]
)
def test_answers_that_do_not_decide(answers):
    with pytest.raises(StorageError):
        Store(*answers).check_conditional_write()


def test_a_probe_that_cannot_be_deleted_is_no_error():
    def denied(paths):
        raise StorageError("denied")

    probe.check_conditional_write(Store(True, False).create, denied, "/w")


def test_once_for_each_place(monkeypatch):
    monkeypatch.setattr(probe, "_proven_places", set())
    store = Store(True, True, True, False, True, False)
    place = ("a",)
    with pytest.raises(ConditionalWriteUnsupported):
        probe.check_conditional_write_once(place, store.create, store.deleted.extend, "/w")
    for _ in range(3):
        probe.check_conditional_write_once(place, store.create, store.deleted.extend, "/w")
    assert len(store.answers) == 2
    probe.check_conditional_write_once(("b",), store.create, store.deleted.extend, "/w")
    assert store.answers == []
