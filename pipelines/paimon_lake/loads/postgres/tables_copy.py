"""Tables copy: the load that copies several tables of PostgreSQL into one table, all at one exported snapshot.

The first copy and a reload copy all tables, and replace all rows. Tables that are found later are copied alone: their
rows are added, and their positions begin at their own copy, after the position of the other tables.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimon_core.spark.packing import balanced
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.database import DatabaseRead, naming, parts_of
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.postgres.opened_source import OpenedSource
from paimon_lake.loads.postgres.several_rows import CopiedRows, NamedRows
from paimon_lake.loads.postgres.table_copy import prepared
from paimon_lake.loads.replacement import Replace
from paimon_lake.loads.step import LoadStep, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.database_sql import select
from paimon_lake.sources.files.columns import table_schema
from paimon_lake.sources.postgres.found_tables import table_sizes
from paimon_lake.sources.postgres.server import Server, connected, exported_snapshot
from paimon_lake.sources.postgres.source_table import read_table
from paimon_lake.sources.postgres.table_positions import TablePositions

Sources = Mapping[str, OpenedSource]
"""The source tables by their names ``schema.name``."""


def planned_copies(
    step: LoadStep,
    server: Server,
    sources: Sources,
    options: PostgresChangesSource,
    kept: TablePositions | None = None,
    left_out: Sequence[str] = (),
) -> PlannedLoad:
    """Return the load that copies source tables; ``kept``: the positions of the tables whose rows stay (None: no row
    stays).

    Creates the publication and the slot if they are missing. ``left_out``: columns that are not copied.
    """
    versions = {
        name: prepared(replace(server, database=source.read.database), source, is_shared=True)
        for name, source in sources.items()
    }
    return PlannedLoad(
        lambda: replace(_write(step, sources, options, versions, kept), ignored_columns=tuple(left_out)),
        details={"copied_tables": some(list(sources))},
        replace=Replace(everything=True) if kept is None else None,
        rejects_of=[source.text for source in sources.values()],
        has_more=True,
    )


def _write(
    step: LoadStep,
    sources: Sources,
    options: PostgresChangesSource,
    versions: Mapping[str, str],
    kept: TablePositions | None,
) -> WriteResult:
    first = next(iter(sources.values()))
    reads = {name: source.read for name, source in sources.items()}
    with (
        naming(step),
        exported_snapshot(first.read.database, first.names.slot) as (snapshot, lsn),
        connected(first.read.database) as server,
        contextlib.ExitStack() as locks,
    ):
        for source in sources.values():
            locks.enter_context(server.locked(source.name))
            if read_table(server, source.name) != source.table:
                raise PipelineError(f"{source.text} was altered or truncated at the same time: repeat the load")
        sizes = table_sizes(server, [source.table.oid for source in sources.values()])
        weights = {name: sizes[source.table.oid] for name, source in sources.items()}
        written = write_parts(
            step.spark(),
            _parts(reads, weights, options, snapshot),
            CopiedRows(reads, NamedRows(table_schema(step.table.schema.fields), options.source_column), snapshot),
            step.table,
            step.rejects,
            step.stamp,
            kinds=None,
            overwrites=kept is None,
        )
    positions = {} if kept is None else dict(kept.tables)
    for name, source in sources.items():
        positions[name] = source.position(lsn, versions[name], source.table.columns)
    entry = TablePositions(dict(sorted(positions.items()))).to_json()
    return replace(written, entries={POSITION: json.dumps(entry)})


def _parts(
    reads: Mapping[str, DatabaseRead], sizes: Mapping[str, int], options: PostgresChangesSource, snapshot: str
) -> list[bytes]:
    """Return the queries of each task; all tasks read about the same number of bytes.

    ``sizes``: about how many bytes each table has.
    """
    queries: list[tuple[int, str, str]] = []
    for name, read in reads.items():
        conditions = [""]
        if read.split:
            with read.database.connected(snapshot) as connection:
                conditions = parts_of(connection, read, options.parts)
        found = [select(read.rows.selected, read.database.relation, [one]) for one in conditions]
        queries += [(sizes[name] // len(found), name, query) for query in found]
    tasks = balanced([size for size, *_ in queries], options.parts)
    return [json.dumps([queries[at][1:] for at in task]).encode() for task in tasks]
