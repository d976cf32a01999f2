"""Footers with a known schema and end: what is accepted here is accepted by the thrift decoder, with equal facts."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.codec.parquet import known_footers
from paimon_core.codec.parquet.footer_checksum import is_sealed, sealed, without_seal
from paimon_core.codec.parquet.footer_columns import FooterColumns
from paimon_core.codec.parquet.known_footers import forget_known, learn, match_known, match_together
from paimon_core.codec.parquet.raw_footer import check_columns, check_known, check_raw_footer
from paimon_core.datafile.parquet.footer import footer_of

FACTS = ("rows", "start", "packed", "unpacked", "values", "codec", "texts")
TABLE = pa.table(
    {
        "n": pa.array([1, None, 3], pa.int32()),
        "s": ["a", None, "c"],
        "f": [1.0, float("nan"), 2.0],
        "b": [True, False, None],
        "l": [[1, 2], None, [3]],
        "d": pa.array([1, 2, None]).cast(pa.decimal128(30, 2)),
        "long": ["x" * 200, None, "y" * 300],
    }
)
SETTINGS = [
    {},
    {"row_group_size": 1},
    {"compression": "zstd", "use_dictionary": False, "store_schema": False},
    {"write_page_index": True},
    {"write_statistics": False},
    {"row_group_size": 1, "version": "1.0", "data_page_version": "2.0"},
]


@pytest.fixture(autouse=True)
def _nothing_known():
    forget_known()
    yield
    forget_known()


def footer(table: pa.Table = TABLE, *, is_ours: bool = True, **settings) -> tuple[bytes, int]:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **settings)
    before, raw = footer_of(sink.getvalue().to_pybytes())
    return (sealed(raw) if is_ours else raw), len(before)


def parsed(raw: bytes, end: int) -> FooterColumns:
    tree, groups = check_raw_footer(raw, end)
    return FooterColumns.of(tree, groups[0].leaves if groups else (), groups)


def teach(raw: bytes, end: int) -> None:
    for _ in range(2):
        learn(raw, check_raw_footer(raw, end)[0], end)


def assert_equal(found: FooterColumns, expected: FooterColumns) -> None:
    assert found.leaves.all == expected.leaves.all
    for name in FACTS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("is_ours", [True, False])
def test_a_footer_of_a_known_form_has_the_facts_of_the_thrift_decoder(settings, is_ours):
    teach(*footer(TABLE.slice(0, 2), is_ours=is_ours, **{**settings, "row_group_size": 2}))
    other = footer(pa.concat_tables([TABLE, TABLE, TABLE.slice(1, 1)]), is_ours=is_ours, **settings)
    found = match_known(*other)
    assert found is not None
    assert_equal(found[0], parsed(*other))
    assert [group.chunks[1] for group in found[0].row_groups] == [g.chunks[1] for g in check_raw_footer(*other)[1]]


def test_an_empty_file_is_known_too():
    teach(*footer())
    other = footer(TABLE.slice(0, 0))
    found = match_known(*other)
    assert found is not None
    assert found[0].row_groups == [] or found[0].rows.tolist() == [0]


def test_another_schema_or_end_is_left_to_the_thrift_decoder():
    teach(*footer())
    assert match_known(*footer()) is not None
    assert match_known(*footer(TABLE.drop_columns(["b"]))) is None
    assert match_known(*footer(TABLE.replace_schema_metadata({"a": "b"}))) is None
    assert match_known(*footer(TABLE.slice(0, 0), row_group_size=1)) is not None


def test_an_end_without_its_checksum_must_end_the_struct():
    raw, end = footer()
    teach(raw, end)
    assert match_known(without_seal(raw), end) is not None
    assert match_known(without_seal(raw)[:-1], end) is None


def test_the_known_schemas_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(known_footers, "KNOWN_BYTES", 2000)
    footers = [
        footer(TABLE.rename_columns([f"{name}{n}" for name in TABLE.column_names]), store_schema=False)
        for n in range(10, 40)
    ]
    for found in footers:
        teach(*found)
    assert match_known(*footers[0]) is None
    assert match_known(*footers[-1]) is not None


def changed(raw: bytes, chance: Random) -> bytes:
    """Return the footer with a few changed, added or removed bytes, and a checksum that matches, or none."""
    data = bytearray(without_seal(raw))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at] = chance.choice((0, 1, 2, 0x80, 0xFF, 0x15, 0x16, 0x19, 0x1C, 0x26, 0x3C))
            case 2:
                del data[at : at + chance.randrange(1, 4)]
            case _:
                data[at:at] = bytes(chance.choice((0, 2, 0x80, 0x16)) for _ in range(chance.randrange(1, 3)))
    return sealed(bytes(data)) if chance.randrange(2) else bytes(data)


@pytest.mark.parametrize("count", [1500, pytest.param(60_000, marks=pytest.mark.long)])
def test_a_damaged_footer_is_accepted_only_if_the_thrift_decoder_accepts_it(count):
    pool = [footer(is_ours=is_ours, **settings) for settings in SETTINGS for is_ours in (True, False)]
    for raw, end in pool:
        teach(raw, end)
    chance, taken = Random(5), 0
    for _ in range(count):
        raw, end = chance.choice(pool)
        damaged = changed(raw, chance)
        try:
            is_sealed(damaged)
        except ValueError:
            continue
        found = match_known(damaged, end)
        if found is not None:
            taken += 1
            assert_equal(found[0], parsed(damaged, end))
    assert taken > count // 50


def test_footers_that_are_matched_together_are_accepted_as_alone():
    pool = [footer(is_ours=is_ours, **settings) for settings in SETTINGS for is_ours in (True, False)]
    for raw, end in pool:
        teach(raw, end)
    pool.append(footer(TABLE.select(["n"])))  # a schema that is not known
    chance, accepted, refused = Random(7), 0, 0
    for _ in range(40):
        some = [chance.choice(pool) for _ in range(12)]
        some = [(changed(raw, chance), end) if chance.randrange(3) == 0 else (raw, end) for raw, end in some]
        some = [(raw, end - chance.choice((0, 0, 0, 1, end))) for raw, end in some]
        for footer_and_end, found in zip(some, match_together(some), strict=True):
            alone = match_known(*footer_and_end)
            assert (found is None) is (alone is None)
            if found is None or alone is None:
                refused += 1
                continue
            accepted += 1
            assert found[1] == alone[1]
            assert_equal(found[0], alone[0])
    assert accepted > 100
    assert refused > 100


def test_a_wrong_checksum_of_one_footer_is_left_to_the_check_that_names_it():
    raw, end = footer()
    teach(raw, end)
    wrong = raw[:-20] + bytes([raw[-20] ^ 1]) + raw[-19:]
    with pytest.raises(ValueError, match="checksum"):
        check_columns(wrong, end)
    first, second, third = check_known([(raw, end), (wrong, end), (raw, end)])
    assert (first is None, second is None, third is None) == (False, True, False)
