import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption
from paimon_core.lsm.aggregates.collections.listagg import ListAgg, listagg
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions
from tests.support.collection_columns import field_of, folded

TEXT = pa.string()


def test_texts_are_joined_first_to_last():
    assert folded(ListAgg(), TEXT, ["a", "b", "a"], ["c"], ["d", "e"]) == ["a,b,a", "c", "d,e"]


def test_nulls_and_blanks_do_not_count():
    assert folded(ListAgg(), TEXT, [None, "a", "", " \t\u3000", "b"], [None, " "]) == ["a,b", None]


def test_a_no_break_space_is_no_blank():
    assert folded(ListAgg(), TEXT, ["a", "\u00a0"]) == ["a,\u00a0"]


def test_empty_groups_give_null():
    column = pa.chunked_array([pa.array(["a", "b"])])
    groups = Groups(np.array([0, 1]), np.array([0, 1, 1]), np.array([1, 1, 2]))
    assert ListAgg()(column, groups, None).to_pylist() == ["a", None, "b"]
    assert ListAgg()(column, groups.keep(np.zeros(3, np.bool_)), None).to_pylist() == []


def test_distinct_adds_parts_that_are_new():
    assert folded(ListAgg(distinct=True), TEXT, ["b,b,,a", "a,c, ,c", "d,b"]) == ["b,b,,a,c,d"]


@pytest.mark.parametrize(
    ("delimiter", "texts", "joined"),
    [
        (", ", ["a,", "b, a"], "a,, b, a"),
        # Java splits the joined text: "a|" and "b", joined by "||", are split into "a" and "|b".
        ("||", ["a|", "b||a||c", "|b||c"], "a|||b||a||c"),
        # Without a delimiter the parts are words.
        ("", ["a b", "c d", "d bc a"], "a bcddbc"),
    ],
)
def test_distinct_by_delimiters_of_other_lengths(delimiter, texts, joined):
    assert folded(ListAgg(delimiter, distinct=True), TEXT, texts) == [joined]


def test_many_texts_between_such_delimiters():
    # Splitting the whole joined text again for each text would take minutes here.
    texts = [f"t{number}" for number in range(50_000)]
    assert folded(ListAgg("||", distinct=True), TEXT, [*texts, "t7||t8"]) == ["||".join(texts)]


def test_the_options():
    assert listagg(field_of("STRING"), FieldOptions()) == ListAgg(",", False)
    options = FieldOptions(list_agg_delimiter=";", distinct=True)
    assert listagg(field_of("STRING NOT NULL"), options) == ListAgg(";", True)
    assert not ListAgg().can_retract


@pytest.mark.parametrize("kind", ["VARCHAR(10)", "CHAR(10)", "BYTES", "INT"])
def test_only_text_without_a_limit(kind):
    with pytest.raises(InvalidOption, match="column 'v': aggregate function 'listagg' takes STRING, not"):
        aggregate("listagg", field_of(kind), FieldOptions())


def test_an_option_of_another_function():
    with pytest.raises(InvalidOption, match=r"fields.v.count-limit = 3 is refused: aggregate function 'listagg' has"):
        listagg(field_of("STRING"), FieldOptions(count_limit=3))
