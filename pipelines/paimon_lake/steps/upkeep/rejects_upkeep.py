"""Upkeep of tables of rejects: the maintenance of a table also maintains its tables of rejects and of waiting rows.

Small files are merged, then snapshots expire by the retention of the table. The newest commit of rejects is kept,
because it records which rejects were published; the newest commit of waiting rows is kept for the same reason. Rejects
and waiting rows of interrupted loads are published before unreferenced files are swept; otherwise their files would be
swept too.
"""

from __future__ import annotations

from paimon_lake.checks.text import many
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.loads.ledger.load_snapshot import Removal, events_in
from paimon_lake.loads.lookup.waiting_table import publish_waiting
from paimon_lake.loads.rejected.rejects import publish_before_expiry
from paimon_lake.protocol import StepResult
from paimon_lake.session import Spark
from paimon_lake.steps.audits.check_and_rollback import fsck
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import compact
from paimon_lake.steps.upkeep.sweep import sweep
from paimon_lake.tables import open_lake, open_table


def tables_beside(settings: Settings, name: str) -> tuple[Settings, dict[str, str]]:
    """Return settings that also declare the tables of rejects and of waiting rows, and the load name of each table.

    Only existing tables are returned. Each part of a table has a table of rejects of its own.
    """
    catalog, declared, beside = open_lake(settings), dict[str, TableSpec](), dict[str, str]()
    for spec in load_specs(settings.table(name)):
        comments = {
            spec.rejects_table: f"rows that did not fit {spec.load_name}",
            spec.waiting_table: f"rows of {spec.load_name} that wait for rows of other tables",
        }
        for table, comment in comments.items():
            if not catalog.table_exists(table):
                continue
            beside[table] = spec.load_name
            declared[table] = TableSpec.model_construct(  # without validation, which requires a key
                name=table,
                comment=comment,
                columns={field.name: field.type.sql for field in catalog.table(table).schema.fields},
                retention=spec.retention,
                compaction=spec.compaction,
                nightly_tag=False,
            )
    return settings.model_copy(update={"tables": {**settings.tables, **declared}}), beside


def lost_rejects(settings: Settings, name: str) -> list[str]:
    """Return a sentence for each table of rejects of a table with lost rejects; [] when none were lost.

    Rejects are lost with missing data files. A loss is reported until the snapshot that removed the missing files
    expires. Raises PipelineError when a property is damaged.
    """
    found, beside = tables_beside(settings, name)
    waiting, sentences = {spec.waiting_table for spec in load_specs(settings.table(name))}, []
    for rejects, loaded in beside.items():
        if rejects in waiting:
            continue
        snapshots = open_table(found, rejects).inspect.snapshots()
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
    """Merge the small files of the tables of rejects and of waiting rows of a table, then expire their snapshots."""
    found, beside = tables_beside(settings, name)
    done = list[StepResult]()
    for table, loaded in beside.items():
        done.append(compact(spark, found, table, dry_run=dry_run))
        done.append(expire(spark, found, table, dry_run=dry_run, keep_loads_of=loaded))
    return done


def sweep_rejects(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> list[StepResult]:
    """Publish rejects and waiting rows, then sweep their tables."""
    found, beside = tables_beside(settings, name)
    if beside and not dry_run:
        spec, table = settings.table(name), open_table(settings, name)
        publish_before_expiry(settings, spec, table)
        publish_waiting(settings, spec, table)
    return [sweep(spark, found, one, dry_run=dry_run) for one in beside]


def fsck_rejects(settings: Settings, name: str, *, deep: bool = False) -> list[StepResult]:
    """Check the tables of rejects and of waiting rows of a table as ``fsck`` does."""
    found, beside = tables_beside(settings, name)
    return [fsck(found, table, deep=deep) for table in beside]
