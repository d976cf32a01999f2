import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.write.row_kinds import kind_codes


@pytest.mark.parametrize(
    "kinds",
    [
        ["+I", "-U", "+U", "-D"],
        pa.array(["+I", "-U", "+U", "-D"], pa.large_string()),
        pa.chunked_array([["+I", "-U"], ["+U", "-D"]]),
        pa.array(["+I", "-U", "+U", "-D"]).dictionary_encode(),
    ],
    ids=lambda k: type(k).__name__,
)
def test_codes(kinds):
    assert kind_codes(kinds, 4, "kinds").to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("kinds", "word"),
    [(["+I"], "1 row kinds for 2"), (["+I", "X"], "row 1: 'X'"), (["+I", None], "row 1: None"), ([1, 2], "int64")],
)
def test_other_kinds_are_refused(kinds, word):
    with pytest.raises(SchemaMismatch, match=word):
        kind_codes(kinds, 2, "kinds")


def test_something_that_is_no_column():
    with pytest.raises(InvalidRequest, match="column of text"):
        kind_codes([{"a"}, 3], 2, "kinds")
