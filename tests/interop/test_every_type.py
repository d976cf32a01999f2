"""Every type at every place in every format, with the ends of its range: both sides write, read, filter and compact."""

from __future__ import annotations

import decimal
import itertools
import operator
from typing import Any

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.types import BINARY_ROOTS, TypeRoot, parse_type
from tests.support.java_rows import arrow_rows, as_set, json_rows
from tests.support.long_cases import long_cases

ELEPHANT = "\U0001f418"
PLAIN: dict[str, list[Any]] = {
    "BOOLEAN": [False, True],
    "TINYINT": [-128, 127],
    "SMALLINT": [-(2**15), 2**15 - 1],
    "INT": [-(2**31), 2**31 - 1, -1],
    "BIGINT": [-(2**63), 2**63 - 1, 2**53 + 1],
    "FLOAT": [-0.0, "NaN", -3.4028234663852886e38, "Infinity", 1.401298464324817e-45],
    "DOUBLE": [-0.0, "NaN", 5e-324, "-Infinity", 1.7976931348623157e308],
    "DECIMAL(1, 0)": ["-9", "0"],
    "DECIMAL(9, 9)": ["-0.999999999", "0.000000001"],
    "DECIMAL(18, 4)": ["-99999999999999.9999", "0.0001"],
    "DECIMAL(19, 4)": ["-999999999999999.9999", "0.0001"],
    "DECIMAL(38, 0)": ["9" * 38, "-1"],
    "DECIMAL(38, 38)": [f"-0.{'9' * 38}", f"0.{'0' * 37}1"],
    "CHAR(1)": ["x", ELEPHANT],
    "CHAR(5)": ["a", "abcde", f"{ELEPHANT}é"],
    "VARCHAR(3)": ["", "\uffff", ELEPHANT],
    "STRING": ["", " ", "\x00\t\n", "\uffff" * 20, ELEPHANT * 20, "\u0301e\u0301"],
    "BINARY(1)": ["00", "ff"],
    "BINARY(9)": ["00" * 9, "ff" * 9],
    "VARBINARY(2)": ["", "ff"],
    "BYTES": ["", "ff" * 40, "00"],
    "DATE": ["0001-01-01", "1969-12-31", "9999-12-31"],
    **{f"TIME({p})": ["00:00", f"23:59:59{'.999'[: p + 1] if p else ''}"] for p in range(4)},
}
MICROS = {
    f"TIMESTAMP({p}){zone}": [
        f"{day}{f'.{fraction[:p]}' if p else ''}{zone and 'Z'}"
        for day, fraction in (
            ("0001-01-01T00:00:00", "000001"),
            ("1969-12-31T23:59:59", "999999"),
            ("9999-12-31T23:59:59", "999999"),
        )
    ]
    for p in range(7)
    for zone in ("", " WITH LOCAL TIME ZONE")
}
NANOS = {
    f"TIMESTAMP({p}){zone}": [
        f"{day}.{fraction[:p]}{zone and 'Z'}"
        for day, fraction in (
            ("1677-09-22T00:00:00", "000000001"),
            ("1969-12-31T23:59:59", "999999999"),
            ("2262-04-11T23:47:16", "854775807"),
        )
    ]
    for p in range(7, 10)
    for zone in ("", " WITH LOCAL TIME ZONE")
}
ORC_TIMES = {
    f"TIMESTAMP({p}){zone}": [
        f"{day}{f'.{fraction[:p]}' if p and fraction else ''}{zone and 'Z'}"
        for day, fraction in (
            ("1677-09-22T00:00:00", ""),
            ("1960-02-29T12:00:00", "123"[:p]),
            ("2262-04-11T23:47:15", "854775807"),
        )
    ]
    for p in range(10)
    for zone in ("", " WITH LOCAL TIME ZONE")
}
"""What Arrow writes to ORC: nanoseconds, and before 1970 whole milliseconds (docs/format.md 7.9)."""
LATE_TIMES = {f"TIME({p})": ["00:00", "23:59:59.999"] for p in (4, 6, 9)}
TYPES = {
    "parquet": PLAIN | MICROS | NANOS | LATE_TIMES,
    "orc": PLAIN | ORC_TIMES | LATE_TIMES,
    "avro": PLAIN | MICROS,
}
FORMATS = list(TYPES)
ROWS = 6


