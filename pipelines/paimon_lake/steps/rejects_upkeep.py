"""Upkeep of tables of rejects: the maintenance of a table also maintains its table of rejects, if there is one.

Small files are merged, then snapshots expire by the retention of the table. The newest commit of rejects is kept,
because it records which rejects were published. Rejects of interrupted loads are published before unreferenced files
are swept: their files are not referenced by a snapshot before, and would be swept.
"""

from __future__ import annotations

from paimon_lake.checks.text import many
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import load_specs
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
    """Return settings in which the tables of rejects of ``name`` are declared too; None when there are none.

    Each part of a table has a table of rejects of its own.
    """
    catalog, declared = open_lake(settings), {}
    for spec in load_specs(settings.table(name)):
        if catalog.table_exists(spec.rejects_table):
            declared[spec.rejects_table] = TableSpec.model_construct(  # without validation, which requires a key
                name=spec.rejects_table,
                comment=f"rows that did not fit {spec.load_name}",
                columns={field.name: field.type.sql for field in catalog.table(spec.rejects_table).schema.fields},
                retention=spec.retention,
                compaction=spec.compaction,
                nightly_tag=False,
            )
    return settings.model_copy(update={"tables": {**settings.tables, **declared}}) if declared else None


def rejects_tables(settings: Settings, declared: Settings | None, name: str) -> dict[str, str]:
    """Return the load name for each table of rejects of ``name`` that ``with_rejects`` has ``declared``."""
    known = {} if declared is None else declared.tables
    specs = load_specs(settings.table(name))
    return {spec.rejects_table: spec.load_name for spec in specs if spec.rejects_table in known}


def lost_rejects(settings: Settings, name: str) -> list[str]:
    """Return a sentence for each table of rejects of a table with lost rejects; [] when none were lost.

    Rejects are lost with missing data files. A loss is reported until the snapshot that removed the missing files
    expires. Raises PipelineError when a property is damaged.
    """
    found, sentences = with_rejects(settings, name), []
    for rejects, loaded in rejects_tables(settings, found, name).items():
        snapshots = open_table(found or settings, rejects).inspect.snapshots()
        removals = [event for event in events_in(snapshots, loaded) if isinstance(event, Removal)]
        if removals:
            rows = sum(removal.loss(rejects).rows for removal in removals)
            ids = ", ".join(str(removal.id) for removal in removals)
            sentences.append(
                f"{many(rows, 'reject')} lost: snapshot {ids} of {rejects} removed missing data files; a load with "
                "`--reload` rejects the rows of its source again"
            )
    return sentences


def expire_rejects(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> list[StepResult]:
    """Merge the small files of the tables of rejects of a table, then expire their snapshots; [] without such."""
    found, done = with_rejects(settings, name), list[StepResult]()
    for rejects, loaded in rejects_tables(settings, found, name).items():
        done.append(compact(spark, found or settings, rejects, dry_run=dry_run))
        done.append(expire(spark, found or settings, rejects, dry_run=dry_run, keep_loads_of=loaded))
    return done


def sweep_rejects(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> list[StepResult]:
    """Publish waiting rejects, then sweep the tables of rejects of a table; [] without such a table."""
    found = with_rejects(settings, name)
    if found is None:
        return []
    if not dry_run:
        publish_before_expiry(settings, settings.table(name), open_table(settings, name))
    return [sweep(spark, found, rejects, dry_run=dry_run) for rejects in rejects_tables(settings, found, name)]


def fsck_rejects(settings: Settings, name: str, *, deep: bool = False) -> list[StepResult]:
    """Check the tables of rejects of a table as ``fsck`` does; [] without such a table."""
    found = with_rejects(settings, name)
    return [fsck(found or settings, rejects, deep=deep) for rejects in rejects_tables(settings, found, name)]
