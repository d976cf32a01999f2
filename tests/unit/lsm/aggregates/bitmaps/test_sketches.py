"""The hex literals were written by Java: the sketch utilities of Apache Paimon 1.4.2, for the values next to them."""

from functools import partial

import datasketches
import numpy as np
import pyarrow as pa
import pyroaring
import pytest

from paimon_core.errors import InvalidOption, InvalidRequest, UnsupportedFeature
from paimon_core.lsm.aggregates.bitmaps import sketches
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.lsm.key_groups import group
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import parse_type

HLL_1_2 = "0201070c030802002bf2fb06862ff90d"
HLL_2_3 = "0201070c03080200862ff90d75816607"
HLL_1_2_3 = "0201070c03080300862ff90d758166072bf2fb06"
THETA_1_2 = "02030300001acc93020000000000803f15f97dcbbd86a105c397fc1281709d1e"
THETA_2_3 = "02030300001acc93020000000000803fc397fc1281709d1eba40b3c1da06695d"
THETA_1_2_3 = "02030300001acc93030000000000803f15f97dcbbd86a105c397fc1281709d1eba40b3c1da06695d"
THETA_7 = "01030300003acc93e0f48bea9983c37c"
THETA_NONE = "01030300001e0000"
R32_1_70000 = "3a300000020000000000000001000000180000001a00000001007011"
R32_TO_5000 = "3b3000000100008713010000008713"
R32_UNION = "3b3001000100008713010000000100000087137011"
R64_1_AND_LAST = (
    "010200000000000000000200000000ff0004000000000000000000000000000000000004000000ffffffffffff01000000000000000100"
    "0000fe020000000102010000000100010201000000ffff02000000000000000000000001000000"
)
R64_TO_5000 = (
    "01010000000000000004000000000000000000000000000000000001000000fe01000000010088130000010000008713010000000000"
    "00000000000000000000"
)
R64_UNION = (
    "010200000000000000000200000000ff0004000000000000000000000000000000000004000000ffffffffffff01000000000000000100"
    "0000fe02000000010088130000010000008713010201000000ffff02000000000000000000000001000000"
)
UNIONS = {
    "hll_sketch": (HLL_1_2, HLL_2_3, HLL_1_2_3),
    "theta_sketch": (THETA_1_2, THETA_2_3, THETA_1_2_3),
    "rbm32": (R32_1_70000, R32_TO_5000, R32_UNION),
    "rbm64": (R64_TO_5000, R64_1_AND_LAST, R64_UNION),
}


def function(name, type_text="BYTES"):
    return aggregate(name, DataField(0, "seen", parse_type(type_text)), FieldOptions())


def united(name, keys, values):
    column = pa.chunked_array([pa.array([None if v is None else bytes.fromhex(v) for v in values], pa.binary())])
    out = function(name)(column, group(np.array(keys), None), None)
    assert out.type == pa.binary()
    return [None if v is None else v.hex() for v in out.to_pylist()]


@pytest.mark.parametrize("name", UNIONS)
def test_the_union_has_the_bytes_that_java_writes(name):
    one, other, both = UNIONS[name]
    assert united(name, [5, 5], [one, other]) == [both]


@pytest.mark.parametrize("name", UNIONS)
def test_groups_keep_their_order_and_a_single_value_its_bytes(name):
    one, other, both = UNIONS[name]
    keys = [9, 1, 3, 1, 2, 3, 9, 2, 4]
    values = [other, None, one, None, "00ff", None, one, None, other]
    assert united(name, keys, values)[:4] == [None, "00ff", one, other]
    assert united(name, [1, 2, 1, 3], [one, other, other, None]) == [both, other, None]


def test_empty_groups_and_no_groups_at_all():
    column = pa.chunked_array([pa.array([b"a", b"b"], pa.binary())])
    none_left = group(np.array([1, 2]), None).where(np.array([True, False]))
    assert function("rbm32")(column, none_left, None).to_pylist() == [b"a", None]
    nothing = pa.chunked_array([], pa.binary())
    assert function("rbm32")(nothing, group(np.zeros(0, np.int64), None), None).to_pylist() == []


def test_a_theta_sketch_of_one_value_is_marked_as_such():
    assert united("theta_sketch", [1, 1], [THETA_7, THETA_7]) == [THETA_7]
    assert united("theta_sketch", [1, 1], [THETA_NONE, THETA_NONE]) == [THETA_NONE]


