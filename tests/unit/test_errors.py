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


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("two\n  lines\r\n", "two lines"),
        ("a\x1b[0m\u202eb\ud800", r"a\x1b[0m\u202eb\ud800"),
        ("v = " + "x" * 121 + " is long", "v = " + "x" * 80 + "... is long"),
        ("/" + "d" * 255 + "/" + "e" * 256, "/" + "d" * 255 + "/" + "e" * 80 + "..."),
    ],
)
def test_a_message_is_one_line_without_long_values(message, shown):
    assert str(errors.InvalidRequest(message)) == shown


def test_a_number_that_python_does_not_write_is_described():
    huge = 10**5000
    assert errors.shown(huge) == "a number of thousands of digits"
    assert errors.shown([huge]) == "a list with a number of thousands of digits"
    assert errors.shown(10**50, 60) == str(10**50)
    for convert in (lambda: int("9" * 5000), lambda: str(huge)):
        with pytest.raises(ValueError, match="Exceeds") as found:
            convert()
        assert str(errors.CorruptTable(f"x: {found.value}.")) == "x: a number has more than 4300 digits."


def test_the_middle_of_a_long_message_is_left_out():
    text = str(errors.StorageError(" ".join(map(str, range(1000)))))
    assert len(text) == errors.LONGEST_MESSAGE
    assert text.startswith("0 1 2")
    assert text.endswith("998 999")


def test_the_value_of_a_secret_option_is_hidden():
    error = errors.InvalidOption("option s3.secret-key = 'abc' is not known", option="s3.secret-key", value="abc")
    assert str(error) == "option s3.secret-key = '***' is not known"
    assert "abc" not in repr(pickle.loads(pickle.dumps(error)).facts)  # noqa: S301


def test_long_lists_of_names_are_cut():
    assert errors.listed(["a", "b"]) == "a, b"
    assert errors.listed(map(str, range(21))) == ", ".join(map(str, range(20))) + ", ... (21 in all)"


def test_the_nearest_of_many_names_are_first():
    assert errors.nearest_names("x", []) == ""
    assert errors.nearest_names("c", "jihgfedcba") == "a, b, c, d, e, f, g, h, i, j"
    months = [f"{year}-{month:02}" for year in range(1900, 2100) for month in range(1, 13)]
    text = errors.nearest_names("2024-3", months)
    assert text.startswith("2024-03, ")
    assert text.endswith(", ... (2400 in all)")
    assert text.count(", ") == 10
    assert errors.nearest_names("zzz" * 5000, months).count(", ") == 10


def test_kinds_are_stable_words():
    assert errors.CommitStateUnknown("x").kind == "commit-state-unknown"
    assert errors.InvalidOption("x").kind == "invalid-option"
