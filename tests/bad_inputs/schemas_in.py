"""Bad schemas: types, columns, keys, defaults and comments of new tables."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pandas as pd
import pyarrow as pa

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.limits import METADATA_BYTES, TYPE_DEPTH
from paimon_core.types import Annotations, annotated_field, parse_type
from tests.bad_inputs.case import Case, Cases, case

LONG = 1_000_000


def created(error: type[Exception], schema: Any, *says: str, **arguments: Any) -> Case:
    """A table that must not be created; ``schema`` may be a function that returns the schema."""
    return case(lambda lake: lake.create(schema() if callable(schema) else schema, **arguments), error, *says)


def typed(text: Any, *says: str, error: type[Exception] = InvalidRequest) -> Case:
    return created(error, {"c": text}, "'c'", *says)


def deep(start: str, end: str, levels: int) -> str:
    return start * levels + "INT" + end * levels


def deep_arrow(levels: int) -> pa.Schema:
    return pa.schema([("c", reduce(lambda inner, _: pa.struct([("x", inner)]), range(levels), pa.int32()))])


def many(count: int) -> pa.Schema:
    return pa.schema([(f"column_{n}", pa.int32()) for n in range(count)])


def commented(count: int) -> pa.Schema:
    kinds = [Annotations(parse_type("INT"), description="x" * 1_000_000)] * count
    return pa.schema([annotated_field(f"c{n}", kind) for n, kind in enumerate(kinds)])


PAIR = "k INT NOT NULL, v STRING"
TYPES: dict[str, Case] = {
    "an empty type": typed("", "type"),
    "an unknown type": typed("NOSUCH", "NOSUCH"),
    "a misspelt type": typed("BIGINTT", "BIGINTT"),
    "a type that is no text": created(InvalidRequest, {"c": 7}, "'c'", "7"),
    "a column that is no text": created(InvalidRequest, {7: "INT"}, "7"),
    "text after a type": typed("INT x", "x"),
    "a type of 1 MB": typed("A" * LONG, "type"),
    "a decimal of 0 digits": typed("DECIMAL(0, 0)", r"DECIMAL\(0, 0\)", "1 <= precision <= 38"),
    "a decimal of 39 digits": typed("DECIMAL(39, 0)", "39", "38"),
    "a decimal with more scale than digits": typed("DECIMAL(10, 11)", "10, 11"),
    "a decimal of a negative scale": typed("DECIMAL(10, -1)", "-|scale"),
    "a decimal of huge digits": typed(f"DECIMAL({'9' * 5000}, 1)", "c"),
    "a timestamp of 10 digits": typed("TIMESTAMP(10)", "10", "0 to 9"),
    "a time of 10 digits": typed("TIME(10)", "10", "0 to 9"),
    "a char of length 0": typed("CHAR(0)", r"CHAR\(0\)", "1 to 2147483647"),
    "a varchar of a negative length": typed("VARCHAR(-1)", "-"),
    "a varchar that is too long": typed("VARCHAR(2147483648)", "2147483648"),
    "a binary of length 0": typed("BINARY(0)", r"BINARY\(0\)"),
    "a size that is no number": typed("CHAR(x)", "x"),
    "a size that is open": typed("CHAR(3", r"\)|end"),
    "an array of nothing": typed("ARRAY<>", "ARRAY|type"),
    "an array that is open": typed("ARRAY<INT", ">|end"),
    "a map of one type": typed("MAP<INT>", ",|MAP"),
    "a row of nothing": typed("ROW<>", "ROW|field|name"),
    "a row with a name twice": typed("ROW<a INT, a INT>", "distinct|twice", "a"),
    "a row with a blank name": typed("ROW<` ` INT>", "blank"),
    "a row without types": typed("ROW<a, b>", "type|expected"),
    "an array of 33 levels": typed(deep("ARRAY<", ">", TYPE_DEPTH), str(TYPE_DEPTH)),
    "a row of 33 levels": typed(deep("ROW<x ", ">", TYPE_DEPTH), str(TYPE_DEPTH)),
    "a map of 65 levels": typed(deep("MAP<INT, ", ">", 65), str(TYPE_DEPTH)),
    "an array of 10,000 levels": typed(deep("ARRAY<", ">", 10_000), str(TYPE_DEPTH)),
    "an Arrow struct of 33 levels": created(InvalidRequest, lambda: deep_arrow(TYPE_DEPTH), "'c'", str(TYPE_DEPTH)),
    "an Arrow struct of 400 levels": created(InvalidRequest, lambda: deep_arrow(400), "'c'", str(TYPE_DEPTH)),
    "an Arrow struct of nothing": created(InvalidRequest, pa.schema([("c", pa.struct([]))]), "'c'", "ROW"),
    "an Arrow struct with a name twice": created(
        InvalidRequest, pa.schema([("c", pa.struct([("a", pa.int8()), ("a", pa.int8())]))]), "'c'", "distinct"
    ),
    "an Arrow union": created(
        UnsupportedFeature, pa.schema([("c", pa.sparse_union([pa.field("a", pa.int8())]))]), "'c'", "union"
    ),
    "an Arrow interval": created(
        UnsupportedFeature, pa.schema([("c", pa.month_day_nano_interval())]), "'c'", "interval"
    ),
    "an Arrow duration": created(UnsupportedFeature, pa.schema([("c", pa.duration("s"))]), "'c'", "duration"),
    "an Arrow null": created(UnsupportedFeature, pa.schema([("c", pa.null())]), "'c'", "null"),
    "an Arrow decimal of 76 digits": created(
        InvalidRequest, pa.schema([("c", pa.decimal256(76, 0))]), "'c'", "76|decimal256"
    ),
    "an Arrow decimal of a negative scale": created(
        InvalidRequest, pa.schema([("c", pa.decimal128(5, -2))]), "'c'", "-2"
    ),
    "a blob": typed("BLOB", "BLOB", error=UnsupportedFeature),
    "a vector": typed("VECTOR<FLOAT, 3>", "VECTOR", error=InvalidRequest),
    "a raw type": typed("RAW('x', 'y')", "RAW", error=InvalidRequest),
    "an interval of years": typed("INTERVAL YEAR TO MONTH", "INTERVAL", error=InvalidRequest),
}
COLUMNS: dict[str, Case] = {
    "no columns": created(InvalidRequest, pa.schema([]), "at least one column"),
    "no columns in a dict": created(InvalidRequest, {}, "at least one column"),
    "an empty text": created(InvalidRequest, "", "name|column"),
    "a text without types": created(InvalidRequest, "a, b", "type|expected"),
    "a text that is open": created(InvalidRequest, "a INT COMMENT 'x", "'|end|expected"),
    "a schema that is a number": created(InvalidRequest, 7, "schema must be", "int"),
    "a schema that is a list": created(InvalidRequest, ["a"], "schema must be", "list"),
    "a frame with a column of two types": created(
        InvalidRequest, lambda: pd.DataFrame({"a": [1, "x"]}), "the DataFrame has no Arrow schema", "'x'", "column a"
    ),
    "a name twice": created(InvalidRequest, pa.schema([("a", pa.int8()), ("a", pa.int8())]), "'a' appears twice"),
    "a name twice in a text": created(InvalidRequest, "a INT, a INT", "'?a'?", "twice|distinct"),
    "a blank name": created(InvalidRequest, {" ": "INT"}, "blank"),
    "an empty name": created(InvalidRequest, {"": "INT"}, "blank"),
    "a name with a surrogate": created(InvalidRequest, {"a\ud800": "INT"}, r"'a\\ud800'"),
    "a name with NUL": created(InvalidRequest, {"a\0b": "INT"}, r"control", r"'a\\x00b'"),
    "a name with a line end": created(InvalidRequest, {"a\nb": "INT"}, "control"),
    "a name with a bidi override": created(InvalidRequest, {"a\u202eb": "INT"}, "control"),
    "a name of 1 MB": created(InvalidRequest, {"a" * LONG: "INT"}, "1000000 bytes", "is the most|limit"),
    "a nested name of 1 MB": created(
        InvalidRequest, lambda: pa.schema([("r", pa.struct([("a" * LONG, pa.int8())]))]), "'r.aaa", "1000000 bytes"
    ),
    **{
        f"the reserved name {name}": created(InvalidRequest, {name: "INT"}, f"'{name}' is reserved")
        for name in ("_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "_ROW_ID", "rowkind", "_KEY_id")
    },
    "10,001 columns": created(InvalidRequest, lambda: many(10_001), "10001 columns", "the limit is 10000"),
    "types of a missing column": created(InvalidRequest, PAIR, "'zz'", types={"zz": "INT"}),
    "types that are no dict": created(InvalidRequest, PAIR, "types", types=["INT"]),
    "types that are wrong": created(InvalidRequest, PAIR, "'k'", "NOSUCH", types={"k": "NOSUCH"}),
    "a default that is no number": created(InvalidRequest, "k INT DEFAULT 'x'", "'k'", "'x'"),
    "a default out of range": created(InvalidRequest, "k TINYINT DEFAULT '1000'", "'k'", "1000"),
    "a default of a date that is none": created(InvalidRequest, "k DATE DEFAULT '2024-02-30'", "'k'", "2024-02-30"),
    "a default of 1 MB": created(InvalidRequest, lambda: f"k INT DEFAULT '{'9' * LONG}'", "'k'|DEFAULT|longer|long"),
    "a comment that is no text": created(InvalidRequest, PAIR, "comment", "7", comment=7),
    "a comment of 10 MB": created(InvalidRequest, PAIR, "comment", "10000000|10485760", comment="c" * (10 << 20)),
    "a comment with a surrogate": created(InvalidRequest, PAIR, r"ud800", comment="\ud800"),
    "comments of columns beyond the file": created(InvalidRequest, lambda: commented(17), str(METADATA_BYTES)),
}
KEYS: dict[str, Case] = {
    "a key that is missing": created(InvalidRequest, PAIR, "'zz'", "k, v", primary_key=["zz"]),
    "a key twice": created(InvalidRequest, PAIR, "'k' appears twice", primary_key=["k", "k"]),
    "a key that is a list in one text": created(InvalidRequest, PAIR, "'k,v'", primary_key="k,v"),
    "a key that is a number": created(InvalidRequest, PAIR, "list of column names", "7", primary_key=7),
    **{
        f"a key of type {kind.partition('<')[0]}": created(
            InvalidRequest,
            {"k": kind},
            "'k'",
            "nested types cannot be keys",
            primary_key=["k"],
            options={"bucket": "1"},
        )
        for kind in ("ARRAY<INT>", "MAP<INT, INT>", "ROW<a INT>", "MULTISET<INT>", "VARIANT")
    },
    "a partition key that is missing": created(InvalidRequest, PAIR, "'zz'", partition_by=["zz"]),
    "a partition key twice": created(InvalidRequest, PAIR, "'v' appears twice", partition_by=["v", "v"]),
    "a partition key that is a list in one text": created(InvalidRequest, PAIR, "'k, v'", partition_by="k, v"),
    "a partition key of a MAP": created(
        InvalidRequest, "k INT, m MAP<INT, INT>", "'m'", "nested types cannot be keys", partition_by=["m"]
    ),
    "a partition key of BYTES": created(UnsupportedFeature, "k INT, b BYTES", "'b'", "legacy", partition_by=["b"]),
    "a primary key without the partition key": created(
        InvalidRequest, PAIR, "'v'", "two partitions", primary_key=["k"], partition_by=["v"], options={"bucket": "1"}
    ),
    "a primary key of the partition keys": created(
        InvalidRequest, PAIR, "has only partition keys", primary_key=["v"], partition_by=["v"], options={"bucket": "1"}
    ),
    "a partition key of a long name": created(
        InvalidRequest, {"k": "INT", "p" * 250: "STRING"}, "directory|bytes", partition_by=["p" * 250]
    ),
}
CASES: Cases = {**TYPES, **COLUMNS, **KEYS}
