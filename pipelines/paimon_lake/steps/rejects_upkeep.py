"""Upkeep of tables of rejects: the maintenance of a table also maintains its table of rejects, if there is one.

Small files are merged, then snapshots expire by the retention of the table. The newest commit of rejects is kept,
because it records which rejects were published. Rejects of interrupted loads are published before unreferenced files
are swept: their files are not referenced by a snapshot before, and would be swept.
"""

from __future__ import annotations

from paimon_lake.checks.text import many
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.loads.ledger.load_snapshot import Removal, events_in
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
    spec, catalog = settings.table(name), open_lake(settings)
    if spec.source is None or not catalog.table_exists(spec.rejects_table):
        return None
    declared = TableSpec.model_construct(  # without validation, which requires a key
        name=spec.rejects_table,
        comment=f"rows that did not fit {name}",
        columns={field.name: field.type.sql for field in catalog.table(spec.rejects_table).schema.fields},
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
    """Merge the small files of the table of rejects of a table, then expire its snapshots; [] without such a table."""
    found = with_rejects(settings, name)
    if found is None:
        return []
    rejects = settings.table(name).rejects_table
    merged = compact(spark, found, rejects, dry_run=dry_run)
    return [merged, expire(spark, found, rejects, dry_run=dry_run, keep_loads_of=name)]


def sweep_rejects(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> list[StepResult]:
    """Publish waiting rejects, then sweep the table of rejects of a table; [] without such a table."""
    found = with_rejects(settings, name)
    if found is None:
        return []
    if not dry_run:
        publish_before_expiry(settings, settings.table(name), open_table(settings, name))
    return [sweep(spark, found, settings.table(name).rejects_table, dry_run=dry_run)]


def fsck_rejects(settings: Settings, name: str, *, deep: bool = False) -> list[StepResult]:
    """Check the table of rejects of a table as ``fsck`` does; [] without such a table."""
    found = with_rejects(settings, name)
    return [] if found is None else [fsck(found, settings.table(name).rejects_table, deep=deep)]
