"""Two tables that readers see together: a group shows both tables as they were at one publish.

A reader that opens a table by itself sees each load at once; a reader of the group sees only published versions. In a
declared lake, `groups` in `base.yaml` names the tables, and `paimon-lake load group:NAME` loads and publishes them.

    python published_together.py [WAREHOUSE]
"""

import sys
import tempfile

import paimon_core as paimon

catalog = paimon.open_catalog(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
catalog.create_database("shop", ignore_if_exists=True)
orders = catalog.create_table("shop.orders", {"id": "BIGINT"}, primary_key="id", ignore_if_exists=True)
items = catalog.create_table("shop.items", {"order_id": "BIGINT", "sku": "STRING"}, ignore_if_exists=True)
group = catalog.group("shop")


def publish() -> None:
    """Show the latest snapshots of both tables to readers of the group; tags keep these snapshots from expiring."""
    tables = [catalog.table(name) for name in ("shop.orders", "shop.items")]
    version = group.publish_snapshots({one.name: one.latest_snapshot().id for one in tables})
    group.expire(keep_last=20)
    print("published version", version.number)


def seen() -> tuple[int, int]:
    """Return the numbers of orders and of items that a reader of the group sees."""
    version = group.latest().number
    return tuple(group.table(name, version).scan().count() for name in ("shop.orders", "shop.items"))


orders.write([{"id": 1}])
items.write([{"order_id": 1, "sku": "pen"}])
publish()
orders.write([{"id": 2}])  # its items are not there yet
print("orders and items of the group:", seen())
items.write([{"order_id": 2, "sku": "ink"}])
publish()
print("orders and items of the group:", seen())
