"""The table ``<table>__waiting``: rows that wait for a row of another table.

The tasks of a load write files with the rows that begin to wait, and the rows that no longer wait. The snapshot of the
load names these files in a property, and ``publish_waiting`` commits them to the table of waiting rows under the number
of the load, as rejects are published (``paimon_lake.loads.rejected.rejects``): right after the load, and again before
the next load or an expiry. So a load whose process ends between the two commits neither loses nor duplicates a row.

A table with a primary key has at most one waiting row for each key; in other tables the columns ``_NUMBERS`` identify a
waiting row.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.alter import AddColumn, changes_to
from paimon_core.catalog.definition import Definition
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from paimon_core.types import DataType, parse_type
from paimon_lake.checks.text import many
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.sources.lookup import lookups_of, waits
from paimon_lake.loads.ledger.load_properties import load_user
from paimon_lake.loads.ledger.load_snapshot import LoadSnapshot, loads_of
from paimon_lake.loads.rejected.rejects import identity
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_lake

MESSAGES, OF_TABLE, CLEARED = "pipeline.waiting", "pipeline.waiting-table", "pipeline.waiting-cleared"
_ADDED = {
    "__kind": "STRING",
    "__file": "STRING",
    "__load": "BIGINT NOT NULL",
    "__lane": "INT NOT NULL",
    "__row": "BIGINT NOT NULL",
    "__since": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
}
_NUMBERS = ("__load", "__lane", "__row")
_COPIED = ("sequence.field", "sequence.field.sort-order")
"""The options that order the rows of a key; the table of waiting rows has the same options."""


def open_waiting(settings: Settings, spec: TableSpec, table: Table, only_in_source: Mapping[str, DataType]) -> Table:
    """Open the table of waiting rows of a table, or of a part; create it, or change its columns, when necessary.

    In a part, ``order_by`` decides which of two rows of a key waits, as it decides which row the table shows.

    Raises PipelineError when rows that already wait cannot be looked up as the declaration says now.
    """
    catalog, name = open_lake(settings), spec.waiting_table
    targets = {column for lookup in lookups_of(spec.source) for column in lookup.columns}
    fields = (one for one in table.schema.fields if spec.fills(one.name) and one.name not in targets)
    types = {one.name: one.type for one in fields}
    key = table.schema.primary_keys or _NUMBERS
    texts = {
        column: kind.with_nullable(column not in key).sql for column, kind in {**types, **only_in_source}.items()
    } | {column: text if column in key else text.removesuffix(" NOT NULL") for column, text in _ADDED.items()}
    options = {
        "bucket": "1",
        "write-only": "true",
        "commit.force-create-snapshot": "true",
        **({"sequence.field": ",".join(spec.order_by)} if spec.is_part else {}),
        **{option: text for option in _COPIED if (text := table.schema.options.get(option)) is not None},
    }
    arrow = pa.schema([(column, parse_type(text).to_arrow()) for column, text in texts.items()])
    comment = f"rows of {spec.load_name} that wait for rows of other tables"
    if not catalog.table_exists(name):
        catalog.create_database(name.split(".")[0], ignore_if_exists=True)
        made = catalog.create_table(
            name, arrow, types=texts, primary_key=key, options=options, comment=comment, ignore_if_exists=True
        )
        _begin(made, spec.load_name)
        return made
    found = catalog.table(name)
    wanted = Definition(arrow, key, (), options, texts, comment).to_schema(name)
    try:
        changes = changes_to(found.schema, wanted, kept_options=set(found.schema.options) - set(options))
        added = [change.column for change in changes if isinstance(change, AddColumn)]
        if missing := [column for column in added if column in only_in_source and waiting_rows(found)]:
            raise InvalidRequest(f"its rows have no column {missing[0]!r}")
        return found.alter(*changes) if changes else found
    except InvalidRequest as error:
        raise PipelineError(
            f"{spec.name}: {name} does not fit the declaration: {error}; {_ADVICE.format(name=name, of=spec.load_name)}"
        ) from None


def _begin(waiting: Table, loaded: str) -> None:
    """Commit a snapshot without rows as load 0: the target when the table is rolled back to before its first load."""
    if waiting.latest_snapshot() is not None:
        return
    try:
        waiting.complete(CommitRequest.of(waiting.context, load_user(loaded), 0, {}), [], None)
    except InvalidRequest:
        if waiting.refresh().latest_snapshot() is None:
            raise
        # another process has created the table and committed to it


_ADVICE = "load {of} with the old declaration until no row waits, or drop {name} to give its rows up"


def waiting_rows(waiting: Table) -> int:
    """Return the number of rows that wait."""
    return waiting.scan().count() if waiting.latest_snapshot() is not None else 0


def waiting_now(settings: Settings, spec: TableSpec) -> int:
    """Return the number of rows of a table that wait; 0 when it has no table of waiting rows."""
    catalog = open_lake(settings)
    if not waits(spec) or not catalog.table_exists(spec.waiting_table):
        return 0
    return waiting_rows(catalog.table(spec.waiting_table))


def waiting_text(settings: Settings, spec: TableSpec) -> str:
    """Return a clause about the rows of a table that wait; "" when no row waits."""
    count = waiting_now(settings, spec)
    if not count:
        return ""
    since = first_since_ms(open_lake(settings).table(spec.waiting_table)) or 0
    text = f"{datetime.fromtimestamp(since / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    return f"{many(count, 'row')} waiting, the oldest since {text}"


def first_since_ms(waiting: TableView) -> int | None:
    """Return the time since which the oldest waiting row waits, in milliseconds since 1970; None when no row waits."""
    found = [pc.min(batch["__since"]).value for batch in waiting.scan(["__since"]).to_batches() if len(batch)]
    return min((one for one in found if one is not None), default=None)


def entry(messages: Sequence[CommitMessage], waiting: Table, *, cleared: bool) -> dict[str, str]:
    """Return the properties of a load's snapshot about waiting rows; {} when the load changes none.

    ``cleared``: the load ends the wait of all rows that waited before, for example because it replaces all rows.
    """
    cleared = cleared and bool(waiting_rows(waiting))
    if not messages and not cleared:
        return {}
    texts = [base64.b64encode(message.to_bytes()).decode() for message in messages]
    return {MESSAGES: json.dumps(texts), OF_TABLE: identity(waiting), **({CLEARED: "true"} if cleared else {})}


def changes_waiting(properties: Mapping[str, str]) -> bool:
    """Whether the snapshot of a load names files of rows that begin to wait or no longer wait."""
    return MESSAGES in properties


def publish_waiting(settings: Settings, spec: TableSpec, table: Table) -> None:
    """Commit the files of waiting rows of each load of a table or part whose files are not committed yet.

    Several processes may call this at the same time: each load is committed once. Raises PipelineError when a property
    is damaged.
    """
    catalog = open_lake(settings)
    if catalog.table_exists(spec.waiting_table):
        waiting = catalog.table(spec.waiting_table)
        for load in unpublished_loads(spec, table, waiting):
            _publish(spec.load_name, waiting, load)


def unpublished_loads(spec: TableSpec, table: Table, waiting: Table) -> list[LoadSnapshot]:
    """Return the loads of a table or part whose waiting rows are not committed yet, the oldest load first."""
    loads = [load for load in loads_of(table, spec.load_name) if changes_waiting(load.properties)]
    missing = set(waiting.filter_committed(load_user(spec.load_name), [load.number for load in loads])) if loads else ()
    return [load for load in loads if load.number in missing and load.properties.get(OF_TABLE) == identity(waiting)]


def _publish(loaded: str, waiting: Table, load: LoadSnapshot) -> None:
    listed: Any = load.json(MESSAGES, loaded)
    try:
        messages = [CommitMessage.from_bytes(base64.b64decode(one, validate=True)) for one in listed]
    except (ValueError, TypeError, PaimonError):
        raise PipelineError(f"{loaded}: the property {MESSAGES} of load {load.number} is damaged") from None
    user, properties = load_user(loaded), {"pipeline.step": f"waiting rows of {loaded}"}
    overwrite = waiting.overwrite_spec(None) if CLEARED in load.properties else None
    try:
        waiting.complete(CommitRequest.of(waiting.context, user, load.number, properties), messages, overwrite)
    except InvalidRequest:
        if waiting.filter_committed(user, [load.number]):
            raise
        # another process has committed these rows, and the rows of a later load


def newest_waiting(settings: Settings, spec: TableSpec) -> int:
    """Return the largest number of a load whose waiting rows were committed; 0 if there is no such load.

    After a rollback of a load, its number may exist only in the table of waiting rows; it must not be used again.
    Raises PipelineError when rows wait that no lookup of the declaration waits for.
    """
    catalog = open_lake(settings)
    if not catalog.table_exists(spec.waiting_table):
        return 0
    waiting = catalog.table(spec.waiting_table)
    if not waits(spec) and (count := waiting_rows(waiting)):
        raise PipelineError(
            f"{spec.name}: {count:,} rows wait in {spec.waiting_table}, and no lookup of the declaration has missing: "
            f"wait; {_ADVICE.format(name=spec.waiting_table, of=spec.load_name)}"
        )
    return max((load.number for load in loads_of(waiting, spec.load_name)), default=0)
