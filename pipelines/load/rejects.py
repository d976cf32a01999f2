"""Rejects: the rows of a load that do not fit their table, in the table ``<table>__rejects``.

The tasks of a load write them to files. The snapshot of the load names these files in a property, and
``publish_rejects`` commits them to the table of rejects under the number of the load: right after the load, and before
the next one or an expiry in case the first was interrupted. So a rejected row is neither lost nor repeated. The
snapshot also says which table of rejects has the files: when that was dropped, they are gone and are skipped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.table.table import Table
from pipelines.lake import Settings, TableSpec
from pipelines.load.ledger import loads_of
from pipelines.load.write_tasks import Written
from pipelines.load_properties import load_user
from pipelines.protocol import AuditFailed, PipelineError
from pipelines.sources.files.rejects import REJECTS
from pipelines.tables import open_lake

MESSAGES, OF_TABLE = "pipeline.rejects", "pipeline.rejects-table"
_OPTIONS = {"write-only": "true", "compaction.min.file-num": "5"}


def open_rejects(settings: Settings, spec: TableSpec) -> Table:
    """Open the table of rejects, and create it when it does not exist."""
    catalog = open_lake(settings)
    name = spec.rejects_table
    if catalog.table_exists(name):
        table = catalog.table(name)
        if table.arrow_schema.names != REJECTS.names:
            raise PipelineError(
                f"{name} is no table of rejects: its columns are {', '.join(table.arrow_schema.names)}, "
                f"not {', '.join(REJECTS.names)}; name another one with rejects.table in the declaration of {spec.name}"
            )
        return table
    catalog.create_database(name.split(".")[0], ignore_if_exists=True)
    return catalog.create_table(
        name, REJECTS, options=_OPTIONS, comment=f"rows that did not fit {spec.name}", ignore_if_exists=True
    )


def entry(messages: Sequence[CommitMessage], rejects: Table) -> dict[str, str]:
    """Return the properties of a load's snapshot that name its files of rejects and their table; {} without rejects."""
    texts = [base64.b64encode(message.to_bytes()).decode() for message in messages]
    return {MESSAGES: json.dumps(texts), OF_TABLE: _identity(rejects)} if texts else {}


def publish_rejects(table: Table, rejects: Table) -> None:
    """Commit the rejects of all loads of the table whose rejects were not committed; does nothing otherwise.

    Several processes may do this at the same time: each load's rejects are committed once. Raises PipelineError when a
    property is damaged.
    """
    waiting = [load for load in loads_of(table) if MESSAGES in load.properties]
    missing = set(rejects.filter_committed(load_user(table.name), [load.number for load in waiting]))
    for load in waiting:
        if load.number in missing and load.properties.get(OF_TABLE) in (None, _identity(rejects)):
            _publish(table, rejects, load.number, load.properties[MESSAGES])


def publish_before_expiry(settings: Settings, spec: TableSpec, table: Table) -> None:
    """Publish the rejects of the loads of a table, unless it has no table of rejects."""
    catalog = open_lake(settings)
    if spec.source is not None and catalog.table_exists(spec.rejects_table):
        publish_rejects(table, catalog.table(spec.rejects_table))


def newest_number(rejects: Table, table: str) -> int:
    """Return the largest number of a load whose rejects were committed; 0 for none.

    A load that was rolled back has its number here, and the number must not be used again.
    """
    return max((load.number for load in loads_of(rejects, table)), default=0)


def check_share(table: Table, spec: TableSpec, written: Written) -> None:
    """Raise AuditFailed, and delete the files of the load, when more rows were rejected than the declaration allows."""
    if written.rows_rejected > spec.rejects.max_share * written.rows_read:
        abort(written.messages, table.context)
        share = written.rows_rejected / written.rows_read
        raise AuditFailed(
            f"{spec.name} was not changed: {written.rows_rejected:,} of {written.rows_read:,} rows do not fit "
            f"({share:.1%}), and rejects.max_share is {spec.rejects.max_share:.1%}; {'; '.join(written.examples)}"
        )


def _publish(table: Table, rejects: Table, number: int, text: str) -> None:
    try:
        messages = [CommitMessage.from_bytes(base64.b64decode(one, validate=True)) for one in json.loads(text)]
    except (ValueError, TypeError, InvalidRequest):
        raise PipelineError(f"{table.name}: the property {MESSAGES} of load {number} is damaged") from None
    user = load_user(table.name)
    try:
        rejects.commit(messages, user=user, identifier=number, properties={"pipeline.step": f"rejects of {table.name}"})
    except InvalidRequest:
        if rejects.filter_committed(user, [number]):
            raise
        # another process has committed these rejects and those of a later load


def _identity(table: Table) -> str:
    """Return a text that a table keeps when it is renamed, and that another table of the same name does not have."""
    context = table.context
    first = context.storage.read(context.paths.schema(min(context.schemas.ids())))  # it has the time of creation
    return hashlib.sha256(first).hexdigest()[:24]
