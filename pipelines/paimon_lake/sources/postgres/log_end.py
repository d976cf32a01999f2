"""Log end: the size of the log of a PostgreSQL server after a position, and whether it has changes of a table.

The log contains changes of all tables, so the length of the log alone does not show how far one table is behind. The
slot is asked, with a bound on messages and time, for the oldest transaction that changed the table. Nothing is
confirmed: a load reads the same changes again. Only numbers are sent to this process, never rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, TookTooLong
from paimon_lake.sources.postgres.table_positions import TablePositions

SEARCH_SECONDS = 10
"""The longest time for which the server searches the log for a change of the table."""
SEARCH_MESSAGES = 10_000
"""The search ends with the first whole transaction after this many messages."""
_WAITING = """
WITH messages AS MATERIALIZED (
  SELECT xid::text AS xid, data, chr(get_byte(data, 0)) AS kind
  FROM pg_logical_slot_peek_binary_changes(
    %(slot)s, %(until)s, %(messages)s, 'proto_version', '1', 'publication_names', %(publication)s)
), begun AS (
  SELECT xid, ('x' || encode(substr(data, 10, 8), 'hex'))::bit(64)::bigint AS committed FROM messages
  WHERE kind = 'B' AND ('x' || encode(substr(data, 2, 8), 'hex'))::bit(64)::bigint >= %(position)s
), changed AS (
  SELECT xid FROM messages WHERE EXISTS (
    SELECT FROM unnest(%(tables)s::oid[]) AS ours WHERE kind IN ('I', 'U', 'D') AND substr(data, 2, 4) = oidsend(ours)
      OR kind = 'T' AND position(oidsend(ours) IN substr(data, 7)) > 0)
)
SELECT (SELECT count(*) FROM messages) >= %(messages)s,
  (SELECT min(committed) FROM begun WHERE xid IN (SELECT xid FROM changed)),
  (SELECT min(committed) FROM begun),
  (extract(epoch FROM clock_timestamp() - timestamptz '2000-01-01 00:00:00+00') * 1000000)::bigint
"""
"""A message B begins with the LSN of its commit and the microseconds of the commit since the year 2000."""


@dataclass(frozen=True)
class LogEnd:
    """The log after a position."""

    size_bytes: int
    """The length of the log after the position, with the changes of all tables."""
    has_changes: bool
    """Whether the log after the position has changes of the table; also true when the search ended early."""
    oldest_seconds: float | None
    """The age of the commit of the oldest change of the table; 0: there is no change; None: the search took too long.

    When the first ``SEARCH_MESSAGES`` messages have no change of the table, this is the age of the oldest transaction
    of any table; a change of the table may be younger.
    """


def log_after(server: Server, position: Position | TablePositions) -> LogEnd:
    """Search the log after a position; the slot must not be in use.

    Raises PipelineError when the server refuses, for example because the slot is in use or does not exist.
    """
    newest = server.newest_lsn()
    size_bytes = max(0, newest - position.lsn)
    if not size_bytes:
        return LogEnd(0, False, 0.0)
    given = {
        "slot": position.slot,
        "until": lsn_text(newest),
        "messages": SEARCH_MESSAGES,
        "publication": '"' + position.publication.replace('"', '""') + '"',
        "position": position.lsn,
        "tables": list(position.relations),
    }
    ((before,),) = server.rows("SELECT current_setting('statement_timeout')")
    server.rows("SELECT set_config('statement_timeout', %s, false)", [f"{SEARCH_SECONDS}s"])
    try:
        ((is_cut, oldest, oldest_of_all, now),) = server.rows(_WAITING, given)
    except TookTooLong:
        return LogEnd(size_bytes, True, None)
    finally:
        server.rows("SELECT set_config('statement_timeout', %s, false)", [before])
    if oldest is None and not is_cut:
        return LogEnd(size_bytes, False, 0.0)
    known = oldest if oldest is not None else oldest_of_all
    return LogEnd(size_bytes, True, None if known is None else max(0.0, (now - known) / 1e6))
