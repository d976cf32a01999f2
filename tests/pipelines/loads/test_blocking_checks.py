"""Checks that block a load: a failing store is no failed audit, and inputs are seen as the load read them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import StorageError
from paimon_lake.checks import run
from paimon_lake.loads import load
from tests.support.lakes import SmallLake


def test_a_store_that_fails_during_a_check_stops_the_load_without_an_audit(
    quick: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise StorageError("the store does not answer")

    quick.declare(
        "log.events",
        """
        columns: {id: BIGINT}
        primary_key: [id]
        source: {type: files, path: "in/*.csv"}
        checks: [{type: not_null, columns: id, block: true}]
        """,
    )
    quick.file("in/a.csv", "id\n1\n")
    with monkeypatch.context() as patched:
        patched.setattr(run, "not_null", fail)
        with pytest.raises(StorageError, match="the store does not answer"):
            quick.load("log.events")
    assert quick.rows("log.events") == []
    assert quick.load("log.events").details["files_read"] == 1


def test_a_blocking_check_sees_the_inputs_as_the_load_read_them(
    lake: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.declare("shop.orders", "columns: {id: BIGINT}\nprimary_key: [id]\n")
    lake.declare(
        "shop.total",
        """
        columns: {orders: BIGINT}
        natural_key: [orders]
        source: {type: sql, inputs: shop.orders, query: SELECT count(*) AS orders FROM shop.orders}
        checks:
          - type: sql
            name: counts_every_order
            block: true
            query: SELECT orders FROM shop.total EXCEPT SELECT count(*) FROM shop.orders
        """,
    )
    orders = lake.create("shop.orders")
    orders.write(pa.table({"id": [1]}))
    share = load.check_share

    def written_meanwhile(*given: Any) -> None:
        orders.write(pa.table({"id": [2]}))
        share(*given)

    monkeypatch.setattr(load, "check_share", written_meanwhile)
    assert lake.load("shop.total").check_results[0].passed
    assert lake.rows("shop.total") == [(1,)]
