import pickle

import pytest

from paimon_core import errors


def test_the_tree():
    assert issubclass(errors.InvalidOption, errors.InvalidRequest)
    assert issubclass(errors.InvalidRequest, ValueError)
    assert issubclass(errors.TableNotFound, LookupError)
    assert issubclass(errors.StorageError, OSError)


@pytest.mark.parametrize(
    "cls", [errors.CommitConflict, errors.StorageError, errors.TableNotFound, errors.SchemaMismatch]
)
def test_errors_travel_between_processes(cls):
    back = pickle.loads(pickle.dumps(cls("lost", table="a.b", snapshot=3)))  # noqa: S301
    assert type(back) is cls
    assert str(back) == "lost"
    assert back.facts == {"table": "a.b", "snapshot": 3}


def test_kinds_are_stable_words():
    assert errors.CommitStateUnknown("x").kind == "commit-state-unknown"
    assert errors.InvalidOption("x").kind == "invalid-option"
