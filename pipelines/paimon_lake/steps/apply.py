"""Apply: create the declared tables that are missing, and alter the tables that differ from their declarations."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from paimon_core.alter import SchemaChange, UpdateType, changes_to
from paimon_core.alter.changes import path_of
from paimon_core.alter.evolve import evolve
from paimon_core.alter.survival import Survival
from paimon_core.errors import PaimonError
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.definition import declared_schema
from paimon_lake.declarations.sources.schema_changes import as_loaded
from paimon_lake.declarations.yaml_file import shown
from paimon_lake.differences import DAMAGES, damage_text, differences_of
from paimon_lake.loads.files.chosen_buckets import opened
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_lake


class PartlyApplied(PipelineError):
    """Some tables could not be read or altered; ``done`` lists the applied changes, ``problems`` names the other
    tables.
    """

    def __init__(self, done: Sequence[str], problems: Sequence[str]) -> None:
        super().__init__("; ".join([*problems, *done]))
        self.done, self.problems = tuple(done), tuple(problems)


def apply(settings: Settings, *, drop: bool = False, lossy: Collection[str] = ()) -> list[str]:
    """Create and alter the tables of a lake so that they agree with their declarations; return one sentence for each
    change.

    Columns are matched by name. A column that is no longer declared is dropped only with ``drop``. Options that are not
    declared are kept, and so are columns and types that loads have added and widened (``source.schema_changes:
    apply``). A type that cannot hold the stored values is refused, unless ``lossy`` contains ``DATABASE.TABLE.COLUMN``;
    more dots name a nested field. All tables are checked before the first table is created or altered; a table that
    another program changes after the check may still be refused. A table whose metadata cannot be read, or whose
    storage fails, is not changed, and the other tables are created and altered; then PartlyApplied names both kinds of
    tables. A load that began before its table is altered writes rows with the old columns. Raises PipelineError for a
    change that is not allowed, and for a table without columns.
    """
    catalog = open_lake(settings)
    _check_names(settings, lossy)
    done: list[str] = []
    problems: list[str] = []
    missing: list[str] = []
    planned: list[tuple[TableSpec, Table, list[SchemaChange]]] = []
    for name, spec in settings.tables.items():
        with _told(name, problems):
            if catalog.table_exists(name):
                table = catalog.table(name)
                spec = as_loaded(spec, table.schema, drop=drop)
                planned.append((spec, table, _changes(settings, spec, table, drop, lossy)))
            elif spec.columns:
                missing.append(name)
            else:
                advice = f"`paimon-lake infer --table {name}` writes them down"
                raise PipelineError(f"{name} has no columns: {advice}")
    for name in missing:
        with _told(name, problems):
            _, buckets = opened(settings, name)
            done.append(f"created {name}{f' with {buckets}' if buckets else ''}")
    for spec, table, changes in planned:
        if changes:
            with _told(spec.name, problems):
                told = differences_of(spec, table)
                _altered(settings, spec, table, changes)
                done.append(f"altered {spec.name}, which {'; '.join(told)}")
    if problems:
        raise PartlyApplied(done, problems)
    return done


@contextlib.contextmanager
def _told(name: str, problems: list[str]) -> Iterator[None]:
    """Add the damage of a table, or the failure of its storage, to the problems; other errors are raised."""
    try:
        yield
    except DAMAGES as error:
        problems.append(f"{name} {damage_text(error, name)}")


def _check_names(settings: Settings, lossy: Collection[str]) -> None:
    declared = [
        (f"{name}.{column}", f"{name}.{column}.") for name, spec in settings.tables.items() for column in spec.columns
    ]
    for name in lossy:
        if not any(name == column or name.startswith(above) for column, above in declared):
            raise PipelineError(f"--lossy {name}: no declared column has this name, as in --lossy shop.orders.price")


def _changes(
    settings: Settings, spec: TableSpec, table: Table, drop: bool, lossy: Collection[str]
) -> list[SchemaChange]:
    """Return the changes from a table's schema to its declaration.

    Raises PipelineError for a change that is not allowed.
    """
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
        changes = [_with_loss(spec, change, lossy) for change in changes]
        evolve(table.schema, changes, has_snapshots=table.latest_snapshot() is not None, table=spec.name)
        survival = Survival.of(table.context, table.schema, changes)
    except DAMAGES:
        raise
    except PaimonError as error:
        raise _refused(file, spec, error) from None
    try:
        if survival is not None:
            survival.check()
    except DAMAGES:
        raise
    except PaimonError as error:
        hint = f"; here that is `apply --lossy {spec.name}.{error.facts['column']}`" if "column" in error.facts else ""
        raise PipelineError(f"{_refused(file, spec, error)}{hint}") from None
    return changes


def _with_loss(spec: TableSpec, change: SchemaChange, lossy: Collection[str]) -> SchemaChange:
    if isinstance(change, UpdateType) and ".".join([spec.name, *path_of(change.column)]) in lossy:
        return replace(change, lossy=True)
    return change


def _altered(settings: Settings, spec: TableSpec, table: Table, changes: Sequence[SchemaChange]) -> None:
    try:
        table.alter(*changes)
    except DAMAGES:
        raise
    except PaimonError as error:
        raise _refused(shown(settings.folder / "tables" / f"{spec.name}.yaml"), spec, error) from None


def _refused(file: str, spec: TableSpec, error: PaimonError) -> PipelineError:
    return PipelineError(f"{spec.name} cannot be altered as {file} declares it: {error}")
