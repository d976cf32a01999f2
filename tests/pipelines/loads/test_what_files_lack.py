"""Columns that files lack or have beside those of the table, and rows that get lost between file and table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from paimon_lake.checks import CheckContext, load_records, run_checks
from paimon_lake.loads.files import file_load as files
from paimon_lake.loads.shapes.row_shape import RowShape
from paimon_lake.protocol import AuditFailed, PipelineError
from tests.support.lakes import SmallLake

ORDERS = """
    columns: {id: BIGINT, amount: INT}
    primary_key: [id]
    source: {type: files, path: "data/*.csv", options: {ignore_extra_columns: true}}
    rejects: {max_share: 0.5}
    checks: [{type: row_count}]
"""


def test_a_misspelt_column_stops_the_load_and_names_the_column_that_may_be_meant(quick: SmallLake) -> None:
    quick.declare("shop.orders", ORDERS)
    quick.file("data/1.csv", "id,amuont\n1,5\n")
    told = r"shop\.orders: file .*1\.csv has no column 'amount'; its columns are 'id', 'amuont'; .* mean amuont\?"
    with pytest.raises(PipelineError, match=told):
        quick.load("shop.orders")
    assert quick.rows("shop.orders") == []


def test_columns_that_are_ignored_are_told(quick: SmallLake) -> None:
    quick.declare("shop.orders", ORDERS)
    quick.file("data/1.csv", "id,amount,a,b,c\n1,5,,,\n")
    quick.file("data/2.csv", "id,amount,c,d,e,f\n2,6,,,,\n")
    assert quick.load("shop.orders").details["ignored_columns"] == "a, b, c, d, e and 1 more"
    quick.file("data/3.csv", "id,amount\n3,7\n")
    assert "ignored_columns" not in quick.load("shop.orders").details


def finding(quick: SmallLake) -> tuple[int, str]:
    table = quick.table("shop.orders")
    context = CheckContext(datetime(2024, 1, 1, tzinfo=UTC), history=load_records(table))
    spec = quick.settings.table("shop.orders")
    (found,) = run_checks(spec.checks, spec, table, context=context)
    return found.wrong, found.sentence


def test_rows_with_the_same_key_are_all_counted(quick: SmallLake) -> None:
    quick.declare("shop.orders", ORDERS)
    quick.file("data/1.csv", "id,amount\n1,5\n1,6\n\n2,x\n")
    quick.load("shop.orders")
    assert finding(quick) == (0, "1 row; 1 load read 3 rows, wrote 2 and rejected 1")


@pytest.mark.parametrize("key", ["primary_key", "natural_key"])
def test_a_row_that_is_lost_between_the_reader_and_the_writer_is_found(
    quick: SmallLake, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    quick.declare("shop.orders", ORDERS.replace("primary_key", key))
    quick.file("data/1.csv", "id,amount\n1,5\n2,6\n3,x\n")
    whole = RowShape.table_rows
    monkeypatch.setattr(RowShape, "table_rows", lambda self, rows, file: whole(self, rows, file).slice(1))
    quick.load("shop.orders")
    assert finding(quick) == (1, "the load of snapshot 1 read 3 rows, but wrote 1 and rejected 1")


def test_a_reader_that_loses_a_row_is_found_before_the_load_is_published(
    quick: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(*args: Any) -> Any:
        return (replace(parsed, rows=parsed.rows.slice(1)) for parsed in read(*args))

    quick.declare("shop.orders", ORDERS.replace("row_count", "row_count, block: true"))
    quick.file("data/1.csv", "id,amount\n1,5\n2,6\n")
    read = files.read_split
    monkeypatch.setattr(files, "read_split", careless)
    with pytest.raises(AuditFailed, match=r"row_count: .* read 2 rows, but wrote 1 and rejected 0"):
        quick.load("shop.orders")
