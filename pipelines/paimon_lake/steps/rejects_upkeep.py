"""Upkeep of tables of rejects: the maintenance of a table also maintains its tables of rejects and of waiting rows.

Small files are merged, then snapshots expire by the retention of the table. The newest commit of rejects is kept,
because it records which rejects were published; the same holds for waiting rows. Those of interrupted loads are
published before unreferenced files are swept: no snapshot references their files before, and they would be swept.
"""

from __future__ import annotations

from paimon_lake.checks.text import many
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.loads.ledger.load_snapshot import Removal, events_in
from paimon_lake.loads.lookup.waiting_table import publish_waiting
from paimon_lake.loads.rejected.rejects import publish_before_expiry
from paimon_lake.protocol import StepResult
from paimon_lake.session import Spark
from paimon_lake.steps.check_and_rollback import fsck
from paimon_lake.steps.expiry import expire
from paimon_lake.steps.maintenance import compact
from paimon_lake.steps.sweep import sweep
from paimon_lake.tables import open_lake, open_table


def with_rejects(settings: Settings, name: str) -> Settings | None:
    """Return settings in which the table of rejects of ``name`` is declared too; None when it does not exist."""
    spec = settings.table(name)
    return _with_table(settings, spec, spec.rejects_table, f"rows that did not fit {name}")


def tables_beside(settings: Settings, name: str) -> list[tuple[Settings, str]]:
    """Return the tables of rejects and of waiting rows of a table, each with settings in which it is declared too."""
    spec = settings.table(name)
    waiting = _with_table(settings, spec, spec.waiting_table, f"rows of {name} that wait for rows of other tables")
    found = ((with_rejects(settings, name), spec.rejects_table), (waiting, spec.waiting_table))
    return [(declared, table) for declared, table in found if declared is not None]


def _with_table(settings: Settings, spec: TableSpec, table: str, comment: str) -> Settings | None:
    catalog = open_lake(settings)
    if spec.source is None or not catalog.table_exists(table):
        return None
    declared = TableSpec.model_construct(  # without validation, which requires a key
        name=table,
        comment=comment,
        columns={field.name: field.type.sql for field in catalog.table(table).schema.fields},
        retention=spec.retention,
        compaction=spec.compaction,
        nightly_tag=False,
    )
    return settings.model_copy(update={"tables": {**settings.tables, declared.name: declared}})


def lost_rejects(settings: Settings, name: str) -> list[str]:
    """Return a sentence when rejects of a table were lost with missing data files; [] otherwise.

    A loss is reported until the snapshot that removed the missing files expires. Raises PipelineError when a property
    is damaged.
    """
    found = with_rejects(settings, name)
    if found is None:
        return []
    rejects = settings.table(name).rejects_table
    removals = [e for e in events_in(open_table(found, rejects).inspect.snapshots(), name) if isinstance(e, Removal)]
    if not removals:
        return []
    rows = sum(removal.loss(rejects).rows for removal in removals)
    removed = f"snapshot {', '.join(str(removal.id) for removal in removals)} of {rejects} removed missing data files"
    return [f"{many(rows, 'reject')} lost: {removed}; a load with `--reload` rejects the rows of its source again"]


def expire_rejects(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> list[StepResult]:
    """Merge the small files of the tables of rejects and of waiting rows of a table, then expire their snapshots."""
    results = []
    for found, table in tables_beside(settings, name):
        results.append(compact(spark, found, table, dry_run=dry_run))
        results.append(expire(spark, found, table, dry_run=dry_run, keep_loads_of=name))
    return results


def sweep_rejects(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> list[StepResult]:
    """Publish rejects and waiting rows, then sweep their tables."""
    beside = tables_beside(settings, name)
    if beside and not dry_run:
        spec, table = settings.table(name), open_table(settings, name)
        publish_before_expiry(settings, spec, table)
        publish_waiting(settings, spec, table)
    return [sweep(spark, found, table, dry_run=dry_run) for found, table in beside]


def fsck_rejects(settings: Settings, name: str, *, deep: bool = False) -> list[StepResult]:
    """Check the tables of rejects and of waiting rows of a table as ``fsck`` does."""
    return [fsck(found, table, deep=deep) for found, table in tables_beside(settings, name)]
