"""Statistics of Java that are not bounds are widened, so that no row is lost."""

import pytest

from paimon_core.metadata.manifests.recorded_bounds import recorded_bounds
from paimon_core.types import parse_type


@pytest.mark.parametrize(
    ("text", "recorded", "holds"),
    [
        ("CHAR(5)", ("ab   ", "b    ", 0), ("ab", "b    ", 0)),
        ("CHAR(5)", ("a b\t ", "a b? ", 1), ("a b", "a b? ", 1)),
        ("CHAR(5)", ("     ", None, 1), ("", None, 1)),
        ("VARCHAR(5)", ("ab ", "b  ", 0), ("ab ", "b  ", 0)),
        ("STRING", ("\ud7ff\ud7ff", "\ud7ff?", 0), ("\ud7ff\ud7ff", "\ud7ff\ue000", 0)),
        ("STRING", (None, "a", -1), (None, "a", None)),
        ("BYTES", (b"a ", b"a?", None), (b"a ", b"a?", None)),
        ("INT", (1, 2, -1), (1, 2, None)),
    ],
)
def test_bounds_that_hold(text, recorded, holds):
    assert recorded_bounds(*recorded, parse_type(text)) == holds


@pytest.mark.parametrize("value", ["a", "a\tb", "a\x1f", "", "b", "a b"])
def test_the_padded_minimum_of_a_char_is_below_every_value_that_is_not_smaller_when_padded(value):
    for other in ("a", "a\t", "a\tb", "", "a\x00\x00", "a b", "b"):
        low, _, _ = recorded_bounds(min(value.ljust(5), other.ljust(5)), None, 0, parse_type("CHAR(5)"))
        assert low <= value
