"""Segments: rows are found by their key whatever the hashes are, and files are bounded and removed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.types import parse_type
from paimon_lake.loads.lookup import segment
from paimon_lake.loads.lookup.segment import Segment, TooLarge

SCHEMA = pa.schema([("a", pa.string()), ("b", pa.int32()), ("value", pa.string())])
KEY = [parse_type("STRING"), parse_type("INT")]


def few_hashes(columns, types):
    """Return hashes of which many are equal."""
    return (np.asarray(columns[1].fill_null(0)) % 3 - 1).astype(np.int32)


def segment_of(rows, most_bytes=1 << 20):
    batch = pa.RecordBatch.from_pylist([{"a": a, "b": b, "value": v} for (a, b), v in rows.items()], SCHEMA)
    return Segment.of([batch.slice(0, 3), batch.slice(3)], SCHEMA, KEY, most_bytes)


KEYS = st.tuples(st.sampled_from(["", "x", "yy", "long " * 9]), st.integers(-3, 9))


@given(rows=st.dictionaries(KEYS, st.none() | st.text(max_size=3)), asked=st.lists(KEYS))
def test_rows_are_found_by_their_key(rows, asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment, "hash_rows", few_hashes)
        patch.setattr(segment, "_CHUNK_BYTES", 100)
        made = segment_of(rows)
    keys = [pa.array([a for a, _ in asked], pa.string()), pa.array([b for _, b in asked], pa.int32())]
    found = made.find(keys, few_hashes(keys, KEY))
    assert [row >= 0 for row in found] == [key in rows for key in asked]
    hits = found[found >= 0]
    assert made.take("value", hits).to_pylist() == [rows[key] for key in asked if key in rows]


def test_files_are_removed_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = {(str(n), n): "v" * 100 for n in range(1000)}
    made = segment_of(rows)
    assert list(tmp_path.iterdir()) == [], "the files are mapped and have no names"
    assert 1000 * 100 < made.size_bytes < 1000 * 200
    with pytest.raises(TooLarge):
        segment_of(rows, made.size_bytes - 1)
    assert list(tmp_path.iterdir()) == []
    assert segment_of(rows, made.size_bytes).rows.num_rows == 1000
