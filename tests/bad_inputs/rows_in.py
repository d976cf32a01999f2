"""Bad rows: values, columns and row kinds that a table must not take, as Arrow data and as dicts."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.limits import PROPERTIES_BYTES
from paimon_core.predicate import col
from tests.bad_inputs.case import Case, Cases, case
from tests.support.broken_tables import some_rows

ROWS = some_rows([1])


def written(table: str, data: Any, *says: str, error: type[Exception] = SchemaMismatch, **arguments: Any) -> Case:
    """A write that must be refused; ``data`` may be a function that returns the data."""
    return case(lambda lake: lake.table(table).write(data() if callable(data) else data, **arguments), error, *says)


def wide(column: str, value: Any, *says: str) -> Case:
    """One bad value of a column of the table ``wide``, behind a good row."""
    return written("wide", [{column: None}, {column: value}], f"'{column}", *says)


def arrow(column: str, values: Any, kind: pa.DataType, *says: str, error: type[Exception] = SchemaMismatch) -> Case:
    """The same in a column of Arrow; the other columns are null."""

    def data() -> pa.Table:
        from paimon_core.types import parse_columns
        from tests.bad_inputs.case import WIDE

        held = values if isinstance(values, pa.Array) else pa.array(values, kind)
        return pa.table({c.name: held if c.name == column else pa.nulls(len(held)) for c in parse_columns(WIDE)})

    return written("wide", data, f"'{column}", *says, error=error)


def edge(kind: str) -> int:
    return 2 ** (int(kind) - 1)


VALUES: dict[str, Case] = {
    "a text in a BIGINT": wide("i64", "x", "BIGINT", "row 1", "'x'"),
    "a text column in a BIGINT": arrow("i64", ["x"], pa.string(), "BIGINT", "string"),
    "a bool in an INT": wide("i32", True, "INT", "row 1", "bool"),
    "a float in an INT": wide("i32", 1.5, "INT", "row 1", "1.5"),
    "half floats in an INT": arrow("i32", [1.5], pa.float64(), "INT"),
    "2^31 in an INT": wide("i32", 2**31, "INT", "row is 1", "2147483648"),
    "2^63 in a BIGINT": wide("i64", 2**63, "BIGINT", "row 1", str(2**63)),
    "10,000 digits in a BIGINT": wide("i64", 10**4000, "BIGINT", "row 1"),
    "128 in a TINYINT": wide("i8", 128, "TINYINT", "row is 1", "128"),
    "-32769 in a SMALLINT": wide("i16", -32769, "SMALLINT", "row is 1", "-32769"),
    "uint64 beyond BIGINT": arrow("i64", [1, 2**64 - 1], pa.uint64(), "BIGINT", "18446744073709551615"),
    "int64 beyond INT": arrow("i32", [1, 2**40], pa.int64(), "INT", str(2**40)),
    "uint8 beyond TINYINT": arrow("i8", [200], pa.uint8(), "TINYINT", "200"),
    "a decimal with too many digits": wide("dec", Decimal("1234.5"), r"DECIMAL\(5, 2\)", "row 1", "1234.5"),
    "a decimal that must be rounded": wide("dec", Decimal("1.005"), r"DECIMAL\(5, 2\)", "row 1", "1.005"),
    "a decimal NaN": wide("dec", Decimal("NaN"), "DECIMAL", "row 1", "NaN"),
    "a decimal infinity": wide("dec", Decimal("-Infinity"), "DECIMAL", "row 1", "Infinity"),
    "a decimal of 1 MB": wide("dec", "9" * 1_000_000, "DECIMAL", "row 1"),
    "a decimal of a huge exponent": wide("dec", "1e999999999", "DECIMAL", "row 1"),
    "a decimal that is a float": wide("dec", 1.5, "DECIMAL", "row 1", "float"),
    "a decimal that is a word": wide("dec", "much", "DECIMAL", "row 1", "much"),
    "wide decimals": arrow("dec", [Decimal("12345.67")], pa.decimal128(20, 2), "DECIMAL"),
    "a decimal256": arrow("dec", [Decimal("12345.67")], pa.decimal256(60, 2), "DECIMAL"),
    "doubles in a FLOAT": arrow("f", [1e300], pa.float64(), "FLOAT"),
    "a text in a DOUBLE": wide("d", "x", "DOUBLE", "row 1"),
    "a number in a BOOLEAN": wide("b", 1, "BOOLEAN", "row 1", "int"),
    "a text that is too long for VARCHAR": wide("vc", "abcde", r"VARCHAR\(4\)", "5"),
    "a text that is too long for CHAR": wide("c", "abcd", r"CHAR\(3\)", "4"),
    "bytes that are too many": wide("vb", b"abcd", r"VARBINARY\(3\)", "4"),
    "bytes that are too many for BINARY": wide("bin", b"abc", r"BINARY\(2\)", "3"),
    "a number in a STRING": wide("s", 7, "STRING", "row 1", "int"),
    "a lone surrogate": wide("s", "\ud800", "STRING", "row 1", "Unicode"),
    "bytes that are no UTF-8": arrow(
        "s", pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xc3\x28")), None, "UTF-8"
    ),
    "a text in BYTES": wide("vb", "abc", "VARBINARY", "row 1", "str"),
    "30 February": wide("day", "2024-02-30", "DATE", "row 1", "2024-02-30"),
    "a date that is a number": wide("day", 7, "DATE", "row 1", "int"),
    "a date with a time": wide("day", datetime(2024, 1, 31, 12), "DATE", "row 1", "time"),
    "a date that is a word": wide("day", "today", "DATE", "row 1", "today"),
    "24:00": wide("t0", "24:00", "TIME", "row 1", "24:00"),
    "milliseconds in a TIME(0)": wide("t0", time(1, 2, 3, 4000), r"TIME\(0\)", "row 1"),
    "microseconds in a TIME(3)": wide("t3", time(1, 2, 3, 4), r"TIME\(3\)", "row 1"),
    "a time outside of a day": arrow("t3", pa.array([86_400_000], pa.int32()).view(pa.time32("ms")), None, "day"),
    "a negative time": arrow("t3", pa.array([-1], pa.int32()).view(pa.time32("ms")), None, "day"),
    "milliseconds in a TIMESTAMP(0)": wide(
        "ts0", datetime(2024, 1, 1, 0, 0, 0, 1000), r"TIMESTAMP\(0\)", "row 1|digits"
    ),
    "microseconds in a TIMESTAMP(3)": wide("ts3", datetime(2024, 1, 1, 0, 0, 0, 1), r"TIMESTAMP\(3\)", "row is 1"),
    "nanoseconds in a TIMESTAMP(3)": arrow("ts3", [1], pa.timestamp("ns"), r"TIMESTAMP\(3\)"),
    "nanoseconds in a TIMESTAMP(6)": wide("ts6", np.datetime64(1, "ns"), r"TIMESTAMP\(6\)", "row 1"),
    "the year 9999 in nanoseconds": wide("ts9", datetime(9999, 1, 1), r"TIMESTAMP\(9\)", "out of bounds", "row is 1"),
    "a time zone in a TIMESTAMP": wide("ts3", datetime(2024, 1, 1, tzinfo=UTC), "TIMESTAMP", "row 1", "time zone"),
    "no time zone in a local TIMESTAMP": wide("ltz", datetime(2024, 1, 1), "LOCAL TIME ZONE", "row 1", "time zone"),
    "zoned Arrow in a TIMESTAMP": arrow("ts3", [1], pa.timestamp("ms", "UTC"), "TIMESTAMP", "zone|tz"),
    "Arrow without a zone in a local TIMESTAMP": arrow("ltz", [1], pa.timestamp("ms"), "TIMESTAMP", "zone|timestamp"),
    "a timestamp of the year 292277": arrow("ts6", [2**63 - 1], pa.timestamp("ms"), "TIMESTAMP"),
    "a timestamp that is a word": wide("ts3", "now", "TIMESTAMP", "row 1", "now"),
    "a timestamp that is a number": wide("ts3", 7, "TIMESTAMP", "row 1", "int"),
    "a duration in a TIMESTAMP": arrow("ts3", [1], pa.duration("ms"), "TIMESTAMP", "duration"),
    "a text in an ARRAY": wide("arr", "abc", "ARRAY", "row 1", "str"),
    "a null in an ARRAY of NOT NULL": wide("arr", [1, None], "NOT NULL|null"),
    "a text in the element of an ARRAY": wide("arr", [1, "x"], "element", "row 1", "'x'"),
    "a set in an ARRAY": wide("arr", {1}, "ARRAY", "row 1", "set"),
    "a list in a MAP": wide("m", [1], "MAP", "row 1", "pairs"),
    "a null key in a MAP": wide("m", {None: 1}, "MAP", "row 1", "null key"),
    "a text in the value of a MAP": wide("m", {"a": "x"}, "value", "row 1", "'x'"),
    "a count that is a text": wide("ms", {"a": "x"}, "row 1"),
    "an unknown member of a ROW": wide("r", {"x": 1, "z": 2}, "ROW", "row 1", "'z'"),
    "a null in a NOT NULL member": wide("r", {"x": 1, "y": None}, "NOT NULL"),
    "a tuple that is too short for a ROW": wide("r", (1,), "ROW", "row 1"),
    "a number in a ROW": wide("r", 7, "ROW", "row 1"),
    "Arrow structs of other members": arrow("r", [{"a": 1}], pa.struct([("a", pa.int32())]), "a"),
    "Arrow lists in a MAP": arrow("m", [[1]], pa.list_(pa.int32()), "MAP"),
    "an object": wide("i32", object(), "INT", "row 1", "object"),
}


COLUMNS: dict[str, Case] = {
    "a NOT NULL column that is missing": written("notnull", ROWS.select(["k"]), "'v'", "missing"),
    "a column that is unknown": written("append", ROWS.append_column("x", [["a"]]), "'x'", "k, v"),
    "a column that is misspelt": written("append", ROWS.rename_columns(["k", "V"]), "'V'|'v'"),
    "a column twice": written("append", lambda: pa.table([[1], ["a"], ["b"]], names=["k", "v", "v"]), "'v'"),
    "an unknown key of a dict": written("append", [{"k": 1, "x": 2}], "'x'"),
    "a key of a dict that is no text": written("append", [{7: 1}], "7"),
    "null in NOT NULL": written("notnull", [{"k": 1, "v": None}], "'v'", "NOT NULL|null"),
    "a dict without a NOT NULL column": written("notnull", [{"k": 1}], "'v'", "NOT NULL|null"),
    "a null primary key": written("keyed", [{"k": None, "v": "x"}], "'k'", "null|NOT NULL"),
    "a null primary key in Arrow": written("keyed", lambda: some_rows([1, None]), "'k'", "null|NOT NULL"),
    "rows that are a number": written("append", 7, "int", error=InvalidRequest),
    "rows that are text": written("append", "k=1", "str", error=InvalidRequest),
    "rows that are None": written("append", None, "None", error=InvalidRequest),
    "rows that are lists": written("append", [[1, "a"]], "list", error=InvalidRequest),
    "rows that are one dict": written("append", {"k": 1}, "dict", error=InvalidRequest),
    "a partition of 300 characters": written(
        "names", [{"name": "n" * 300, "k": 1}], "directory name of 305 bytes", "255", error=InvalidRequest
    ),
    "a partition of escapes": written("names", [{"name": "/" * 100, "k": 1}], "305 bytes", "255", error=InvalidRequest),
    "partitions whose path is too long": written(
        "places",
        [dict.fromkeys("abcdefghij", "n" * 240)],
        "path of partition",
        "the limit is 2048",
        error=InvalidRequest,
    ),
    "an unknown row kind": written("keyed", ROWS, r"\+X", "-D", kinds=["+X"]),
    "a row kind that is a number": written("keyed", ROWS, "kind", kinds=[7], error=InvalidRequest),
    "row kinds that are too few": written(
        "keyed", some_rows([1, 2]), "kind", "1", "2", kinds=["+I"], error=InvalidRequest
    ),
    "row kinds of an unknown column": written("keyed", ROWS, "'zz'", kinds="zz", error=InvalidRequest),
    "a null row kind": written("keyed", ROWS, "kind", kinds=[None], error=InvalidRequest),
    "a delete in an append table": written("append", ROWS, r"only \+I", kinds=["-D"], error=InvalidRequest),
    "an unknown row kind in a column": written(
        "kinds", [{"k": 1, "kind": "gone"}], "kind", "gone", error=InvalidRequest
    ),
    "a null row kind in a column": written("kinds", [{"k": 1, "kind": None}], "kind", error=InvalidRequest),
    "properties that are a list": written("append", ROWS, "properties", properties=["a"], error=InvalidRequest),
    "a property that is a number": written("append", ROWS, "'a'", "7", properties={"a": 7}, error=InvalidRequest),
    "a property with a surrogate": written("append", ROWS, "'a'", properties={"a": "\ud800"}, error=InvalidRequest),
    "properties of 9 MB": written(
        "append",
        ROWS,
        "properties",
        f"the limit is {PROPERTIES_BYTES}",
        properties={"a": "x" * (9 << 20)},
        error=InvalidRequest,
    ),
    "a property of the library": written(
        "append", ROWS, "paimon-core.base", properties={"paimon-core.base": "1 x"}, error=InvalidRequest
    ),
    "an identifier without a user": written("append", ROWS, "identifier", "user", identifier=1, error=InvalidRequest),
    "a negative identifier": written("append", ROWS, "identifier -1", user="u", identifier=-1, error=InvalidRequest),
    "an identifier of 2^63": written("append", ROWS, "identifier", user="u", identifier=2**63, error=InvalidRequest),
    "an identifier that is text": written(
        "append", ROWS, "identifier '1'", user="u", identifier="1", error=InvalidRequest
    ),
    "a watermark of 2^63": written("append", ROWS, "watermark", watermark=2**63, error=InvalidRequest),
    "a watermark that is a date": written(
        "append", ROWS, "watermark", watermark=date(2024, 1, 1), error=InvalidRequest
    ),
    "a schema merge that is a word": written("append", ROWS, "merge_schema", merge_schema="yes", error=InvalidRequest),
    "an overwrite outside of its filter": case(
        lambda lake: lake.table("days").overwrite(
            [{"day": "2024-02-01", "k": 1, "v": "a"}], where=col("day") == "2024-01-31"
        ),
        InvalidRequest,
        "partition|day",
    ),
    "an overwrite by a value column": case(
        lambda lake: lake.table("days").overwrite([], where=col("v") == "a"), InvalidRequest, "'v'", "day"
    ),
    "an overwrite that is a text": case(
        lambda lake: lake.table("days").overwrite([], where="day = 1"), SchemaMismatch, "'day'", "column 1: .day = 1"
    ),
    "an overwrite of an unpartitioned table by a filter": case(
        lambda lake: lake.table("append").overwrite(ROWS, where=col("k") == 1), InvalidRequest, "'k'|partition"
    ),
    "a text of 1 MB in an INT": written("wide", [{"i32": "x" * 1_000_000}], "'i32'", "row 0"),
}
CASES: Cases = {**VALUES, **COLUMNS}
