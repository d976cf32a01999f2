"""Parquet maps with optional keys: Arrow reads them as lists of pairs, which are converted back to maps."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.codec.parquet.thrift import BINARY, I32, LIST, STRUCT
from paimon_core.datafile.parquet.footer import read_footer
from paimon_core.datafile.parquet.optional_map_keys import as_maps, maps_as_lists, open_metadata, with_maps
from paimon_core.errors import UnsupportedFeature

REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
PAIRS = pa.list_(pa.field("key_value", pa.struct([("key", pa.string()), ("value", pa.int32())]), nullable=False))
NESTED = pa.struct([pa.field("inner", PAIRS)])


def group(name, repetition, children, **marks):
    return {3: (I32, repetition), 4: (BINARY, name), 5: (I32, children)} | {
        {"converted": 6, "logical": 10}[k]: v for k, v in marks.items()
    }


def leaf(name, repetition):
    return {1: (I32, 1), 3: (I32, repetition), 4: (BINARY, name)}


def footer(keys, **marks):
    elements = [
        group(b"schema", REQUIRED, 1),
        group(b"tags", OPTIONAL, 1, **marks),
        group(b"key_value", REPEATED, 2, converted=(I32, 2)),
        leaf(b"key", keys),
        leaf(b"value", OPTIONAL),
    ]
    return {2: (LIST, (STRUCT, elements))}


@pytest.mark.parametrize("marks", [{"converted": (I32, 1)}, {"logical": (STRUCT, {2: (STRUCT, {})})}])
def test_a_map_with_optional_keys_is_marked_as_a_list(marks):
    tree = footer(OPTIONAL, **marks)
    assert maps_as_lists(tree)
    outer, pair = tree[2][1][1][1:3]
    assert outer[6] == (I32, 3)
    assert outer.get(10) in (None, (STRUCT, {3: (STRUCT, {})}))
    assert 6 not in pair


def test_other_maps_and_lists_stay():
    tree = footer(REQUIRED, converted=(I32, 1))
    assert not maps_as_lists(tree)
    assert tree == footer(REQUIRED, converted=(I32, 1))
    assert not maps_as_lists(footer(OPTIONAL, converted=(I32, 3)))


def test_a_footer_without_a_part_is_refused():
    tree = footer(OPTIONAL, converted=(I32, 1))
    del tree[2][1][1][3][3]
    with pytest.raises(ValueError, match="lacks a part"):
        maps_as_lists(tree)
    with pytest.raises(ValueError, match="lacks a part"):
        maps_as_lists({})


def test_a_file_that_arrow_opens_is_taken_as_it_is():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))}), sink)
    metadata, changed = open_metadata(read_footer(pa.BufferReader(sink.getvalue())))
    assert (metadata.num_rows, changed) == (1, False)


def test_types_and_values():
    assert with_maps(NESTED) == pa.struct([("inner", pa.map_(pa.string(), pa.int32()))])
    assert with_maps(pa.list_(pa.int32())) == pa.list_(pa.int32())
    rows = pa.array([{"inner": [{"key": "a", "value": 1}]}, {"inner": None}, None, {"inner": []}], NESTED)
    assert as_maps(rows, "c").to_pylist() == [{"inner": [("a", 1)]}, {"inner": None}, None, {"inner": []}]


def test_a_null_key_is_refused_by_the_name_of_the_column():
    rows = pa.array([[{"key": None, "value": 1}]], PAIRS)
    with pytest.raises(UnsupportedFeature, match="column 'tags' contains a map with a null key"):
        as_maps(rows, "tags")
