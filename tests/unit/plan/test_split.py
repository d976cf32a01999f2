from dataclasses import replace
from functools import partial

import pytest

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.lsm.key_order import key_order
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.plan.split import Packing, Split, pack_append, pack_keyed
from tests.support.lsm_files import is_clean
from tests.support.manifest_tables import MB, data_file, fields_of, schema_of

SCHEMA = schema_of(fields_of(k="INT NOT NULL", v="INT"), primary_key=["k"], bucket="1")
ORDER = key_order([SCHEMA.fields[0].type])
PACKING = Packing(128 * MB, 4 * MB)
ONE_EACH = Packing(1, 1)


def file(name, low, high, level=0, deletes=0, size=10 * MB, sequence=0):
    made = data_file(SCHEMA, name, k=(low, high))
    return replace(
        made,
        level=level,
        delete_row_count=deletes,
        file_size=size,
        min_sequence_number=sequence,
        max_sequence_number=sequence,
    )


packed_keyed = partial(pack_keyed, is_clean=is_clean)


def shape(packed):
    """Return each split as its runs' file names per section, or as a flat list of names when it is raw."""
    out = []
    for files, layout in packed:
        named = [f.file_name for f in files]
        out.append([[[named[at] for at in run] for run in section] for section in layout] if layout else named)
    return out


@pytest.mark.parametrize(
    ("sizes", "bins"),
    [
        ([], []),
        ([200], [[200]]),
        ([60, 60, 8, 1], [[60, 60, 8], [1]]),
        ([60, 60, 9], [[60, 60], [9]]),
        ([200, 1, 200], [[200], [1], [200]]),
        ([0] * 33, [[0] * 32, [0]]),
    ],
    ids=["none", "too large alone", "to the target", "over the target", "order kept", "small files count 4 MB"],
)
def test_packing(sizes, bins):
    assert PACKING.pack(sizes, lambda size: size * MB) == bins


def test_append_files_are_raw_in_order_of_their_sequence():
    files = [file("c", 0, 0, sequence=9), file("a", 0, 0, sequence=1), file("b", 0, 0, sequence=1)]
    assert shape(pack_append(files, PACKING)) == [["a", "b", "c"]]
    assert shape(pack_append(files, ONE_EACH)) == [["a"], ["b"], ["c"]]


def test_one_level_without_deletes_is_raw():
    files = [file("b", 5, 9, level=5), file("a", 0, 4, level=5)]
    assert shape(packed_keyed(files, ORDER, PACKING)) == [["b", "a"]]


def test_the_example_of_six_files():
    # Ranges [1, 2] [3, 4] [5, 180] [5, 190] [200, 600] [210, 700]: the third and fourth overlap, the last two too.
    ranges = [(1, 2), (3, 4), (5, 180), (5, 190), (200, 600), (210, 700)]
    files = [file(str(at), *r, sequence=at) for at, r in enumerate(ranges)]
    assert shape(packed_keyed(files, ORDER, PACKING)) == [["0", "1"], [[["2"], ["3"]], [["4"], ["5"]]]]
    assert shape(packed_keyed(files, ORDER, ONE_EACH)) == [["0"], ["1"], [[["2"], ["3"]]], [[["4"], ["5"]]]]


def test_a_section_weighs_the_sum_of_its_files():
    files = [file("a", 0, 9, size=70 * MB), file("b", 0, 9, size=50 * MB), file("c", 20, 29), file("d", 20, 29)]
    assert len(packed_keyed(files, ORDER, PACKING)) == 2
    assert len(packed_keyed(files, ORDER, Packing(140 * MB, 4 * MB))) == 1


@pytest.mark.parametrize("deletes", [1, None], ids=["a delete", "unknown"])
def test_deletes_are_merged_away_even_from_a_single_file(deletes):
    assert shape(packed_keyed([file("a", 0, 4, deletes=deletes)], ORDER, PACKING)) == [[[["a"]]]]
    files = [file("a", 0, 4, level=5, deletes=deletes), file("b", 5, 9, level=5)]
    assert shape(packed_keyed(files, ORDER, PACKING)) == [["b"], [[["a"]]]]


