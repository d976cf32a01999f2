"""The account of rows reads all rows, also of a table whose options restrict scans."""

from pathlib import Path

import pyarrow as pa

import paimon_core as paimon
from paimon_lake.steps.audits.row_account import account_of


def test_a_table_that_forbids_full_scans_is_counted(warehouse: Path) -> None:
    catalog = paimon.open_catalog(str(warehouse))
    catalog.create_database("db")
    schema = pa.schema([("day", pa.string()), ("k", pa.int64())])
    options = {"read.allow.fullScan": "false"}
    table = catalog.create_table("db.t", schema, partition_by=["day"], options=options)
    table.write([{"day": "a", "k": 1}, {"day": "b", "k": 2}])
    account = account_of(table)
    assert not account.problems
    assert account.notes[-1] == "2 rows in files, all visible"
