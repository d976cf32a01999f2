"""What looks wrong and is accepted: it is read again as it was written."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.catalog import Catalog

ODD = [
    None, "", " ", "__DEFAULT_PARTITION__", ".", "..", "../../x", "a/b", "a=b", "%2e%2e", "a\0b", "a\nb", "\\", "*?:",
    "😀", "caf\u00e9", "cafe\u0301", "ü" * 20,
]  # fmt: skip


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = paimon.open_catalog(tmp_path / "lake")
    catalog.create_database("db")
    return catalog


def test_odd_partitions_are_read_again(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("db.t", "p STRING, k INT", partition_by=["p"])
    table.write([{"p": value, "k": at} for at, value in enumerate(ODD)])
    rows = paimon.open_catalog(tmp_path / "lake").table("db.t").scan().to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["k"]) == [{"p": value, "k": at} for at, value in enumerate(ODD)]
    assert len(table.inspect.partitions()) == len(ODD)
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]


def test_floats_may_be_keys(catalog: Catalog) -> None:
    table = catalog.create_table("db.t", "k DOUBLE, v INT", primary_key=["k"], options={"bucket": "1"})
    other_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0001))[0]
    keys = [math.nan, other_nan, 0.0, -0.0, math.inf, 1.5]
    table.write(pa.table({"k": keys, "v": pa.array(range(6), pa.int32())}))
    rows = table.scan().to_arrow().to_pylist()
    assert [(str(row["k"]), row["v"]) for row in rows] == [
        ("-0.0", 3), ("0.0", 2), ("1.5", 5), ("inf", 4), ("nan", 1)
    ]  # fmt: skip


def test_columns_are_found_by_name(catalog: Catalog) -> None:
    table = catalog.create_table("db.t", "k INT, v STRING")
    texts = pa.array(["z", "a", "b"]).slice(1)
    for form in (texts, texts.cast(pa.large_string()), texts.cast(pa.string_view()), texts.dictionary_encode()):
        table.overwrite(pa.table({"v": pa.chunked_array([form.slice(0, 1), form.slice(1)]), "k": [1, 2]}))
        assert table.scan().to_arrow().to_pylist() == [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}]


def test_a_delete_of_an_absent_key_does_nothing(catalog: Catalog) -> None:
    table = catalog.create_table("db.t", "k INT, v STRING", primary_key=["k"], options={"bucket": "1"})
    table.write([{"k": 1, "v": "a"}])
    table.write([{"k": 2, "v": "b"}], kinds=["-D"])
    assert table.scan().to_arrow().to_pylist() == [{"k": 1, "v": "a"}]


def test_no_rows_are_no_commit(catalog: Catalog) -> None:
    table = catalog.create_table("db.t", "k INT, v STRING")
    assert table.write([]) is None
    assert table.write(table.arrow_schema.empty_table()) is None
    assert table.latest_snapshot() is None
