"""unique, not_null, accepted_values and range on small tables: what they find, say and read."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.query.planned_rows import PlannedRows
from paimon_core.query.scan import Scan
from paimon_core.table.table import Table
from paimon_lake.check_result import CheckResult
from paimon_lake.checks import row_checks
from paimon_lake.checks.context import CheckContext
from paimon_lake.checks.row_checks import counted
from paimon_lake.checks.run import run_check, run_checks
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.tables.checks import Check
from tests.support.project import ROOT

SOURCE = {"type": "files", "path": "orders/*.csv"}
NOW = CheckContext(now=datetime(2024, 1, 2, tzinfo=UTC))


def blocking(spec: TableSpec, block: bool = True) -> list[Check]:
    return [check for check in spec.checks if check.block is block]


def declared(*checks: dict[str, Any], key: str = "id") -> TableSpec:
    return TableSpec.model_validate(
        {"name": "ods.orders", "natural_key": [key], "source": SOURCE, "checks": list(checks)}
    )


def create(warehouse: str, rows: pa.Table, **options: Any) -> Table:
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("ods", ignore_if_exists=True)
    table = catalog.create_table("ods.orders", rows.schema, **options)
    table.write(rows)
    return table


def orders(**columns: Any) -> pa.Table:
    count = len(next(iter(columns.values())))
    return pa.table({"id": pa.array(range(17, 17 + count), pa.int64()), **columns})


def found(table: Table, check: dict[str, Any], context: CheckContext = NOW, key: str = "id") -> tuple[int, str]:
    spec = declared(check, key=key)
    finding = run_check(spec.checks[0], spec, table, context=context)
    return finding.wrong, finding.sentence


def test_nulls_are_named_by_their_keys(warehouse: str) -> None:
    table = create(warehouse, orders(customer=["a", None, None, "b"], amount=[1, None, 2, 3]))
    assert found(table, {"type": "not_null", "columns": ["customer"]}) == (
        2,
        "2 of 4 rows have a customer that is null; keys: 18, 19",
    )
    assert found(table, {"type": "not_null", "columns": ["customer", "amount"]}) == (
        2,
        "2 of 4 rows have a customer that is null; keys: 18, 19; 1 of 4 rows has an amount that is null; keys: 18",
    )
    assert found(table, {"type": "not_null", "columns": ["id"]}) == (0, "4 rows, none with a null in id")


def test_five_examples_and_thousands_separators(warehouse: str) -> None:
    table = create(warehouse, orders(customer=pa.array([None] * 1200 + ["a"] * 4)))
    assert found(table, {"type": "not_null", "columns": ["customer"]}) == (
        1200,
        "1,200 of 1,204 rows have a customer that is null; keys: 17, 18, 19, 20, 21",
    )


def test_values_that_are_not_accepted_are_counted(warehouse: str) -> None:
    states = ["open", "opne", None, "paid", "opne", "a, b", ""]
    table = create(warehouse, orders(state=states))
    assert found(table, {"type": "accepted_values", "column": "state", "values": ["open", "paid"]}) == (
        4,
        "4 of 7 rows have a state other than open, paid; values: opne (2), 'a, b' (1), '' (1)",
    )
    assert found(table, {"type": "accepted_values", "column": "state", "values": sorted({*states} - {None})})[0] == 0


def test_a_range_includes_its_bounds_and_no_nan(warehouse: str) -> None:
    table = create(warehouse, orders(price=[0.0, 100.0, None, -0.5, 300.0, float("nan")]))
    price = {"type": "range", "column": "price"}
    assert found(table, price | {"min": 0, "max": 100}) == (
        3,
        "3 of 6 rows have a price outside of 0 to 100; values: -0.5 (key 20), 300.0 (key 21), nan (key 22)",
    )
    assert found(table, price | {"min": 0})[1] == (
        "2 of 6 rows have a price below 0 or NaN; values: -0.5 (key 20), nan (key 22)"
    )
    assert found(table, price | {"max": 100})[1].startswith("2 of 6 rows have a price above 100; values: 300.0")
    assert found(table, {"type": "range", "column": "id", "min": 17}) == (0, "6 rows, none with an id below 17")


def test_values_of_yaml_are_compared_in_the_type_of_the_column(warehouse: str) -> None:
    stamps = pa.array([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, 0, 30, tzinfo=UTC)])
    prices = pa.array([Decimal("0.10"), Decimal("0.11")])
    rows = orders(at=stamps, price=prices, day=[date(2024, 1, 1), date(2024, 1, 2)])
    table = create(warehouse, rows)
    at = {"type": "range", "column": "at"}
    assert found(table, at | {"max": "2024-01-02T01:00:00+01:00"}) == (
        1,
        "1 of 2 rows has an at above 2024-01-02T01:00:00+01:00; values: 2024-01-02 00:30:00Z (key 18)",
    )
    assert found(table, {"type": "accepted_values", "column": "price", "values": [0.1, "0.11"]})[0] == 0
    assert found(table, {"type": "range", "column": "price", "max": 0.105})[0] == 1
    assert found(table, {"type": "accepted_values", "column": "day", "values": [date(2024, 1, 1)]}) == (
        1,
        "1 of 2 rows has a day other than 2024-01-01; values: 2024-01-02 (1)",
    )


def test_repeated_keys(warehouse: str) -> None:
    table = create(warehouse, pa.table({"id": [3, 1, 3, 2, 1, 3], "line": [1, 1, 1, 1, 2, 2]}))
    assert found(table, {"type": "unique"}) == (3, "3 of 6 rows repeat the id of another: 3 (3 times), 1 (2 times)")
    assert found(table, {"type": "unique", "columns": ["id", "line"]}) == (
        1,
        "1 of 6 rows repeats the id, line of another: (3, 1) (2 times)",
    )
    table = create(warehouse + "2", orders(mail=[None, None, "a"], city=["x", "x", "y"]))
    assert found(table, {"type": "unique", "columns": ["mail"]}) == (0, "3 rows, no two with the same mail")
    assert found(table, {"type": "unique", "columns": ["mail", "city"]})[0] == 1, "a null equals a null"


def test_only_the_partitions_of_a_load_are_checked_where_that_is_enough(warehouse: str) -> None:
    rows = orders(day=["mon", "tue", "tue"], mail=["a", "a", "b"], state=[None, "x", "x"])
    table = create(warehouse, rows, partition_by=["day"])
    load = CheckContext(now=NOW.now, where=col("day") == "tue")
    assert found(table, {"type": "not_null", "columns": ["state"]}, load) == (
        0,
        "2 rows in the loaded partitions, none with a null in state",
    )
    assert found(table, {"type": "unique", "columns": ["day", "mail"]}, load)[1].startswith("2 rows in the loaded")
    assert found(table, {"type": "unique", "columns": ["mail"]}, load) == (
        1,
        "1 of 3 rows repeats the mail of another: a (2 times)",
    )


def test_unique_reads_one_partition_at_a_time(warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(warehouse, orders(day=["mon", "mon", "tue"]), partition_by=["day"])
    sizes = []

    def measured(part: pa.Table, names: list[str]) -> pa.Table:
        sizes.append(part.num_rows)
        return counted(part, names)

    monkeypatch.setattr(row_checks, "counted", measured)
    assert found(table, {"type": "unique", "columns": ["day", "id"]})[0] == 0
    assert sorted(sizes) == [1, 2]


def test_files_without_a_violation_are_not_read(warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(warehouse, orders(amount=[1, 2]))
    read = []
    original = PlannedRows.batches
    monkeypatch.setattr(
        PlannedRows,
        "batches",
        lambda self, scan, batching: (read.append(len(scan.plan.splits)), original(self, scan, batching))[1],
    )
    assert found(table, {"type": "range", "column": "amount", "min": 0, "max": 9})[0] == 0
    assert found(table, {"type": "not_null", "columns": ["amount"]})[0] == 0
    assert read == [0, 0]


def test_upserts_are_merged_before_they_are_checked(warehouse: str) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "amount": pa.array([None, 5], pa.int64())})
    table = create(warehouse, rows, primary_key=["id"], options={"bucket": "1", "write-only": "true"})
    check = {"type": "not_null", "columns": ["amount"]}
    assert found(table, check) == (1, "1 of 2 rows has an amount that is null; keys: 1")
    table.write(pa.table({"id": pa.array([1], pa.int64()), "amount": pa.array([4], pa.int64())}))
    assert found(table, check) == (0, "2 rows, none with a null in amount")
    assert found(table, {"type": "unique"}) == (0, "2 rows, no two with the same id")


def test_a_prepared_commit_is_checked_before_it_is_published(warehouse: str) -> None:
    table = create(warehouse, orders(amount=[1]))
    prepared = table.prepare(pa.table({"id": [1], "amount": pa.array([None], pa.int64())}))
    assert prepared is not None
    spec = declared(
        {"type": "not_null", "columns": ["amount"], "block": True},
        {"type": "unique", "severity": "warn"},
    )
    assert run_checks(blocking(spec), spec, prepared.table, context=NOW) == [
        CheckResult("not_null_amount", "ods.orders", 1, "1 of 2 rows has an amount that is null; keys: 1")
    ]
    assert run_checks(blocking(spec), spec, table, context=NOW)[0].passed
    assert [(f.audit, f.severity) for f in run_checks(blocking(spec, False), spec, prepared.table, context=NOW)] == [
        ("unique", "warn")
    ]


def test_what_cannot_be_evaluated_fails_and_hides_nothing(warehouse: str) -> None:
    table = create(warehouse, orders(amount=[1, 2], tags=[["a"], ["b"]]))
    spec = declared(
        {"type": "not_null", "columns": ["nope"]},
        {"type": "range", "column": "amount", "max": "much"},
        {"type": "unique", "columns": ["tags"]},
        {"type": "accepted_values", "column": "tags", "values": ["a"]},
        {"type": "sql", "name": "none", "query": "SELECT * FROM ods.orders"},
        {"type": "unique"},
    )
    sentences = [f.sentence for f in run_checks(spec.checks, spec, table, context=NOW) if not f.passed]
    assert [s.removeprefix("cannot be evaluated: ") for s in sentences] == [
        "the table has no column 'nope'; the columns are id, amount, tags",
        "column 'amount' is BIGINT and does not accept the str 'much'",
        sentences[2].removeprefix("cannot be evaluated: "),
        "column 'tags' is ARRAY<STRING>: only columns of single values can be compared",
        "a check of type sql needs a Spark session: it runs with loads and in jobs, not in sensors",
    ]
    assert "list" in sentences[2]
    for file in Path(table.location).rglob("*.parquet"):
        file.write_bytes(b"damaged")
    for damaged in (table, table.with_options({"scan.ignore-corrupt-files": True})):
        wrong, sentence = found(damaged, {"type": "unique"})
        assert wrong == 1
        assert sentence.startswith("cannot be evaluated: ")


def test_a_snapshot_that_expires_during_the_checks_is_replaced(warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(warehouse, orders(amount=[1, 2]))
    original, calls = Scan.to_batches, []

    def expires_first(self: Scan) -> pa.RecordBatchReader:
        calls.append(self.snapshot.id if self.snapshot else None)
        if len(calls) == 1:
            table.write(pa.table({"id": [1], "amount": pa.array([None], pa.int64())}))
            Path(table.context.paths.snapshot(1)).unlink()
            table.at(snapshot=1)
        return original(self)

    monkeypatch.setattr(Scan, "to_batches", expires_first)
    assert found(table, {"type": "not_null", "columns": ["amount"]}) == (
        1,
        "1 of 3 rows has an amount that is null; keys: 1",
    )
    assert calls == [1, 2]


def test_a_table_never_written_passes(warehouse: str) -> None:
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("ods")
    table = catalog.create_table("ods.orders", orders(amount=[1]).schema)
    spec = declared({"type": "unique"}, {"type": "range", "column": "amount", "min": 1})
    assert [f.sentence for f in run_checks(spec.checks, spec, table, context=NOW)] == [
        "0 rows, no two with the same id",
        "0 rows, none with an amount below 1",
    ]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array([True, True]), "true"),
        (pa.array([b"\x01\xff"] * 2), "0x01ff"),
        (pa.array([Decimal("1.50")] * 2), "1.50"),
        (pa.array([3_000_000, 3_000_000], pa.date32()), "10183-09-21"),
        (pa.array([1_700_000_000_123_456_789] * 2, pa.timestamp("ns")), "2023-11-14 22:13:20.123456789"),
        (pa.array([1_700_000_000_000] * 2, pa.timestamp("ms", "UTC")), "2023-11-14 22:13:20Z"),
        (pa.array([45_000_000] * 2, pa.time32("ms")), "12:30:00"),
        (pa.array([0.5, 0.5], pa.float32()), "0.5"),
        (pa.array(["x" * 90] * 2), "x" * 60 + "..."),
        (pa.array(["two\nlines"] * 2), "'two\\nlines'"),
    ],
)
def test_examples_of_every_type(warehouse: str, values: pa.Array, text: str) -> None:
    table = create(warehouse, orders(value=values))
    assert found(table, {"type": "unique", "columns": ["value"]})[1].endswith(f": {text} (2 times)")


def test_checks_need_no_spark() -> None:
    code = "import sys, paimon_lake.checks; sys.exit('pyspark' in sys.modules or 'dagster' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
