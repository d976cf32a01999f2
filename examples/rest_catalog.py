"""A catalog behind a REST server of Paimon: the server names the tables, gives their locations and commits.

    pip install "paimon_core[rest]"
    PAIMON_TOKEN=... python rest_catalog.py https://catalog.example WAREHOUSE

WAREHOUSE is the name that the server knows. The token is only in the environment.
"""

import os
import sys

import paimon_core as paimon

if len(sys.argv) != 3 or "PAIMON_TOKEN" not in os.environ:
    sys.exit("usage: PAIMON_TOKEN=... python rest_catalog.py URL WAREHOUSE")
catalog = paimon.open_catalog(sys.argv[2], type="rest", uri=sys.argv[1], options={"token": os.environ["PAIMON_TOKEN"]})
catalog.create_database("shop", ignore_if_exists=True)
orders = catalog.create_table(
    "shop.orders", {"id": "BIGINT", "price": "DOUBLE"}, primary_key="id", ignore_if_exists=True
)
orders.write([{"id": 1, "price": 9.5}])
orders.write([{"id": 1, "price": 7.0}])
print(catalog.list_tables("shop"), orders.scan().to_arrow().to_pylist())