def compressed_theta(values):
    sketch = datasketches.update_theta_sketch()
    for value in range(values):
        sketch.update(value)
    return sketch.compact().serialize(True)


def test_compressed_theta_sketches_are_read():
    (union,) = united("theta_sketch", [1, 1], [compressed_theta(100).hex(), THETA_NONE])
    assert datasketches.compact_theta_sketch.deserialize(bytes.fromhex(union)).get_estimate() == 100


@pytest.mark.parametrize(("at", "value"), [(3, 0), (4, 36), (9, 255)])
def test_a_compressed_theta_sketch_that_claims_too_many_entries_is_refused(at, value):
    data = bytearray(compressed_theta(9000))
    data[4] = 4 if at == 9 else data[4]
    data[at + 8 if at == 9 else at] = value
    with pytest.raises(InvalidRequest, match="bytes for"):
        united("theta_sketch", [1, 1], [bytes(data).hex(), THETA_NONE])


def test_a_hyperloglog_union_is_as_precise_as_the_coarsest():
    made = []
    for precision in (12, 10):
        sketch = datasketches.hll_sketch(precision)
        for value in range(5000):
            sketch.update(value)
        made.append(sketch.serialize_compact().hex())
    (union,) = united("hll_sketch", [1, 1], made)
    found = datasketches.hll_sketch.deserialize(bytes.fromhex(union))
    assert found.lg_config_k == 10
    assert found.get_estimate() == pytest.approx(5000, rel=0.1)


def test_bitmaps_hold_the_values_of_all():
    parts = [pyroaring.BitMap(range(start, start + 200_000, 7)) for start in (0, 70_000, 10)]
    (union,) = united("rbm32", [1, 1, 1], [p.serialize().hex() for p in parts])
    assert pyroaring.BitMap.deserialize(bytes.fromhex(union)) == parts[0] | parts[1] | parts[2]


@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("garbage", ["", "00", "ff", "0102030405060708090a0b0c0d0e0f10", "3a30000001000000ffff"])
def test_bytes_that_are_no_sketch_are_refused_by_column(name, garbage):
    if (name, garbage) == ("rbm64", "00"):
        assert united(name, [1, 1], [R64_TO_5000, garbage]) == [R64_TO_5000]
        return
    with pytest.raises(InvalidRequest, match=f"column 'seen' holds bytes .* {name} cannot unite"):
        united(name, [1, 1], [UNIONS[name][0], garbage])


@pytest.mark.parametrize("name", UNIONS)
def test_every_cut_of_a_sketch_is_refused_or_read(name):
    one, other, _ = UNIONS[name]
    for length in range(0, len(one), 2):
        try:
            united(name, [1, 1], [other, one[:length]])
        except InvalidRequest:
            continue


def test_a_bitmap_whose_values_do_not_ascend_is_refused():
    with pytest.raises(InvalidRequest, match="column 'seen'"):
        united("rbm64", [1, 1], [R64_TO_5000, R64_TO_5000.replace("01000000871301", "02000000871301")])


@pytest.mark.parametrize("name", UNIONS)
def test_a_missing_library_is_named_with_its_extra(name, monkeypatch):
    def missing(_):
        raise ImportError

    monkeypatch.setattr(sketches.importlib, "import_module", missing)
    assert united(name, [1], [UNIONS[name][0]]) == [UNIONS[name][0]]
    with pytest.raises(UnsupportedFeature, match=r"column 'seen'.*install paimon-core\[sketches\]"):
        united(name, [1, 1], UNIONS[name][:2])


@pytest.mark.parametrize("name", UNIONS)
def test_only_columns_of_varying_bytes(name):
    assert not function(name, "VARBINARY(100)").can_retract
    for wrong in ("BINARY(10)", "STRING", "INT"):
        with pytest.raises(InvalidOption, match=f"column 'seen': .*'{name}' takes VARBINARY or BYTES, not"):
            partial(function, name, wrong)()


@pytest.mark.parametrize("name", UNIONS)
def test_options_of_other_functions_are_refused(name):
    field = DataField(0, "seen", parse_type("BYTES"))
    with pytest.raises(InvalidOption, match=rf"fields\.seen\.distinct = True is refused: .*'{name}'"):
        aggregate(name, field, FieldOptions(distinct=True))