def columns_of(kind: str, *, nested: bool) -> dict[str, str]:
    """The columns of a table: of each type nullable, and if ``nested`` NOT NULL and inside of ARRAY, MAP and ROW."""
    columns = {"k": "INT NOT NULL"}
    for at, text in enumerate(TYPES[kind]):
        columns[f"f{at}"] = text
        if not nested:
            continue
        columns[f"n{at}"] = f"{text} NOT NULL"
        columns[f"a{at}"] = f"ARRAY<{text}>"
        columns[f"m{at}"] = f"MAP<{text} NOT NULL, {text}>"
        columns[f"r{at}"] = f"ROW<x {text}, y {text} NOT NULL, z ARRAY<{text} NOT NULL>> NOT NULL"
    return columns


def rows_of(kind: str, *, nested: bool) -> list[list[Any]]:
    """Rows in the form of the oracle; each value of each type occurs at each place."""
    rows = []
    for number in range(ROWS):
        row: list[Any] = ["+I", number]
        for values in TYPES[kind].values():
            value, other = values[number % len(values)], values[(number + 1) % len(values)]
            absent = number == ROWS - 1
            row.append(None if absent else value)
            if not nested:
                continue
            row += [
                value,
                None if absent else [value, None, other],
                None if absent else [[value, None if number % 2 else other]],
            ]
            row.append([None if absent else value, other, None if number % 2 else [value, other]])
        rows.append(row)
    return rows


def tables(oracle, warehouse, kind, *, keyed, **options):
    """A table of ours and an empty one of Java's, with the same schema."""
    columns = columns_of(kind, nested=keyed)
    options |= {"file.format": kind, "write-only": "true"} | ({"bucket": "1"} if keyed else {})
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    key = ["k"] if keyed else []
    ours = catalog.create_table("db.ours", columns, primary_key=key, options=options)
    fields = [{"name": f.name, "type": f.type.to_json()} for f in ours.schema.fields]
    create = {"op": "create", "table": "db.theirs", "fields": fields, "primaryKeys": key, "options": options}
    oracle.run(warehouse, [create])
    theirs = catalog.table("db.theirs")
    assert theirs.schema.fields == ours.schema.fields
    return ours, theirs


def agree(oracle, warehouse, table, expected):
    """Both sides read exactly these rows, from columns of exactly the types of the table."""
    found = table.scan().to_arrow()
    assert found.schema == table.arrow_schema
    for read in (json_rows(found, table.schema.fields), oracle.dump(warehouse, table.name)):
        by_key = {row[1]: row for row in read}
        assert len(read) == len(by_key) == len(expected)
        for row in expected:
            names = [
                n for n, a, b in zip(["", *table.schema.names], by_key[row[1]], row, strict=True) if repr(a) != repr(b)
            ]
            assert not names, [(table.schema.by_name[n].type.sql, row[1]) for n in names]


def in_java_form(rows, fields):
    return json_rows(arrow_rows(rows, fields), fields)


@pytest.mark.parametrize("kind", [FORMATS[0], *long_cases(FORMATS[1:])])
def test_both_sides_write_read_and_compact_in_turns(oracle, warehouse, kind):
    ours, theirs = tables(oracle, warehouse, kind, keyed=True)
    fields = ours.schema.fields
    rows = in_java_form(rows_of(kind, nested=True), fields)
    for mine, table in ((True, ours), (False, theirs)):
        write = {"op": "write", "table": table.name}
        if mine:
            table.write(arrow_rows(rows, fields))
        else:
            oracle.run(warehouse, [{**write, "rows": rows}])
        agree(oracle, warehouse, table, rows)
        if mine:
            oracle.run(warehouse, [{"op": "compact", "table": table.name}, {**write, "rows": rows[1:3]}])
        else:
            table.compact(full=True)
            table.write(arrow_rows(rows[1:3], fields))
        agree(oracle, warehouse, table, rows)
        table.compact(full=True)
        agree(oracle, warehouse, table, rows)


OPERATORS = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}


