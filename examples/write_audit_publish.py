"""Write, audit, publish: rows that break a rule are written, looked at, and never become visible.

python write_audit_publish.py [WAREHOUSE]
"""

import sys
import tempfile

import paimon_core as paimon

catalog = paimon.open_catalog(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
catalog.create_database("shop", ignore_if_exists=True)
prices = catalog.create_table(
    "shop.prices", {"sku": "STRING", "price": "DOUBLE"}, primary_key="sku", ignore_if_exists=True
)

for delivery in (
    [{"sku": "pen", "price": 2.5}, {"sku": "ink", "price": 4.0}],
    [{"sku": "pen", "price": -2.5}],  # a wrong delivery
):
    prepared = prices.prepare(delivery)  # the data files are written, and no reader sees them
    wrong = prepared.table.scan(where="price <= 0").to_arrow().to_pylist()
    if wrong:
        prepared.discard()
        print("refused:", wrong)
    else:
        prepared.publish()
        print("published:", len(delivery), "rows")

print("visible:", prices.scan(columns=["sku", "price"]).to_arrow().sort_by("sku").to_pylist())
