"""A query of the lake: the revenue by country, from three tables that follow the database."""

from pathlib import Path

import pyarrow.compute as pc

import paimon_core as paimon

lake = paimon.open_catalog(Path(__file__).parent / "warehouse")
customers = lake.table("shop.customers").scan(["id", "country"]).to_arrow().rename_columns(["customer_id", "country"])
orders = lake.table("shop.orders").scan(["id", "customer_id"]).to_arrow().rename_columns(["order_id", "customer_id"])
items = lake.table("shop.order_items").scan(["order_id", "quantity", "price"]).to_arrow()

rows = items.join(orders, "order_id", join_type="inner").join(customers, "customer_id", join_type="inner")
rows = rows.append_column("amount", pc.multiply(rows["price"], rows["quantity"]))
for row in rows.group_by("country").aggregate([("amount", "sum")]).sort_by("country").to_pylist():
    print(f"{row['country']}  {row['amount_sum']:>14,}")
