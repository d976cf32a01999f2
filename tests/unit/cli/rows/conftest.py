"""A table with two snapshots, a tag and two partitions."""

import pytest

import paimon_core as paimon


@pytest.fixture
def orders(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("shop")
    columns = {"day": "STRING NOT NULL", "id": "BIGINT NOT NULL", "note": "STRING"}
    table = catalog.create_table("shop.orders", columns, primary_key=["day", "id"], partition_by="day")
    table.write([{"day": "mon", "id": n, "note": f"n{n}"} for n in range(1, 4)])
    table.tags.create("first")
    table.write([{"day": "mon", "id": 2, "note": "x\x1b[31m" + "y" * 100}, {"day": "tue", "id": 9, "note": None}])
    return table
