"""Audits: check that the content of a table is correct, by reading the table and its storage, without Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow.compute as pc

from paimon_core.errors import CorruptTable
from paimon_core.table.table import Table
from pipelines import source
from pipelines.carrier_day import CARRIER_DAY
from pipelines.checks import CheckContext, Finding, load_records, run_check
from pipelines.dimensions import DIMENSIONS
from pipelines.flights import CANCELLATIONS, FLIGHTS
from pipelines.lake import Settings, TableSpec
from pipelines.lake.checks import RowCountCheck
from pipelines.protocol import month_of
from pipelines.tables import open_table, rows_by
from pipelines.weather import WEATHER


def audit_rows(settings: Settings, name: str, days: Sequence[date] | None = None) -> Finding:
    """Compare the number of rows with the source, day by day; ``days`` are the loaded days (default: all).

    dws.carrier_day is compared with ods.flights by month. The row count of a dimension is compared as a whole.
    """
    table = open_table(settings, name)
    expected, found = _expected_and_found(settings, table, days)
    wrong = sorted(str(k) for k in {*expected, *found} if expected.get(k, 0) != found.get(k, 0))
    total = f"{sum(found.values()):,} rows, {sum(expected.values()):,} in the source"
    where = f"; differs on {', '.join(wrong[:5])}{' ...' if len(wrong) > 5 else ''}" if wrong else ""
    return Finding("rows", name, len(wrong), total + where)


def _expected_and_found(
    settings: Settings, table: Table, days: Sequence[date] | None
) -> tuple[Mapping[Any, int], Mapping[Any, int]]:
    if table.name in DIMENSIONS:
        return {"all": source.row_count(DIMENSIONS[table.name])}, {"all": table.scan().count()}
    chosen = set(days) if days is not None else None
    if table.name == CARRIER_DAY:
        months = {month_of(d) for d in chosen} if chosen is not None else None
        flights = rows_by(open_table(settings, FLIGHTS), "month")
        rows = table.scan(columns=["month", "flights"]).to_arrow().group_by(["month"]).aggregate([("flights", "sum")])
        found = dict(zip(rows["month"].to_pylist(), rows["flights_sum"].to_pylist(), strict=True))
        return _only(flights, months), _only(found, months)
    per_day = {
        FLIGHTS: source.departed_per_day,
        CANCELLATIONS: source.cancelled_per_day,
        WEATHER: source.weather_per_day,
    }
    return _only(per_day[table.name](), chosen), _only(rows_by(table, "date"), chosen)


def _only(counts: Mapping[Any, int], keys: Collection[Any] | None) -> Mapping[Any, int]:
    return counts if keys is None else {k: v for k, v in counts.items() if k in keys}


def audit_keys(settings: Settings, name: str) -> Finding:
    """Count the rows whose key occurs in another row."""
    table = open_table(settings, name)
    key = list(settings.table(name).key)
    rows = table.scan(columns=key).to_arrow()
    duplicates = rows.num_rows - rows.group_by(key).aggregate([]).num_rows
    return Finding("keys", name, duplicates, f"{rows.num_rows:,} rows, {duplicates} of them repeat a key")


def audit_files(settings: Settings, name: str) -> Finding:
    """Check that every data file of the latest snapshot exists with the size that the snapshot records."""
    table = open_table(settings, name)
    live = table.inspect.files()
    storage, paths = table.context.storage, table.context.paths
    buckets = live.select(["partition", "bucket"]).group_by(["partition", "bucket"]).aggregate([]).to_pylist()
    sizes = {i.path: i.size for b in buckets for i in storage.list(paths.bucket(b["partition"], b["bucket"]))}
    columns = [live[c].to_pylist() for c in ("partition", "bucket", "file_name", "file_size_in_bytes")]
    wrong = [
        file
        for partition, bucket, file, size in zip(*columns, strict=True)
        if sizes.get(paths.data_file(partition, bucket, file)) != size
    ]
    size = pc.sum(live["file_size_in_bytes"]).as_py() or 0
    missing = f"; missing or of another size: {', '.join(wrong[:3])}" if wrong else ""
    return Finding("files", name, len(wrong), f"{live.num_rows} files, {size:,} bytes{missing}")


def audit_fsck(settings: Settings, name: str) -> Finding:
    """Check the invariants of the table, as far as they can be checked without reading its rows."""
    report = open_table(settings, name).maintenance.check()
    found = "; ".join(f.sentence() for f in report.errors[:3]) or "no error"
    return Finding("fsck", name, len(report.errors), f"{sum(map(bool, report.checked.values()))} invariants: {found}")


def audit_loads(settings: Settings, name: str) -> Finding:
    """Check for every recorded load of a declared table that it wrote or rejected each row that it read."""
    table = open_table(settings, name)
    context = CheckContext(datetime.now(UTC), history=load_records(table))
    found = run_check(RowCountCheck(type="row_count"), settings.table(name), table, context=context)
    return dataclasses.replace(found, audit="rows")


def audits_of(spec: TableSpec) -> tuple[str, ...]:
    """Return the audits that a table has: ``rows`` needs a source, ``keys`` a key."""
    has_source = spec.source is not None or spec.name in {FLIGHTS, CANCELLATIONS, WEATHER, CARRIER_DAY, *DIMENSIONS}
    return (*(["rows"] if has_source else []), *(["keys"] if spec.key else []), "files", "fsck")


def audit(settings: Settings, name: str, days: Sequence[date] | None = None) -> list[Finding]:
    """Run all audits of a table; an audit that cannot read a damaged file is a finding too."""
    spec = settings.table(name)
    audits: dict[str, Callable[[], Finding]] = {
        "rows": lambda: audit_rows(settings, name, days) if spec.source is None else audit_loads(settings, name),
        "keys": lambda: audit_keys(settings, name),
        "files": lambda: audit_files(settings, name),
        "fsck": lambda: audit_fsck(settings, name),
    }
    found = []
    for kind in audits_of(spec):
        try:
            found.append(audits[kind]())
        except CorruptTable as error:
            found.append(Finding(kind, name, 1, f"cannot be read: {error}"))
    return found
