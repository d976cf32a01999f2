import decimal
import math

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption, InvalidRequest
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.lsm.aggregates.scalar_functions import FUNCTIONS
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import parse_type

D = decimal.Decimal
NAN = math.nan


class Back:
    """A retracted value."""

    def __init__(self, value):
        self.value = value


def of(function, kind, *groups, **options):
    """Return the function's result for each list of values; ``Back`` marks retracts."""
    field = DataField(0, "v", parse_type(kind))
    cells = [cell for group in groups for cell in group]
    values = [cell.value if isinstance(cell, Back) else cell for cell in cells]
    column = pa.chunked_array([pa.array(values, field.type.to_arrow())])
    ends = np.cumsum([len(group) for group in groups])
    retracts = np.array([isinstance(cell, Back) for cell in cells], np.bool_)
    made = aggregate(function, field, FieldOptions(**options))
    starts = ends - [len(group) for group in groups]
    result = made(column, Groups(np.arange(len(cells)), starts, ends), retracts if retracts.any() else None)
    assert result.type == column.type
    result.validate(full=True)
    return result.to_pylist()


@pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"])
def test_numbers_are_added_and_multiplied_past_nulls(kind):
    assert of("sum", kind, [1, None, 2], [None], [], [Back(3)], [5, Back(3), None]) == [3, None, None, -3, 2]
    assert of("product", kind, [2, None, 3], [None], [], [Back(3)], [6, Back(3)]) == [6, None, None, None, 2]


@pytest.mark.parametrize("kind", ["DECIMAL(4, 1)", "DECIMAL(18, 1)", "DECIMAL(19, 1)", "DECIMAL(38, 1)"])
def test_decimals_are_added_and_multiplied_past_nulls(kind):
    one, two, half = D("1.0"), D("-2.0"), D("0.5")
    assert of("sum", kind, [one, None, two], [None], [], [Back(one)], [two, Back(half)]) == [
        -one,
        None,
        None,
        -one,
        D("-2.5"),
    ]
    assert of("product", kind, [two, None, half], [None], [Back(one)], [two, Back(half)]) == [
        -one,
        None,
        None,
        D("-4.0"),
    ]


@pytest.mark.parametrize(("kind", "bits"), [("TINYINT", 8), ("SMALLINT", 16), ("INT", 32), ("BIGINT", 64)])
def test_an_integer_overflow_is_an_error_even_on_the_way(kind, bits):
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    assert of("sum", kind, [high - 1, 1], [low, high], [-1, Back(low)]) == [high, -1, high]
    for values in ([high, 1, -1], [low, -1], [Back(low)], [0, Back(low)], [1, Back(low)], [low, Back(1)]):
        with pytest.raises(InvalidRequest, match="column 'v': sum overflows"):
            of("sum", kind, [1], values)
    assert of("product", kind, [low, 1], [low // 2, 2], [high, -1]) == [low, low, -high]
    for values in ([high, 2, 0], [low, -1], [low, Back(-1)]):
        with pytest.raises(InvalidRequest, match="column 'v': product overflows"):
            of("product", kind, [1], values)


def test_a_product_that_is_zero_from_the_first_value_on():
    assert of("product", "BIGINT", [0] + [10**18] * 40) == [0]


def test_integers_divide_towards_zero_and_never_by_it():
    assert of("product", "INT", [7, Back(2)], [-7, Back(2)], [7, Back(-2)], [-8, Back(2)]) == [3, -3, -3, -4]
    for kind in ("INT", "DECIMAL(4, 1)"):
        with pytest.raises(InvalidRequest, match="'v': product cannot retract 0"):
            of("product", kind, [1, Back(0)])


def test_floats_are_added_one_after_the_other_in_their_own_width():
    tenths = [0.1] * 11
    total = np.float32(0)
    for _ in range(11):
        total += np.float32(0.1)
    assert of("sum", "FLOAT", tenths) == [float(total)]
    assert of("sum", "DOUBLE", [1e16, 1.0, -1e16, 1.0], tenths) == [1.0, 1.0999999999999999]
    assert of("product", "DOUBLE", [0.1, 0.2, 0.3, 10.0]) == [0.1 * 0.2 * 0.3 * 10.0]


def test_floats_keep_signed_zeros_and_pass_infinity():
    zeros = of("sum", "DOUBLE", [-0.0, -0.0], [Back(0.0)], [-0.0, 0.0])
    assert [math.copysign(1, zero) for zero in zeros] == [-1, -1, 1]
    assert math.isnan(of("sum", "DOUBLE", [math.inf, -math.inf])[0])
    assert of("product", "DOUBLE", [1.0, Back(0.0)], [3.0, Back(0.1)]) == [math.inf, 3.0 / 0.1]


def test_a_wide_decimal_sum_beyond_its_precision_is_null_and_goes_on():
    most = D(10**19 - 1)
    assert of("sum", "DECIMAL(19, 0)", [most, D(1)], [most, D(1), D(5)], [most, D(1), Back(D(5))], [most, D(-1)]) == [
        None,
        D(5),
        D(-5),
        most - 1,
    ]
    assert of("sum", "DECIMAL(38, 0)", [D(10**38 - 1), D(1)], [D(10**38 - 1), Back(D(1))]) == [None, D(10**38 - 2)]


def test_a_narrow_decimal_sum_may_leave_its_precision_only_on_the_way():
    assert of("sum", "DECIMAL(2, 0)", [D(99), D(1), D(-1)]) == [D(99)]
    with pytest.raises(InvalidRequest, match="column 'v': sum overflows"):
        of("sum", "DECIMAL(2, 0)", [D(99), D(1)])
    most = D(10**18 - 1)
    assert of("sum", "DECIMAL(18, 0)", [*[most] * 10, D(3)], [*[most] * 9, *[-most] * 8]) == [D(3), most]


def test_a_decimal_product_is_rounded_half_up_and_null_beyond_its_precision():
    assert of("product", "DECIMAL(3, 1)", [D("0.5"), D("0.1")], [D("-0.5"), D("0.1")], [D("99.9"), D("2.0")]) == [
        D("0.1"),
        D("-0.1"),
        None,
    ]
    assert of("product", "DECIMAL(3, 1)", [D("0.1"), Back(D("2.0"))]) == [D("0.1")]
    with pytest.raises(InvalidRequest, match="'v': product cannot retract a factor if the quotient has no last digit"):
        of("product", "DECIMAL(3, 1)", [D("1.0"), Back(D("3.0"))])


def test_a_factor_of_a_decimal_product_is_retracted_exactly():
    assert of("product", "DECIMAL(4, 1)", [D("6.0"), Back(D("3.0"))], [D("0.0"), Back(D("3.0"))]) == [D("2.0"), D(0)]


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        ("BOOLEAN", [False, True]),
        ("BIGINT", [-(2**63), -1, 0, 2**63 - 1]),
        ("DECIMAL(5, 0)", [D(-7), D(3)]),
        ("DECIMAL(38, 0)", [D(-(10**37)), D(-1), D(2**64), D(2**64 + 1)]),
        ("STRING", ["", "a", "a\0", "a longer text than a word", "b", "\uffff", "\U0001f600", "\U0001f600" * 20]),
        ("BYTES", [b"", b"\0", b"\x7f", b"\x80"]),
    ],
)
def test_max_and_min_of_every_order(kind, ascending):
    pairs = [(a, b) for a in ascending for b in ascending]
    ranked = [sorted(pair, key=ascending.index) for pair in pairs]
    groups = [[a, None, b] for a, b in pairs]
    assert of("max", kind, *groups, [], [None]) == [*(high for _, high in ranked), None, None]
    assert of("min", kind, *groups, [], [None]) == [*(low for low, _ in ranked), None, None]


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_nan_is_the_largest_and_zeros_differ(kind):
    highest, zero = of("max", kind, [1.0, NAN, 2.0], [-0.0, 0.0])
    assert math.isnan(highest)
    assert math.copysign(1, zero) == 1
    lowest, zero, nan = of("min", kind, [NAN, 2.0, -math.inf], [0.0, -0.0], [NAN, None])
    assert (lowest, math.copysign(1, zero), math.isnan(nan)) == (-math.inf, -1, True)


