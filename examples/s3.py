"""A warehouse in an S3 store: any service whose conditional writes work, such as AWS, MinIO, or moto for a try.

    pip install "paimon_core[s3]" "moto[server]"
    moto_server -p 5000 &
    S3_ENDPOINT=http://127.0.0.1:5000 python s3.py s3://try/lake

Without S3_ENDPOINT the service is AWS. The keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the
machine. The bucket must exist; with an endpoint on this machine, the script creates it.
"""

import os
import sys
import urllib.request

import paimon_core as paimon

if len(sys.argv) != 2 or not sys.argv[1].startswith("s3://"):
    sys.exit("usage: python s3.py s3://BUCKET/PATH")
warehouse, endpoint = sys.argv[1], os.environ.get("S3_ENDPOINT", "")
storage = {}
if endpoint.startswith("http://127.0.0.1"):
    storage = {"s3.endpoint": endpoint, "s3.access-key": "test", "s3.secret-key": "test", "s3.region": "us-east-1"}
    bucket = warehouse.removeprefix("s3://").partition("/")[0]
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")).close()
elif endpoint:
    storage = {"s3.endpoint": endpoint}

catalog = paimon.open_catalog(warehouse, storage=storage)
catalog.create_database("shop", ignore_if_exists=True)
orders = catalog.create_table(
    "shop.orders", {"id": "BIGINT", "price": "DOUBLE"}, primary_key="id", ignore_if_exists=True
)
orders.write([{"id": 1, "price": 9.5}, {"id": 2, "price": 3.0}])
orders.write([{"id": 1, "price": 7.0}])  # the commit is one conditional request: two writers cannot lose a commit
print(orders.scan().to_arrow().sort_by("id").to_pylist())
