"""Rejects: the rows of a load that do not fit their table, in the table ``<table>__rejects``.

The tasks of a load write them to files. The snapshot of the load names these files in a property, and
``publish_rejects`` commits them to the table of rejects under the number of the load: right after the load, and before
the next one in case the first was interrupted. So a rejected row is neither lost nor repeated.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from paimon_core.commit.abort import abort
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.table.table import Table
from pipelines.lake import Settings, TableSpec
from pipelines.load.ledger import loads_of, user_of
from pipelines.load.write_tasks import Written
from pipelines.protocol import AuditFailed, PipelineError
from pipelines.sources.files.rejects import REJECTS
from pipelines.tables import open_lake

MESSAGES = "pipeline.rejects"
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


def entry(messages: Sequence[CommitMessage]) -> dict[str, str]:
    """Return the property of a load's snapshot that names its files of rejects; {} without rejects."""
    texts = [base64.b64encode(message.to_bytes()).decode() for message in messages]
    return {MESSAGES: json.dumps(texts)} if texts else {}


def publish_rejects(table: Table, rejects: Table) -> None:
    """Commit the rejects of all loads of the table whose rejects were not committed; does nothing otherwise."""
    waiting = [load for load in loads_of(table) if MESSAGES in load.properties]
    missing = set(rejects.filter_committed(user_of(table.name), [load.number for load in waiting]))
    for load in waiting:
        if load.number in missing:
            _publish(table, rejects, load.number, load.properties[MESSAGES])


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
    rejects.commit(
        messages, user=user_of(table.name), identifier=number, properties={"pipeline.step": f"rejects of {table.name}"}
    )
