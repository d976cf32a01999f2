"""merge-engine = aggregation: both sides fold the same rows to the same bits, whoever wrote and compacted them."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from typing import Any

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.java_rows import as_set, json_rows

D = decimal.Decimal
NUMBERS: dict[str, list[Any]] = {
    "TINYINT": [-2, -1, 1, 2],
    "SMALLINT": [-3, 1, 2],
    "INT": [-7, 0, 1, 3],
    "BIGINT": [-11, 1, 2**40],
    "FLOAT": [0.1, -2.5, 1e10, -0.0, 3.0e-5],
    "DOUBLE": [0.1, 0.2, -0.3, 1e100, -0.0, math.inf],
    "DECIMAL(9, 2)": [D("0.01"), D("-7.25"), D("1.50")],
    "DECIMAL(18, 4)": [D("12345.6789"), D("-0.0001")],
    "DECIMAL(20, 3)": [D("-60000000000000000.001"), D("59999999999999999.999"), D("2.500")],
    "DECIMAL(38, 10)": [D("-6234567890123456789012345678.0123456789"), D("7.0000000005"), D("-0.3333333333")],
}
OTHERS: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "CHAR(3)": ["abc", "z"],
    "STRING": ["", "中文", "\U0001f600", "\uffff", "a longer string than one word", "a longer string than one wore"],
    "VARBINARY(20)": [b"", b"\x00", b"\x80\xff", b"\x7f", b"longer than eight"],
    "DATE": [datetime.date(1969, 7, 20), datetime.date(2024, 1, 15)],
    "TIME(3)": [datetime.time(3, 25, 45, 678000), datetime.time(0)],
    "TIMESTAMP(3)": [datetime.datetime(2024, 1, 15, 10, 30), datetime.datetime(1960, 1, 1)],
    "TIMESTAMP(6)": [datetime.datetime(1960, 1, 1, 0, 0, 0, 1), datetime.datetime(1960, 1, 1, 0, 0, 0, 2)],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [datetime.datetime(1950, 5, 5, 1, 1, 1, 5, tzinfo=datetime.UTC)],
}
ALL = NUMBERS | OTHERS
FACTORS: dict[str, list[Any]] = {"TINYINT": [-1, 0, 1], "SMALLINT": [-1, 1], "INT": [-2, 1, 3], "BIGINT": [-9, 1, 7]}
"""Whose products fit: beyond the range Java 1.4 wraps around, and later versions fail."""
PICKS = ("last_value", "last_non_null_value")
FIRSTS = ("first_value", "first_non_null_value", "first_not_null_value")
CASES = {
    # Name: functions, their types, the kinds of rows, more options.
    "sum": (["sum"], NUMBERS, "+I +U -U -D", {}),
    "product": (["product"], NUMBERS | FACTORS, "+I +U", {}),
    "product_taken_back": (
        ["product"],
        {"INT": [-2, 1, 2], "DOUBLE": [0.1, 3.0], "DECIMAL(9, 2)": [D("2.00")]},
        "+I +I -U -D",
        {},
    ),
    "extremes": (["max", "min"], {t: v for t, v in ALL.items() if t != "BOOLEAN"}, "+I +U", {}),  # Java 1.4 fails at it
    "last": (PICKS, ALL, "+I +U -U -D", {}),
    "first": (FIRSTS, ALL, "+I +U", {}),
    "booleans": (["bool_and", "bool_or"], {"BOOLEAN": [True, False]}, "+I +U", {}),
    "ignoring_retracts": (["sum", "max", *PICKS, *FIRSTS], {"INT": [1, 2]}, "+I -U -D", {"ignore-retract": "true"}),
    "removing": (["sum", "product", "max", "min", *PICKS, *FIRSTS], {"INT": [1, 2], "DOUBLE": [0.5, 0.1]}, "+I -D", {}),
    "ordered": (["sum", "last_value", "first_value"], {"INT": [1, 2], "DOUBLE": [0.1, 0.2, 0.3]}, "+I", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_both_sides_fold_alike(oracle, warehouse, case):
    functions, types, kinds, per_column = CASES[case]
    columns = {"k": "INT", "s": "INT"}
    options = {"bucket": "1", "merge-engine": "aggregation", "write-only": "true"}
    values: dict[str, list[Any]] = {}
    for function in functions:
        for number, (text, choices) in enumerate(types.items()):
            name = f"{function}_{number}"
            columns[name], values[name] = text, choices
            options |= {f"fields.{name}.{key}": value for key, value in per_column.items()}
            if function != "last_non_null_value":  # it is what a column without a function has
                options[f"fields.{name}.aggregate-function"] = function
    if case == "removing":
        options["aggregation.remove-record-on-delete"] = "true"
    if case == "ordered":
        options |= {"sequence.field": "s", "fields.default-aggregate-function": "last_value"}
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    arrow = pa.schema([pa.field(n, paimon.types.parse_type(t).to_arrow()) for n, t in columns.items()])
    ours = catalog.create_table("db.ours", arrow, types=columns, primary_key=["k"], options=options)
    fields = ours.schema.fields
    create = {"op": "create", "table": "db.java", "primaryKeys": ["k"], "partitionKeys": [], "options": options}
    oracle.run(warehouse, [create | {"fields": [{"name": f.name, "type": f.type.sql} for f in fields]}])
    java = catalog.table("db.java")
    source = random.Random(case)
    for commit in range(5):
        row_kinds = [source.choice(kinds.split()) for _ in range(40)]
        data = [[source.randrange(25) for _ in range(40)], [source.choice([None, 1, 2, 3]) for _ in range(40)]]
        data += [[source.choice([None, *choices, *choices]) for _ in range(40)] for choices in values.values()]
        rows = pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(data, arrow, strict=True)], schema=arrow)
        ours.write(rows, kinds=pa.array(row_kinds))
        step = {"op": "write", "table": "db.java", "rows": json_rows(rows, fields, row_kinds)}
        oracle.run(warehouse, [step])
        same(oracle, warehouse, ours, java)
        if commit == 2:  # each side compacts the other's table in the middle of things
            oracle.run(warehouse, [{"op": "compact", "table": "db.ours", "options": {"write-only": "false"}}])
            java.compact(full=True)
            same(oracle, warehouse, ours, java)
    ours.compact(full=True)
    oracle.run(warehouse, [{"op": "compact", "table": "db.java", "options": {"write-only": "false"}}])
    same(oracle, warehouse, ours, java)


def same(oracle, warehouse, *tables):
    """Both readers see the same rows in all of the tables."""
    seen = [as_set(oracle.dump(warehouse, table.name)) for table in tables]
    seen += [as_set(json_rows(table.scan().to_arrow(), table.schema.fields)) for table in tables]
    assert seen[0]
    for other in seen[1:]:
        assert other == seen[0]
