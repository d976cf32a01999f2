import enum

import numpy as np
import pytest

from paimon_core.errors import InvalidOption
from paimon_core.options import option_text, option_texts


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("bucket", 4, "4"),
        ("bucket", -1, "-1"),
        ("write-only", True, "true"),
        ("write-only", False, "false"),
        ("compaction.small-file-ratio", 0.5, "0.5"),
        ("compaction.small-file-ratio", 1, "1"),
        ("file.format", enum.StrEnum("F", {"ORC": "orc"}).ORC, "orc"),
        ("owner", 7, "7"),
    ],
)
def test_values_become_texts(key, value, text):
    assert option_text(key, value) == text
    assert type(option_text(key, value)) is str


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, b"a", 1.5, np.float64(2), object])
def test_other_values_are_refused_with_name_and_value(value):
    with pytest.raises(InvalidOption, match=r"option 'bucket' = .*: the value must be text, an int or a bool") as found:
        option_text("bucket", value)
    assert found.value.facts["option"] == "bucket"


@pytest.mark.parametrize("options", [{1: "x"}, [("bucket", "1")], "bucket=1"])
def test_options_map_names_to_values(options):
    with pytest.raises(InvalidOption, match="option"):
        option_texts(options)
