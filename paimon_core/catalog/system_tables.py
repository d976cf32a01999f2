"""The system tables of a catalog: all tables, all partitions, the options of all tables, the catalog's own options.

A read of a system table opens all tables of the catalog, one after the other. A table that is dropped during the read
is left out. A table that this library cannot read has a row with its name and nulls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from paimon_core.catalog.maintenance_log import MaintenanceLog
from paimon_core.catalog.maintenance_log import Tables as LogTables
from paimon_core.catalog.shown_options import shown_options
from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.errors import CorruptTable, InvalidRequest, NotFound, UnsupportedFeature
from paimon_core.health.plan.outcome import COLUMNS as MAINTENANCE
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField
from paimon_core.table.system.columns import arrow_table, fields_of, from_rows
from paimon_core.table.system.group_columns import partition_rows
from paimon_core.table.system.source import Source
from paimon_core.table.system.system_table import MetadataRows, SystemTable
from paimon_core.table.table import Table

ALL_TABLES = (
    "database_name STRING, table_name STRING, table_type STRING, partitioned BOOLEAN, primary_key BOOLEAN, "
    "owner STRING, created_at BIGINT, created_by STRING, updated_at BIGINT, updated_by STRING, record_count BIGINT, "
    "file_size_in_bytes BIGINT, file_count BIGINT, last_file_creation_time BIGINT"
)
ALL_PARTITIONS = (
    "database_name STRING, table_name STRING, partition_name STRING, record_count BIGINT, file_size_in_bytes BIGINT, "
    "file_count BIGINT, last_file_creation_time BIGINT, done BOOLEAN"
)
ALL_TABLE_OPTIONS = "database_name STRING, table_name STRING, key STRING, value STRING"
CATALOG_OPTIONS = "key STRING NOT NULL, value STRING NOT NULL"


class Tables(LogTables, Protocol):
    """The catalog operations that the system tables use."""

    @property
    def options(self) -> Mapping[str, str]:
        """The options with which the catalog was opened, without secrets."""

    def list_databases(self) -> list[str]:
        """Return the names of all databases, sorted."""

    def list_tables(self, database: str) -> list[str]:
        """Return the names of the tables of a database, sorted; raises DatabaseNotFound."""


def catalog_table(catalog: Tables, name: str) -> SystemTable:
    """Return the system table ``sys.<name>`` of a catalog; raises NotFound, which lists all names, for another name."""
    found = CATALOG_TABLES.get(_OTHER_NAMES.get(name.lower(), name.lower()))
    if found is None:
        raise NotFound(f"no system table 'sys.{name}'; there are {', '.join(map('sys.{}'.format, CATALOG_TABLES))}")
    columns, rows = found
    fields = fields_of(columns)
    names = " ".join(f.name for f in fields)

    def read(wanted: tuple[DataField, ...], where: Predicate | None) -> MetadataRows:
        return MetadataRows(partial(_made, wanted, names, partial(rows, catalog)))

    return SystemTable(f"sys.{name}", fields, read)


def _made(wanted: tuple[DataField, ...], names: str, rows: Callable[[], Iterator[tuple[Any, ...]]]) -> list[pa.Table]:
    return [arrow_table(wanted, from_rows(names, rows()))]


def _tables(catalog: Tables) -> Iterator[tuple[str, str, Table | None]]:
    """Yield database, name and ``Table`` of each table; the ``Table`` is None if this library cannot open it."""
    for database in catalog.list_databases():
        try:
            names = catalog.list_tables(database)
        except NotFound:
            continue
        for name in names:
            try:
                yield database, name, catalog.table(f"{database}.{name}")
            except NotFound:
                continue
            except (UnsupportedFeature, InvalidRequest, CorruptTable):
                yield database, name, None


def _all_tables(catalog: Tables) -> Iterator[tuple[Any, ...]]:
    for database, name, table in _tables(catalog):
        if table is None:
            yield database, name, *(None,) * 12
            continue
        options = table.schema.options
        owner = (options.get("owner"), *_made_by(options, "created"), *_made_by(options, "updated"))
        keys = (bool(table.schema.partition_keys), bool(table.schema.primary_keys))
        yield database, name, options.get("type", "table"), *keys, *owner, None, None, None, None


def _made_by(options: Mapping[str, str], what: str) -> tuple[int | None, str | None]:
    at = options.get(f"{what}At", "")
    return int(at) if re.fullmatch(r"-?\d{1,18}", at) else None, options.get(f"{what}By")


def _all_partitions(catalog: Tables) -> Iterator[tuple[Any, ...]]:
    return chain.from_iterable(_partitions(*one) for one in _tables(catalog))


def _partitions(database: str, name: str, table: Table | None) -> Iterator[tuple[Any, ...]]:
    if table is None:
        yield database, name, *(None,) * 6
        return
    fields = table.schema.partition_fields
    if not fields:
        return
    types, options = [f.type for f in fields], table.options
    try:
        found = partition_rows(Source(table.context))
    except NotFound:
        return
    except (UnsupportedFeature, CorruptTable):
        yield database, name, *(None,) * 6
        return
    for partition, rows, size, files, created in found:
        texts = partition_values(
            decode_row(partition, types),
            types,
            legacy=options["partition.legacy-name"],
            default_name=options["partition.default-name"],
        )
        spec = "/".join(f"{f.name}={text}" for f, text in zip(fields, texts, strict=True))
        yield database, name, spec, rows, size, files, None if created is None else epoch_millis(created), False


def _all_table_options(catalog: Tables) -> Iterator[tuple[Any, ...]]:
    for database, name, table in _tables(catalog):
        if table is None:
            yield database, name, None, None
            continue
        options = {**table.schema.options, "path": table.location}
        yield from ((database, name, key, options[key]) for key in sorted(options))


def _catalog_options(catalog: Tables) -> Iterator[tuple[Any, ...]]:
    return iter(shown_options(catalog.options).items())


CATALOG_TABLES: Mapping[str, tuple[str, Callable[[Tables], Iterator[tuple[Any, ...]]]]] = {
    "tables": (ALL_TABLES, _all_tables),
    "partitions": (ALL_PARTITIONS, _all_partitions),
    "all_table_options": (ALL_TABLE_OPTIONS, _all_table_options),
    "catalog_options": (CATALOG_OPTIONS, _catalog_options),
    "maintenance": (MAINTENANCE, lambda catalog: MaintenanceLog(catalog).rows()),
}
"""The columns, and the function that yields the rows, of each system table, by the name that Java uses; Java has no
``sys.maintenance``.
"""
_OTHER_NAMES = {"all_tables": "tables", "all_partitions": "partitions"}
