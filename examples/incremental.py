"""An incremental pipeline: a second table follows a first one, and each run reads only what changed since the last run.

The first table keeps the position of the pipeline under the name of a consumer. A run that ends early is repeated by
the next run, which does no harm: the rows are written by key.

    python incremental.py [WAREHOUSE]
"""

import sys
import tempfile

import paimon_core as paimon
from paimon_core import col

catalog = paimon.open_catalog(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
catalog.create_database("shop", ignore_if_exists=True)
COLUMNS = {"id": "BIGINT", "price": "DOUBLE"}
orders = catalog.create_table("shop.orders", COLUMNS, primary_key="id", ignore_if_exists=True)
large = catalog.create_table("shop.large_orders", COLUMNS, primary_key="id", ignore_if_exists=True)


def run() -> None:
    """Take what changed in the orders since the last run to the table of large orders."""
    stream = catalog.table("shop.orders").stream(consumer="large-orders")
    read = 0
    while (batch := stream.poll()) is not None:
        rows = batch.to_arrow().to_pylist()
        read += len(rows)
        after = {row["id"]: row for row in rows if row["rowkind"] != "-U"}  # the last state of each key
        kept = [row for row in after.values() if row["rowkind"] != "-D" and row["price"] >= 100]
        gone = sorted(after.keys() - {row["id"] for row in kept})
        if gone:
            large.delete(col("id").is_in(gone))
        if kept:
            large.write([{"id": row["id"], "price": row["price"]} for row in kept])
    stream.commit()
    found = catalog.table("shop.large_orders").scan(columns=["id"]).to_arrow().sort_by("id")
    print(f"{read} changes read; large orders: {found['id'].to_pylist()}")


orders.write([{"id": 1, "price": 250.0}, {"id": 2, "price": 10.0}])
run()
orders.write([{"id": 2, "price": 120.0}])
orders.delete(col("id") == 1)
run()
run()
