import struct

import datasketches
import pytest

from paimon_core.lsm.aggregates.bitmaps.hll_form import check_hll

TYPES = (datasketches.tgt_hll_type.HLL_4, datasketches.tgt_hll_type.HLL_6, datasketches.tgt_hll_type.HLL_8)


def sketch(values, log_k=8, kind=0):
    made = datasketches.hll_sketch(log_k, TYPES[kind])
    for value in range(values):
        made.update(value)
    return made


def changed(data, **at):
    out = bytearray(data)
    for place, value in at.items():
        out[int(place[1:])] = value
    return bytes(out)


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("log_k", [7, 8, 12])
@pytest.mark.parametrize("values", [0, 1, 7, 8, 20, 200, 50_000])
def test_sketches_of_every_mode_and_type_are_sound(values, log_k, kind):
    made = sketch(values, log_k, kind)
    check_hll(made.serialize_compact())
    check_hll(made.serialize_updatable())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (changed(sketch(5).serialize_compact(), _1=2), "not a HyperLogLog"),
        (changed(sketch(5).serialize_compact(), _2=6), "not a HyperLogLog"),
        (changed(sketch(5).serialize_compact(), _0=3), "not a HyperLogLog"),
        (changed(sketch(5).serialize_compact(), _7=3), "not a HyperLogLog"),
        (changed(sketch(5).serialize_compact(), _7=12), "not a HyperLogLog"),
        (changed(sketch(5).serialize_compact(), _3=30), "registers"),
        (changed(sketch(5).serialize_compact(), _6=9), "9 coupons in a table"),
        (changed(sketch(5).serialize_compact(), _6=7), "of 36 bytes"),
        (changed(sketch(5).serialize_compact(), _4=9), "in a table of 2\\^9"),
        (changed(sketch(5).serialize_updatable(), _6=4), "not contain the 4 coupons"),
        (changed(sketch(20, 12).serialize_compact(), _8=200), "200 coupons in a table"),
        (changed(sketch(20, 12).serialize_compact(), _4=70), "in a table of 2\\^70"),
        (
            sketch(20, 12).serialize_compact()[:16] + sketch(20, 12).serialize_compact()[12:-4],
            "not contain the 20 coupons",
        ),
        (changed(sketch(3000).serialize_compact(), _36=1), "of 172 bytes|exceptions"),
        (changed(sketch(3000).serialize_compact(), _50=255), "exceptions"),
        (changed(sketch(3000).serialize_compact(), _6=60), "exceptions"),
        (changed(sketch(3000, kind=1).serialize_compact(), _36=1), "1 exceptions"),
        (changed(sketch(3000, kind=2).serialize_compact(), _50=64), "register of 64"),
        (sketch(3000, kind=2).serialize_compact()[:-1], "of 296 bytes"),
    ],
)
def test_invalid_sketches_are_refused_before_the_library_reads_them(data, said):
    with pytest.raises(ValueError, match=said):
        check_hll(data)


@pytest.mark.parametrize("length", [0, 7])
def test_less_than_a_preamble(length):
    with pytest.raises(struct.error):
        check_hll(sketch(5).serialize_compact()[:length])
