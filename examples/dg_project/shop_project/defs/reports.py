"""An asset of the project that reads a table of the lake: its revenue by customer."""

import dagster as dg

from paimon_dagster.resources import LakeResource
from paimon_lake.tables import open_table


@dg.asset(deps=[dg.AssetKey(["shop", "orders"])])
def revenue_by_customer(shop_lake: LakeResource) -> dg.MaterializeResult:
    """Add up the amounts of each customer, and show them on the page of the asset."""
    rows = open_table(shop_lake.settings, "shop.orders").scan(columns=["customer", "amount"]).to_arrow()
    totals = rows.group_by("customer").aggregate([("amount", "sum")]).sort_by("customer").to_pylist()
    return dg.MaterializeResult(metadata={"revenue": {row["customer"]: str(row["amount_sum"]) for row in totals}})
