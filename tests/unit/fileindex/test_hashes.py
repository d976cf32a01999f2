from __future__ import annotations

import pyarrow as pa

from paimon_core.fileindex.hashes import binary_hashes
from paimon_core.fileindex.java_order import put_order, text_hash


def test_xxhash64_of_known_texts():
    texts = ["", "a", "abc", "message digest", "abcdefghijklmnopqrstuvwxyz" * 3]
    found = binary_hashes(pa.array([t.encode() for t in texts], pa.binary()))
    assert [hex(h) for h in found.tolist()[:3]] == ["0xef46db3751d8e999", "0xd24ec4f1a98c6e5b", "0x44bc2cf5ad770999"]


def test_java_text_hashes_and_map_order():
    assert [text_hash(t) for t in ("", "a", "polygenelubricants")] == [0, 97, 1 << 31]
    assert put_order(["b", "a", "q"]) == ["a", "q", "b"]