def test_a_single_file_of_level_0_is_raw():
    assert shape(packed_keyed([file("a", 0, 4)], ORDER, PACKING)) == [["a"]]


def test_a_section_goes_whole_or_stays_whole():
    files = [
        file("a", 0, 4, level=5),
        file("b", 3, 6),
        file("c", 10, 14, level=5),
        file("d", 11, 12),
        file("e", 20, 21),
    ]
    matching = {"b", "e"}
    packed = packed_keyed(files, ORDER, PACKING, lambda f: f.file_name in matching)
    assert shape(packed) == [["e"], [[["a"], ["b"]]]]
    assert packed_keyed(files, ORDER, PACKING, lambda f: False) == []


def test_a_section_of_two_runs_stays_when_the_engine_combines_values():
    files = [file("a", 0, 4, level=5), file("b", 3, 6), file("c", 10, 14)]
    assert shape(packed_keyed(files, ORDER, PACKING, lambda f: False, combines=True)) == [[[["a"], ["b"]]]]


def test_files_of_one_level_go_one_by_one():
    files = [file("a", 0, 4, level=5), file("b", 5, 6, level=5)]
    assert shape(packed_keyed(files, ORDER, PACKING, lambda f: f.file_name == "b")) == [["b"]]


FULL = DataFile(
    "data-1", 10, 3, 0, 2, b"\x00k", b"\xffk", ColumnStats(b"a", b"b", (0, None)), ColumnStats(b"c", b"d", (1,)), 1,
    9, ("x.index",), 123, 1, b"\x01", FileSource.COMPACT, ("k",), None, None, None, None,
)  # fmt: skip
SPLIT = Split(b"\x00p", 3, 4, 7, (FULL, replace(FULL, level=5)), raw=False, layout=(((1,), (0,)),))


def test_sections_are_sorted_runs():
    ((old, new),) = SPLIT.sections
    assert (old.level, old.files) == (5, (SPLIT.files[1],))
    assert (new.level, new.files) == (2, (SPLIT.files[0],))
    assert (SPLIT.row_count, SPLIT.size_bytes) == (6, 20)


@pytest.mark.parametrize("split", [SPLIT, replace(SPLIT, raw=True, layout=())], ids=["merged", "raw"])
def test_bytes_and_back(split):
    assert Split.from_bytes(split.to_bytes()) == split


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"3",
        b"[]",
        b"{}",
        b'{"version":2}',
        SPLIT.to_bytes()[:-1],
        SPLIT.to_bytes().replace(b'"layout":[[[1],[0]]]', b'"layout":[[[1],[1]]]'),
        SPLIT.to_bytes().replace(b'"layout":[[[1],[0]]]', b'"layout":[[[1],[2]]]'),
        SPLIT.to_bytes().replace(b'"layout":[[[1],[0]]]', b'"layout":[[[1],[0],[]]]'),
        SPLIT.to_bytes().replace(b'"layout":[[[1],[0]]]', b'"layout":[]'),
        SPLIT.to_bytes().replace(b'"layout":[[[1],[0]]]', b'"layout":[[["a"],[0]]]'),
        SPLIT.to_bytes().replace(b'"raw":false', b'"raw":true'),
        SPLIT.to_bytes().replace(b'"bucket":3', b'"basket":3'),
        SPLIT.to_bytes().replace(b'"file_name"', b'"path"'),
    ],
)
def test_other_bytes_are_refused(data):
    with pytest.raises(InvalidRequest, match="not a split"):
        Split.from_bytes(data)


def test_a_newer_version_is_refused():
    with pytest.raises(UnsupportedFeature, match="version 3"):
        Split.from_bytes(SPLIT.to_bytes().replace(b'"version":2', b'"version":3'))
