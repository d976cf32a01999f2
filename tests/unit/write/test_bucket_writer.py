import pickle

import pyarrow as pa

import paimon_core as paimon
from paimon_core.datafile.writing import table_files


def test_thousands_of_buckets_share_one_layout(warehouse, monkeypatch):
    made = []

    class Counted(table_files.FileLayout):
        def __init__(self, *given):
            made.append(given)
            super().__init__(*given)

    monkeypatch.setattr(table_files, "FileLayout", Counted)
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema([("p", pa.int32()), ("id", pa.int64())])
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.t", schema, primary_key=["p", "id"], partition_by=["p"], options=options)
    table.write(pa.table([range(20), range(20)], schema=schema))
    table.write(pa.table([range(20), range(20)], schema=schema))
    assert len(made) == 1
    assert table.context.derived
    assert "derived" not in vars(pickle.loads(pickle.dumps(table.context)))  # noqa: S301
