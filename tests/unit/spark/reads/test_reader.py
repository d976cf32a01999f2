from __future__ import annotations

import pyarrow as pa

from paimon_core import open_catalog
from paimon_core.spark.reads.reader import SplitReader
from paimon_core.spark.reference import TableReference


def test_the_splits_of_one_task_are_read_from_one_opened_table(warehouse, monkeypatch):
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    catalog = open_catalog(warehouse)
    catalog.create_database("d")
    table = catalog.create_table("d.t", schema, primary_key=["id"], options={"bucket": "4"})
    table.write([{"id": n, "v": str(n)} for n in range(40)])
    opened, real = [], TableReference.open
    monkeypatch.setattr(TableReference, "open", lambda one: opened.append(one) or real(one))
    reader = SplitReader(TableReference.of(table.context), ["id", "v"], None, schema)
    splits = [split.to_bytes() for split in table.scan().splits()]
    batches = [batch for split in splits for batch in reader(split)]
    assert sorted(row["id"] for batch in batches for row in batch.to_pylist()) == list(range(40))
    assert (len(splits), len(opened)) == (4, 1)
