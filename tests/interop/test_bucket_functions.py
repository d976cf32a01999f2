"""The bucket functions mod and hive: each side puts a key into the bucket in which the other looks for it."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from tests.support.java_rows import as_set, json_rows

D = decimal.Decimal
KEYS = {
    "INT": [0, 5, -5, 2**31 - 1, -(2**31)],
    "BIGINT": [0, 7, -7, 2**40 + 3, -(2**63)],
    "BOOLEAN": [True, False],
    "TINYINT": [1, -3, 127, -128],
    "SMALLINT": [1, -3, 300, -32768],
    "FLOAT": [0.0, 1.5, -2.25],
    "DOUBLE": [0.0, 1e300, -2.5],
    "STRING": ["", "a", "中文", "a longer string than seven"],
    "VARBINARY(9)": [b"", b"\x80\xff", b"12345678"],
    "DATE": [datetime.date(1969, 7, 20), datetime.date(2024, 1, 15)],
    "TIME(3)": [datetime.time(3, 25, 45, 678000), datetime.time(0)],
    "DECIMAL(9, 2)": [D("-1234567.80"), D("0.00"), D("100.00"), D("0.01")],
    "DECIMAL(18, 4)": [D("12345678901234.5000"), D("-99999999999999.0000")],
}


@pytest.mark.parametrize("function", ["mod", "hive"])
def test_both_sides_find_the_rows_of_the_other(oracle, warehouse, function):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "7", "bucket-function.type": function}
    for number, (kind, values) in enumerate(KEYS.items()):
        if function == "mod" and kind not in ("INT", "BIGINT"):
            continue
        name = f"db.t{number}"
        fields = [
            {"name": "k", "type": f"{kind} NOT NULL"},
            {"name": "s", "type": "STRING NOT NULL"},
            {"name": "v", "type": "INT"},
        ]
        keys = ["k"] if function == "mod" else ["k", "s"]
        oracle.run(
            warehouse, [{"op": "create", "table": name, "fields": fields, "primaryKeys": keys, "options": options}]
        )
        table = catalog.table(name)

        def rows(start, values=values, schema=table.schema.arrow):
            count = range(start, start + len(values))
            return pa.table({"k": values, "s": [f"text {n}" for n in count], "v": count}, schema)

        theirs, ours = rows(0), rows(0 if function == "mod" else 100)
        oracle.run(warehouse, [{"op": "write", "table": name, "rows": json_rows(theirs, table.schema.fields)}])
        table.write(ours)
        report = table.maintenance.check(deep=True)
        assert not report.findings, report.text()
        found = table.scan().to_arrow()
        assert as_set(oracle.dump(warehouse, name)) == as_set(json_rows(found, table.schema.fields))
        assert len(found) == len(values) * len(keys)
        for value in values:
            assert table.scan(where=col("k") == value).count() == len(keys), value
    if function == "hive":
        with pytest.raises(paimon.InvalidRequest, match="hive is not supported for a bucket key of type TIMESTAMP"):
            catalog.create_table("db.x", pa.schema([("k", pa.timestamp("us"))]), primary_key=["k"], options=options)
    else:
        with pytest.raises(paimon.InvalidRequest, match="mod needs a bucket key of one INT or BIGINT column"):
            catalog.create_table("db.x", pa.schema([("k", pa.string())]), primary_key=["k"], options=options)