def is_wrong_in_java(kind: str, text: str, value: Any, op: str) -> bool:
    """Java takes bytes as signed; filters of its ORC files order texts by UTF-16 and use the Julian calendar.

    It pads CHAR values in the statistics of its ORC files, and then does not find them: see ``test_statistics``.
    """
    root = parse_type(text).root
    if root in BINARY_ROOTS:
        return op != "="
    if kind == "orc" and root is TypeRoot.CHAR:
        return op == "="
    if kind == "orc" and value == "0001-01-01":
        return True
    return kind == "orc" and op != "=" and isinstance(value, str) and value[:1] in ("\uffff", ELEPHANT)


@pytest.mark.parametrize("kind", [FORMATS[0], *long_cases(FORMATS[1:])])
def test_filters_find_the_same_rows(oracle, warehouse, kind):
    """Each row is a file of its own, so that statistics decide which files are read.

    The filters of a column are asked of both tables in turns. Times, which have many precisions, have one operator for
    each value; all other types have every operator for every value.
    """
    ours, theirs = tables(oracle, warehouse, kind, keyed=False)
    fields = ours.schema.fields
    rows = in_java_form(rows_of(kind, nested=False), fields)
    oracle.run(warehouse, [{"op": "write", "table": "db.theirs", "rows": [row]} for row in rows])
    for row in rows:
        ours.write(arrow_rows([row], fields))
    agree(oracle, warehouse, ours, rows)
    agree(oracle, warehouse, theirs, rows)
    asked: list[tuple[str, str, Any]] = []
    for at, (text, values) in enumerate(TYPES[kind].items()):
        asked.append((f"f{at}", "isNull", None))
        for number, value in enumerate(values[:3], at):
            operators = [list(OPERATORS)[number % 3]] if "TIME" in text else OPERATORS
            asked += [(f"f{at}", op, value) for op in operators if not is_wrong_in_java(kind, text, value, op)]
    tables_in_turns = list(zip(asked, itertools.cycle((ours, theirs)), strict=False))
    script = [
        {"op": "dump", "table": table.name, "projection": ["k", name], "filter": [[name, op, value]]}
        for (name, op, value), table in tables_in_turns
    ]
    differing = []
    for ((name, op, value), table), answer in zip(tables_in_turns, oracle.run(warehouse, script), strict=True):
        here, java = found(table, name, op, value), as_set(answer["rows"])
        if here != java:
            differing.append((table.name, table.schema.by_name[name].type.sql, op, value, here, java))
    assert not differing, differing[:5]


@pytest.mark.parametrize(
    ("text", "value", "op", "expected"),
    [
        ("BYTES", "00", "<", ['[0, ""]']),
        ("BYTES", "00", ">=", ['[1, "ff"]', '[2, "00"]']),
        ("STRING", "\uffff", ">=", [f'[2, "{ELEPHANT}"]']),
        ("DATE", "0001-01-01", "=", ['[1, "0001-01-01"]']),
    ],
)
def test_filters_that_are_wrong_in_java(oracle, warehouse, text, value, op, expected):
    """Here bytes are unsigned and texts are ordered by code point, as keys are in both; Java 1.4.2 finds other rows."""
    values = {
        "BYTES": ["", "ff", "00"],
        "STRING": ["", "a", ELEPHANT],
        "DATE": ["0001-01-02", "0001-01-01", "1970-01-01"],
    }[text]
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    columns = {"k": "INT", "f": text}
    table = catalog.create_table("db.t", columns, options={"file.format": "orc"})
    for at, one in enumerate(values):
        table.write(arrow_rows([["+I", at, one]], table.schema.fields))
    assert found(table, "f", op, value) == expected
    assert as_set(oracle.dump(warehouse, "db.t", filter=[["f", op, value]])) != expected


def found(table, name, op, value):
    """The key and one column of the rows that our filter finds."""
    root = table.schema.by_name[name].type.root
    where = col(name).is_null() if op == "isNull" else OPERATORS[op](col(name), literal(value, root))
    return as_set(json_rows(table.scan(["k", name], where).to_arrow(), table.schema.select(["k", name])))


def literal(value: Any, root: TypeRoot) -> Any:
    if root is TypeRoot.DECIMAL:
        return decimal.Decimal(value)
    if root in BINARY_ROOTS:
        return bytes.fromhex(value)
    return float(value) if root in (TypeRoot.FLOAT, TypeRoot.DOUBLE) else value
