"""A catalog as a mapping of names to tables, and the arguments of new tables (resembles issue 29)."""

import pytest

import paimon_core as paimon
from paimon_core.errors import DatabaseNotFound, InvalidRequest, TableNotFound


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("shop")
    catalog.create_table("shop.orders", {"id": "BIGINT", "day": "STRING"}, primary_key="id")
    catalog.create_table("shop.items", {"id": "BIGINT", "day": "STRING"}, partition_by="day")
    return catalog


def test_tables_are_found_by_name(catalog):
    assert catalog["shop.orders"].name == "shop.orders"
    assert list(catalog) == ["shop.items", "shop.orders"]
    for name, exists in {
        "shop": True,
        "shop.orders": True,
        "shop.x": False,
        "y": False,
        "y.z": False,
        3: False,
    }.items():
        assert (name in catalog) is exists
    with pytest.raises(TableNotFound):
        catalog["shop.x"]
    with pytest.raises(DatabaseNotFound):
        catalog["y.z"]


def test_a_key_may_be_one_name(catalog):
    assert catalog["shop.orders"].schema.primary_keys == ("id",)
    assert catalog["shop.items"].schema.partition_keys == ("day",)
    for wrong in (3, [3], None):
        with pytest.raises(InvalidRequest, match="must be a column name or a list of column names"):
            catalog.create_table("shop.t", {"id": "BIGINT"}, primary_key=wrong)
    with pytest.raises(InvalidRequest, match="id,day"):
        catalog.create_table("shop.t", {"id": "BIGINT", "day": "STRING"}, primary_key="id,day")