def test_the_last_value_and_the_last_that_is_not_null():
    groups = [[1, None], [2, 3], [None], [], [4, Back(None)], [5, Back(6)], [Back(7), 8], [Back(None), None]]
    assert of("last_value", "INT", *groups) == [None, 3, None, None, None, None, 8, None]
    assert of("last_non_null_value", "INT", *groups) == [1, 3, None, None, 4, None, 8, None]


def test_the_first_value_and_the_first_that_is_not_null():
    groups = [[None, 1], [2, 3], [None], []]
    assert of("first_value", "INT", *groups) == [None, 2, None, None]
    for name in ("first_non_null_value", "first_not_null_value"):
        assert of(name, "INT", *groups) == [1, 2, None, None]


def test_and_and_or():
    groups = [[True, None, False], [True, True], [False, False], [None], []]
    assert of("bool_and", "BOOLEAN", *groups) == [False, True, False, None, None]
    assert of("bool_or", "BOOLEAN", *groups) == [True, True, False, None, None]


def test_retracts_can_be_left_out():
    assert of("max", "INT", [1, Back(5)], [Back(5)], ignore_retract=True) == [1, None]
    assert of("sum", "INT", [1, Back(5)], ignore_retract=True) == [1]


def test_which_functions_can_retract():
    field = DataField(0, "v", parse_type("BOOLEAN"))
    number = DataField(0, "v", parse_type("INT"))
    able = {
        name
        for name in FUNCTIONS
        if aggregate(name, field if name.startswith("bool") else number, FieldOptions()).can_retract
    }
    assert able == {"sum", "product", "last_value", "last_non_null_value"}


@pytest.mark.parametrize(
    ("function", "kind"),
    [("sum", "STRING"), ("product", "BOOLEAN"), ("sum", "DATE"), ("bool_and", "INT"), ("bool_or", "STRING")],
)
def test_a_type_that_a_function_does_not_take_is_refused(function, kind):
    with pytest.raises(InvalidOption, match=rf"column 'v'.*{function}.*{kind}"):
        of(function, kind)


@pytest.mark.parametrize(
    ("option", "value"), [("distinct", True), ("list_agg_delimiter", "-"), ("count_limit", 3), ("ts_field", "t")]
)
def test_an_option_of_another_function_is_refused(option, value):
    with pytest.raises(InvalidOption, match=f"fields.v.{option.replace('_', '-')}"):
        of("sum", "INT", **{option: value})
