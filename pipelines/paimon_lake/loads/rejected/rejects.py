"""Rejects: the rows of a load that do not fit their table are stored in the table ``<table>__rejects``.

The tasks of a load write the rejects to files. The snapshot of the load names these files in a property, and
``publish_rejects`` commits them to the table of rejects under the number of the load. It runs right after the load, and
again before the next load or an expiry, in case the load was interrupted. So a rejected row is neither lost nor
repeated. The snapshot also records the identity of the table of rejects. When that table was dropped, the files do not
exist any more and are skipped.

Rejects of older loads are deleted when their source file is read again. The snapshot of the load also names these
source files, and ``publish_rejects`` first deletes the old rejects, then commits the new rejects. When a process stops
between these two commits, the deletion is repeated and finds nothing. Between the two commits, a reader sees neither
the old nor the new rejects of the source files. Loads are published in the order of their numbers, and a deletion only
deletes rejects of older loads, so two processes may delete at the same time.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from paimon_core import col
from paimon_core.alter import AddColumn
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.predicate import Predicate
from paimon_core.table.table import Table
from paimon_core.types import from_arrow
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.loads.ledger.load_properties import load_user
from paimon_lake.loads.ledger.load_snapshot import LoadSnapshot, loads_of
from paimon_lake.loads.ledger.loaded_files import digest
from paimon_lake.loads.rejected.reject_rows import ADDED, REJECT_ROWS
from paimon_lake.loads.write_tasks import WriteResult
from paimon_lake.protocol import AuditFailed, PipelineError
from paimon_lake.sources.files.rejects import REJECTS
from paimon_lake.tables import open_lake

if TYPE_CHECKING:
    from paimon_lake.loads.step import PlannedLoad

MESSAGES, OF_TABLE, REPLACED = "pipeline.rejects", "pipeline.rejects-table", "pipeline.rejects-replaced"
_FILE = 8
"""The number of bytes of the digest of a source file in ``REPLACED``."""
_OPTIONS = {"write-only": "true", "compaction.min.file-num": "5"}


def open_rejects(settings: Settings, spec: TableSpec) -> Table:
    """Open the table of rejects; create the table when it does not exist."""
    catalog = open_lake(settings)
    name = spec.rejects_table
    if catalog.table_exists(name):
        table = catalog.table(name)
        if table.arrow_schema.names == REJECTS.names:
            table = _with_added_columns(table)
        if table.arrow_schema.names != REJECT_ROWS.names:
            raise PipelineError(
                f"{name} is no table of rejects: its columns are {', '.join(table.arrow_schema.names)}, not "
                f"{', '.join(REJECT_ROWS.names)}; name another one with rejects.table in the declaration of {spec.name}"
            )
        return table
    catalog.create_database(name.split(".")[0], ignore_if_exists=True)
    return catalog.create_table(
        name, REJECT_ROWS, options=_OPTIONS, comment=f"rows that did not fit {spec.name}", ignore_if_exists=True
    )


def _with_added_columns(table: Table) -> Table:
    """Add the columns that tables of rejects of earlier versions do not have; old rows have nulls in these columns."""
    try:
        return table.alter(*[AddColumn(f.name, from_arrow(f.type)) for f in ADDED])
    except InvalidRequest:  # another process has added the columns
        return table.refresh()


def entry(messages: Sequence[CommitMessage], replaced: Sequence[str], rejects: Table) -> dict[str, str]:
    """Return the properties of a load's snapshot about rejects; {} when it neither adds nor replaces rejects.

    The properties name the files of rejects, the source files whose older rejects are replaced, and the table of
    rejects.
    """
    texts = [base64.b64encode(message.to_bytes()).decode() for message in messages]
    digests = base64.b64encode(b"".join(digest(file, _FILE) for file in replaced)).decode()
    found = {**({MESSAGES: json.dumps(texts)} if texts else {}), **({REPLACED: digests} if digests else {})}
    return {**found, OF_TABLE: identity(rejects)} if found else {}


def changes_rejects(properties: Mapping[str, str]) -> bool:
    """Whether the snapshot of a load has rejects to publish, or to replace."""
    return MESSAGES in properties or REPLACED in properties


def replaced_files(rejects: Table, plan: PlannedLoad) -> list[str]:
    """Return the source files whose old rejects a load replaces: the files that it reads again, or all files."""
    found = _files_of(rejects, None)
    return found if plan.replace is not None and plan.replace.everything else [f for f in found if f in plan.rejects_of]


def _files_of(rejects: Table, where: Predicate | None) -> list[str]:
    """Return the distinct values of the column ``file``; only these values and one batch are in memory."""
    found: dict[str, None] = {}
    for batch in rejects.scan(["file"], where=where).to_batches():
        found |= dict.fromkeys(batch["file"].unique().to_pylist())
    return list(found)


def publish_rejects(table: Table, rejects: Table, loaded: str = "") -> None:
    """Commit the rejects of each load of the table whose rejects are not committed yet.

    ``loaded`` is the load name of a part of the table, which has a table of rejects of its own.
    Several processes may do this at the same time: the rejects of each load are committed once. Raises PipelineError
    when a property is damaged.
    """
    user = load_user(loaded or table.name)
    waiting = [load for load in loads_of(table, loaded) if changes_rejects(load.properties)]
    missing = set(rejects.filter_committed(user, [load.number for load in waiting]))
    for load in waiting:
        if load.number in missing and load.properties.get(OF_TABLE) in (None, identity(rejects)):
            _delete_replaced(table, rejects, load)
            if MESSAGES in load.properties:
                _publish(table, rejects, load, user)


def publish_before_expiry(settings: Settings, spec: TableSpec, table: Table) -> None:
    """Publish the rejects of the loads of a table and of its parts, for each table of rejects that exists."""
    catalog = open_lake(settings)
    for one in load_specs(spec):
        if catalog.table_exists(one.rejects_table):
            publish_rejects(table, catalog.table(one.rejects_table), one.load_name)


def newest_number(rejects: Table, loaded: str) -> int:
    """Return the largest number of a load whose rejects were committed; 0 when no rejects were committed.

    After a rollback of a load, the number of the load may exist only in the table of rejects; it must not be used
    again.
    """
    return max((load.number for load in loads_of(rejects, loaded)), default=0)


def check_share(table: Table, spec: TableSpec, written: WriteResult) -> None:
    """Raise AuditFailed, and delete the files of the load, when more rows were rejected than the declaration allows.

    Rows that waited since earlier loads do not count, and neither do rows that the source delivers again after their
    wait, because these rows would stop all later loads.
    """
    rows = written.rows_read - written.removals
    rejected = written.rows_rejected - written.lookup.late_rejected
    if rejected > spec.rejects.max_share * rows:
        abort(written.messages, table.context)
        share = rejected / rows
        raise AuditFailed(
            f"{spec.name} was not changed: {rejected:,} of {rows:,} rows do not fit "
            f"({share:.1%}), and rejects.max_share is {spec.rejects.max_share:.1%}; {'; '.join(written.examples)}"
        )


def _delete_replaced(table: Table, rejects: Table, load: LoadSnapshot) -> None:
    """Delete the rejects of older loads from source files that a load has read again."""
    try:
        data = base64.b64decode(load.properties.get(REPLACED, ""), validate=True)
    except ValueError:
        raise PipelineError(f"{table.name}: the property {REPLACED} of load {load.number} is damaged") from None
    digests = {data[at : at + _FILE] for at in range(0, len(data), _FILE)}
    older = (col("load") < load.number) | col("load").is_null()
    files = [file for file in _files_of(rejects, older) if digest(file, _FILE) in digests] if digests else []
    if files:
        properties = {"pipeline.step": f"rejects of {table.name} that load {load.number} replaces"}
        rejects.delete(older & col("file").is_in(files), properties=properties)


def _publish(table: Table, rejects: Table, load: LoadSnapshot, user: str) -> None:
    number, texts = load.number, load.properties[MESSAGES]
    try:
        messages = [CommitMessage.from_bytes(base64.b64decode(one, validate=True)) for one in json.loads(texts)]
    except (ValueError, TypeError, InvalidRequest):
        raise PipelineError(f"{table.name}: the property {MESSAGES} of load {number} is damaged") from None
    try:
        rejects.commit(messages, user=user, identifier=number, properties={"pipeline.step": f"rejects of {table.name}"})
    except InvalidRequest:
        if rejects.filter_committed(user, [number]):
            raise
        # another process has committed these rejects and the rejects of a later load


def identity(table: Table) -> str:
    """Return a text that identifies a table: a rename does not change it, and a re-created table has another text."""
    context = table.context
    first = context.storage.read(context.paths.schema(min(context.schemas.ids())))  # has the creation time
    return hashlib.sha256(first).hexdigest()[:24]
