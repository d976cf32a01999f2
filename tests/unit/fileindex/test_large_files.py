"""Indexes that take many bytes per row are not used for files of very many rows."""

import pyarrow as pa

from paimon_core.fileindex import bitmap, bloom, evaluate
from paimon_core.fileindex.container import FileIndex, write_container
from paimon_core.fileindex.keys import keys_of
from paimon_core.predicate import col
from paimon_core.schema import DataField
from paimon_core.types import parse_type


def test_only_bloom_filters_are_used_above_a_number_of_rows(monkeypatch):
    kind = parse_type("BIGINT")
    keys = keys_of(pa.array([1, 2, 3]), kind)
    bits = bitmap.write(keys, {"version": 2, "index-block-size": 4096})
    bits_of = FileIndex.of_bytes(write_container({"k": {"bitmap": bits}}), "i")
    blooms = FileIndex.of_bytes(
        write_container({"k": {"bloom-filter": bloom.write(keys, {"items": 9, "fpp": 0.01})}}), "i"
    )
    where = (col("k") == 7).bind((DataField(0, "k", kind),))

    def found(index):
        rows = evaluate.matching_rows(index, where, {"k": ("k", kind)}, 3)
        return None if rows is None else rows.tolist()

    assert found(bits_of) == found(blooms) == [False] * 3
    monkeypatch.setattr(evaluate, "UNPACKED_ROWS", 2)
    assert found(bits_of) is None
    assert found(blooms) == [False] * 3
