"""Rules: the conditions that are checked before changes of a table of PostgreSQL are loaded. Each error says what the
user can do.

Nothing is loaded again without ``reload``: if changes may be missing, the load is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.pgoutput import Relation
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import ServerFacts, SlotState
from paimon_lake.sources.postgres.source_table import Publication, SourceTable
from paimon_lake.sources.postgres.table_positions import TablePositions

RELOAD = "load the table with reload, which copies the source again"
_FIRST_VERSION = 13


def check_server(name: str, facts: ServerFacts) -> None:
    """Refuse a server from which changes cannot be read."""
    if facts.version < _FIRST_VERSION * 10_000:
        raise PipelineError(f"{name}: the server is PostgreSQL {facts.version // 10_000}, and changes need 13 or later")
    if facts.in_recovery:
        raise PipelineError(f"{name}: the server is a standby: write the address of its primary into source.url")
    if facts.wal_level != "logical":
        raise PipelineError(
            f"{name}: wal_level is {facts.wal_level}: set wal_level = logical in postgresql.conf and restart the server"
        )


def check_key(name: str, table: SourceTable, key: Collection[str]) -> None:
    """Refuse a table whose log does not identify rows by the columns ``key`` of the source."""
    wanted, listed = frozenset(key), ", ".join(key)
    if table.identity == "n":
        raise PipelineError(f"{name} has REPLICA IDENTITY NOTHING: set it to DEFAULT, FULL or the index of a key")
    if table.identity == "f":
        if wanted not in table.keys:
            raise PipelineError(
                f"{name} has no unique key of exactly the columns {listed}, NOT NULL and not deferrable: the declared "
                "primary_key must be one"
            )
    elif not table.identity_key:
        raise PipelineError(
            f"{name} has no primary key, so the log does not say which row is changed: add a primary key, or a unique "
            "index and REPLICA IDENTITY FULL"
        )
    elif table.identity_key != wanted or wanted not in table.keys:
        raise PipelineError(
            f"{name} identifies rows in the log by {', '.join(sorted(table.identity_key))}, and the declared "
            f"primary_key is {listed}: declare this key, or set REPLICA IDENTITY FULL"
        )


def check_generated(name: str, table: SourceTable, columns: Collection[str]) -> None:
    """Refuse generated columns, which the log does not contain."""
    if generated := [column for column in columns if table.columns[column].is_generated]:
        raise PipelineError(
            f"{name}: the log does not contain generated columns: remove {some(generated)} from the declaration"
        )


def check_publication(
    name: str, publication: str, found: Publication | None, columns: Collection[str], *, declared: bool
) -> Publication:
    """Return the publication; raise PipelineError when the publication does not send all changes of all declared
    columns.
    """
    if found is None:
        how = "create it, or remove source.publication; after the first copy, also " if declared else ""
        raise PipelineError(
            f"{name}: there is no publication {publication!r}, so changes may be missing: {how}{RELOAD}"
        )
    if not found.names_table:
        raise PipelineError(
            f"{name}: the publication {publication!r} does not name this table: "
            f'ALTER PUBLICATION "{publication}" ADD TABLE ...'
        )
    if not found.has_all_kinds:
        raise PipelineError(
            f"{name}: the publication {publication!r} does not send all kinds of changes: ALTER PUBLICATION "
            f"\"{publication}\" SET (publish = 'insert, update, delete, truncate')"
        )
    if found.has_filter:
        raise PipelineError(f"{name}: the publication {publication!r} filters rows: remove its WHERE for this table")
    missing = [] if found.columns is None else [column for column in columns if column not in found.columns]
    if missing:
        raise PipelineError(
            f"{name}: the publication {publication!r} does not send the columns {some(missing)}: add them to its list "
            "of columns, or remove them from the declaration"
        )
    return found


def check_slot(name: str, slot: str, found: SlotState | None, database: str, *, declared: bool) -> SlotState:
    """Return the state of the slot; raise PipelineError when the slot cannot be read."""
    if found is None:
        how = f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')"
        raise PipelineError(
            f"{name}: the slot {slot!r} does not exist, so changes may be missing: "
            + (f"create it by {how}, and {RELOAD}" if declared else RELOAD)
        )
    if found.plugin != "pgoutput" or found.database != database or found.is_temporary:
        raise PipelineError(
            f"{name}: the slot {slot!r} is not a slot of pgoutput for the database {database}: name another in "
            "source.slot"
        )
    if found.active_pid is not None:
        raise PipelineError(
            f"{name}: the slot {slot!r} is used by the process {found.active_pid} of the server, another load or "
            "program: repeat the load when it has ended"
        )
    if found.wal_status == "lost" or found.confirmed is None:
        how = (
            f"drop it by SELECT pg_drop_replication_slot('{slot}'), create it again, and {RELOAD}"
            if declared
            else RELOAD
        )
        raise PipelineError(
            f"{name}: the slot {slot!r} is lost, because it was behind by more than max_slot_wal_keep_size: raise that "
            f"setting or load more often, then {how}"
        )
    return found


def check_position(name: str, position: Position, facts: ServerFacts, table: SourceTable, version: str) -> None:
    """Refuse a position whose server, history, table or publication differs from the present one.

    Also refuse a position after the end of the log, because the server was then restored to an earlier state.
    """
    at = lsn_text(position.lsn)
    for what, recorded, now in (
        ("server", position.system, facts.system),
        ("timeline of the server, after a failover or recovery,", position.timeline, facts.timeline),
        ("database", position.database, facts.database),
        ("table, dropped and created again,", position.relation, table.oid),
        ("publication, changed since,", position.publication_version, version),
    ):
        if recorded != now:
            raise PipelineError(
                f"{name}: the changes up to {at} were loaded from another {what} than the one that is there "
                f"({recorded}, now {now}), so changes may be missing: {RELOAD}, or name the old source"
            )
    if position.lsn > facts.lsn:
        raise PipelineError(
            f"{name}: the changes up to {at} were loaded, and the log of the server ends at {lsn_text(facts.lsn)}: the "
            f"server was restored to an earlier state, so the table has changes that the source lost: {RELOAD}"
        )


def check_tables(name: str, loaded: Collection[str], there: Collection[str]) -> None:
    """Refuse loaded tables that do not exist, or are not in ``source.table`` any more; new tables are allowed."""
    if gone := [table for table in loaded if table not in there]:
        raise PipelineError(
            f"{name}: rows of {some(gone)} were loaded, and source.table does not find that table any more: bring it "
            f"back, or {RELOAD} and removes these rows"
        )


def check_confirmed(name: str, position: Position | TablePositions, slot: SlotState) -> None:
    """Refuse a slot that is confirmed beyond the position: another program read it, or the table was rolled back."""
    if slot.confirmed is not None and slot.confirmed > position.lsn:
        raise PipelineError(
            f"{name}: the slot {position.slot!r} was advanced to {lsn_text(slot.confirmed)}, and the table has the "
            f"changes up to {lsn_text(position.lsn)}: another program reads the slot, or the table was rolled back: "
            f"{RELOAD}"
        )


def check_relation(name: str, relation: Relation, key: Collection[str], refused: Sequence[str]) -> None:
    """Refuse changes that do not identify rows by the columns ``key``, and changes with the new columns ``refused``."""
    in_key = {column for column, *_, is_key in relation.columns if is_key}
    if relation.identity != "f" and in_key != set(key):
        raise PipelineError(
            f"{name}: the replica identity was {', '.join(sorted(in_key)) or 'nothing'} for some changes, and the "
            f"declared primary_key is {', '.join(key)}: {RELOAD}"
        )
    if refused:
        raise PipelineError(
            f"{name} has new columns: {some(refused)}. Add them to the declaration and {RELOAD}, or set "
            "source.schema_changes: apply, which adds them, or ignore, which leaves them out"
        )


def lost_column(name: str, column: str, columns: Collection[str]) -> PipelineError:
    """Return the error for a column of the table that the source had, and has no more."""
    listed = ", ".join(map(repr, columns)) or "none"
    return PipelineError(
        f"{name} has no column {column!r} any more; its columns are {listed}. If it was dropped, remove it from the "
        "declaration and run `paimon-lake apply --drop`; if it was renamed, rename it back, or declare the new name, "
        f"run `paimon-lake apply --drop` and {RELOAD}"
    )
