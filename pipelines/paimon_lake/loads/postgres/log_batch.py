"""Log batch: the next transactions of a slot, read once for all tables that share it.

The server builds the whole answer to a read before it sends the first message. So each read ends at an LSN. A read
without changes of the tables is repeated with a later LSN.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.postgres.names import Names
from paimon_lake.sources.postgres.server import Server
from paimon_lake.sources.postgres.transactions import DELETE, INSERT, TRUNCATE, UPDATE, Transactions, read_transactions

_LOG_FACTOR = 4
"""How many bytes of the log are read at first, for each byte of ``batch_bytes``."""


@dataclass(frozen=True)
class LogBatch:
    """All transactions whose commit begins at ``start`` or later, and before ``end``."""

    start: int
    end: int
    transactions: Transactions
    has_changes: bool
    """Whether any of the tables that were read has changes."""
    is_last: bool
    """Whether the batch ends at the LSN at which the run ends."""


@dataclass
class SharedRead:
    """The state that the loads of the tables of one slot share in a run."""

    names: Names
    until: int = 0
    """The LSN at which the run ends; 0 while tables are copied."""
    batch: LogBatch | None = None
    """The batch that all tables load next; None when the run has ended."""
    moves_all: bool = False
    """Whether each table commits the end of the batch as its position, even without changes."""


def read_batch(
    server: Server,
    source: PostgresChangesSource,
    names: tuple[str, str],
    tables: Collection[int],
    start: int,
    until: int,
) -> LogBatch:
    """Read the changes of ``tables`` from the LSN ``start`` on, at most to ``until``, as whole transactions.

    ``names``: the slot and the publication. Raises PipelineError when the log cannot be read.
    """
    slot = server.slot(names[0])
    skips = slot is not None and slot.confirmed is not None and slot.confirmed < start
    count = None if skips else source.batch_rows  # messages before the start would count
    size = source.batch_bytes * _LOG_FACTOR
    while True:
        end = min(until, start + size)
        with contextlib.closing(server.messages(*names, end, count)) as messages:
            found = read_transactions(
                messages,
                tables,
                start,
                end,
                rows=source.batch_rows,
                size_bytes=source.batch_bytes,
                most_bytes=source.transaction_bytes,
            )
        is_whole = found.is_at_end or not (found.is_full or (count is not None and found.read >= count))
        has_changes = bool(np.isin(found.columns.kinds, (INSERT, UPDATE, DELETE, TRUNCATE)).any())
        if has_changes or not is_whole or end == until:
            break
        size *= 2
    end = end if is_whole else max(start, found.end)
    return LogBatch(start, end, found, has_changes, is_whole and end == until)
