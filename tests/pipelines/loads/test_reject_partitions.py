import pytest

from paimon_lake.loads.rejected.reject_partitions import ReadAgain, labelled


@pytest.mark.parametrize(
    ("file", "keys", "expected"),
    [
        ("q", None, True),
        ("q [a]", None, True),
        ("queries", None, False),
        ("q", ("a",), False),
        ("q [a]", ("a", "b"), True),
        ("q [a, b]", ("a", "b"), True),
        ("q [a, b]", ("a",), False),
        ("q [a, b]", ("a, b",), True),
        ("other [a]", ("a",), False),
        (None, None, False),
    ],
)
def test_rejects_that_a_load_replaces(file, keys, expected):
    assert (file in ReadAgain("q", keys)) is expected


def test_the_name_has_no_more_than_100_partitions():
    assert labelled("q", ["a", "b"]) == "q [a, b]"
    assert labelled("q", None) == labelled("q", [str(n) for n in range(101)]) == "q"
