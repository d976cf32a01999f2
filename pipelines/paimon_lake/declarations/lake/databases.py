"""Databases: PostgreSQL databases of a lake, each with one slot that several tables share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from paimon_lake.declarations.errors import Mistake, nearest
from paimon_lake.declarations.model import Model
from paimon_lake.declarations.sources.source import OF_SLOT, PostgresChangesSource, postgresql_url, slot_name
from paimon_lake.declarations.table import TableSpec

_KEYS = {name: PostgresChangesSource.model_fields[name] for name in OF_SLOT}


class PostgresDatabase(Model):
    """A PostgreSQL database whose tables are loaded together: they share one slot and one read of the log."""

    url: Annotated[str, AfterValidator(postgresql_url), Field(min_length=1, repr=False)]
    """``postgresql://user:${PASSWORD}@host/database``; the user needs REPLICATION and SELECT on the tables."""
    consistent: bool = False
    """Whether the tables are published together, at one position of the log: each version of the group of tables with
    the name of this database is one state of the source. With ``true``, a table that cannot be loaded stops the loads
    of all tables of the database."""
    keep_versions: Annotated[int, Field(ge=1, le=10_000)] = 20
    """How many versions of the group are kept; needs ``consistent``. The snapshots of kept versions do not
    expire."""
    publication: str = ""
    """The name of a publication that exists and has all tables. Default: loads create it, and add tables."""
    slot: Annotated[str, AfterValidator(slot_name)] = ""
    """The name of an existing replication slot with the plugin pgoutput, which no other program reads. Default: the
    first load creates a slot."""
    batch_rows: Annotated[int, Field(ge=1, le=10_000_000)] = _KEYS["batch_rows"].default
    """About how many changes of all tables one batch has. A batch ends with a whole transaction."""
    batch_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = _KEYS["batch_bytes"].default
    """A batch ends with the first whole transaction after this many bytes of changes. A load takes several times this
    memory in the driver."""
    transaction_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = _KEYS["transaction_bytes"].default
    """The largest number of bytes of changes that one transaction may have in the tables; a larger transaction is
    refused.
    """
    run_seconds: Annotated[int, Field(ge=1)] = _KEYS["run_seconds"].default
    """After this time a run begins no further batch; the next run continues."""


def check_database(name: str, database: PostgresDatabase, *, is_rest: bool) -> None:
    """Raise Mistake for a wrong name or key of a database; ``is_rest``: whether the catalog is of type ``rest``."""
    if not re.fullmatch("[a-z0-9_]{1,30}", name):
        raise Mistake("the name of a database must be at most 30 of a-z, 0-9 and _", "postgres", name)
    if database.consistent and is_rest:
        raise Mistake("a catalog of type rest has no groups of tables", "postgres", name, "consistent")
    if "keep_versions" in database.model_fields_set and not database.consistent:
        raise Mistake("needs consistent: true, because only groups have versions", "postgres", name, "keep_versions")


def with_database(spec: TableSpec, databases: Mapping[str, PostgresDatabase]) -> TableSpec:
    """Return a declaration with the keys of its database in the source; a declaration that names no known database is
    returned unchanged.
    """
    source = spec.source
    if not isinstance(source, PostgresChangesSource) or source.database not in databases:
        return spec
    database = databases[source.database]
    return spec.model_copy(
        update={"source": source.model_copy(update={name: getattr(database, name) for name in OF_SLOT})}
    )


def tables_of(tables: Mapping[str, TableSpec], database: str) -> list[str]:
    """Return the sorted names of the tables that share the slot of a database; [] for the name ""."""
    return sorted(name for name, spec in tables.items() if database and database_of(spec) == database)


def database_of(spec: TableSpec) -> str:
    """Return the database whose slot a table shares; "" for a table that shares no slot."""
    return spec.source.database if isinstance(spec.source, PostgresChangesSource) else ""


def database_problems(
    tables: Mapping[str, TableSpec], databases: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (table, key, sentence) for each source that names a database which ``databases`` does not have."""
    for name, spec in sorted(tables.items()):
        if (database := database_of(spec)) and database not in databases:
            known = ", ".join(sorted(databases)) or "there is no database yet"
            yield (
                name,
                ("source", "database"),
                f"source.database {database!r:.60} is not below postgres in base.yaml ({known})"
                f"{nearest(database, list(databases))}",
            )
