"""Apply: create the declared tables that are missing, and alter those that differ from their declarations."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.alter import SchemaChange, changes_to
from paimon_core.alter.evolve import evolve
from paimon_core.errors import PaimonError
from paimon_core.table.table import Table
from pipelines.differences import differences_of
from pipelines.lake import Settings, TableSpec
from pipelines.lake.definition import declared_schema
from pipelines.lake.yaml_file import shown
from pipelines.protocol import PipelineError
from pipelines.tables import open_lake, open_table


def apply(settings: Settings, *, drop: bool = False) -> list[str]:
    """Create and alter the tables of a lake as they are declared; return one sentence for each change.

    Columns are matched by name. One that is no longer declared is dropped only with ``drop``; options that are not
    declared stay. All tables are checked before the first one is created or altered; a table that another program
    changes meanwhile may still be refused. A load that has begun before its table is altered writes rows of the columns
    that it began with. Raises PipelineError for a change that is not allowed, and for a table without columns.
    """
    catalog = open_lake(settings)
    missing = [name for name in settings.tables if not catalog.table_exists(name)]
    planned: list[tuple[TableSpec, Table, list[SchemaChange]]] = []
    for name, spec in settings.tables.items():
        if name not in missing:
            table = catalog.table(name)
            planned.append((spec, table, _changes(settings, spec, table, drop)))
        elif not spec.columns:
            raise PipelineError(f"{name} has no columns: `python -m pipelines infer --table {name}` writes them down")
    done = []
    for name in missing:
        open_table(settings, name, create=True)
        done.append(f"created {name}")
    for spec, table, changes in planned:
        if changes:
            told = differences_of(spec, table)
            _altered(settings, spec, table, changes)
            done.append(f"altered {spec.name}, which {'; '.join(told)}")
    return done


def _changes(settings: Settings, spec: TableSpec, table: Table, drop: bool) -> list[SchemaChange]:
    """Return the changes of a table, which were tried on its schema."""
    if not spec.columns:
        return []
    file = shown(settings.folder / "tables" / f"{spec.name}.yaml")
    gone = [column for column in table.schema.names if column not in spec.columns]
    if gone and not drop:
        raise PipelineError(
            f"{spec.name} has column {gone[0]}, which is not declared, and nothing was changed: add it to {file}, drop "
            f"it with `apply --drop`, or rename it with `paimon-core alter {spec.name} 'RENAME COLUMN ...'`"
        )
    declared = declared_schema(spec)
    kept = set(table.schema.options) - set(declared.options)
    try:
        changes = changes_to(table.schema, declared, kept_options=kept)
        evolve(table.schema, changes, has_snapshots=table.latest_snapshot() is not None, table=spec.name)
    except PaimonError as error:
        raise _refused(file, spec, error) from None
    return changes


def _altered(settings: Settings, spec: TableSpec, table: Table, changes: Sequence[SchemaChange]) -> None:
    try:
        table.alter(*changes)
    except PaimonError as error:
        raise _refused(shown(settings.folder / "tables" / f"{spec.name}.yaml"), spec, error) from None


def _refused(file: str, spec: TableSpec, error: PaimonError) -> PipelineError:
    return PipelineError(f"{spec.name} cannot be altered as {file} declares it: {error}")
