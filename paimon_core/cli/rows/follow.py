"""Follow: prints the changes of a table as commits arrive, until a signal or a time limit ends it.

No change is left out silently: when snapshots expire before they are printed, a note on standard error names them, and
the command continues with the next one. A rollback below the printed snapshots and a drop of the table are errors.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.argument_checks import parsed_id
from paimon_core.cli.output.cells import Columns, json_value, python_rows
from paimon_core.cli.output.output import Output
from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.stop_event import stop_by_signal
from paimon_core.table.stream.position import Position
from paimon_core.table.stream.start import starting_position
from paimon_core.table.stream.table_stream import next_snapshot

if TYPE_CHECKING:
    from paimon_core.table.table import Table

NOW, LATEST, EARLIEST = "now", "latest", "earliest"
_PIECE = 1_000
"""Rows that are written at once; a signal ends the command between two pieces."""


@dataclass(frozen=True)
class Missed:
    """Snapshots whose changes were not printed, or not all of them, because they expired before."""

    first: int
    last: int

    def sentence(self) -> str:
        """Return the note for standard error."""
        one = self.first == self.last
        which = f"snapshot {self.first}" if one else f"snapshots {self.first} to {self.last}"
        return (
            f"changes of {which} are missing: {'it' if one else 'they'} or the version before expired "
            f"before the changes were read; continuing with snapshot {self.last + 1}"
        )


def start_of(table: Table, text: str) -> Position:
    """Return the position that ``--from`` names: now, latest, earliest or a snapshot id.

    Raises InvalidRequest for another word, SnapshotNotFound for a snapshot that does not exist.
    """
    latest = table.latest_snapshot()
    if text.isdecimal():
        return starting_position(table.context, parsed_id(text, "--from"))
    if text not in (NOW, LATEST, EARLIEST):
        raise InvalidRequest(f"--from must be {NOW}, {LATEST}, {EARLIEST} or a snapshot id, not {text!r:.60}")
    if text == LATEST and latest is not None:
        return Position(latest.id)
    return starting_position(table.context, "earliest" if text == EARLIEST else "latest")


def changes_from(
    opened: Callable[[], Table],
    position: Position,
    columns: list[str] | None,
    wait: Callable[[], bool],
    is_over: Callable[[int], bool] = lambda _: False,
) -> Iterator[pa.RecordBatch | Missed]:
    """Yield the changes of each snapshot from ``position`` on, with row kinds and snapshot ids, and what was missed.

    ``wait`` is called when there is no newer snapshot, ``is_over`` with the id of each snapshot before its changes are
    read; the changes end when one of them returns True. ``opened`` opens the table again when its columns have changed.
    Raises ReadOutdated after a rollback, TableNotFound after a drop.
    """
    table = opened()
    missed: Missed | None = None
    while True:
        try:
            snapshot = next_snapshot(table.context, position)
        except SnapshotNotFound:
            earliest = table.context.snapshots.earliest_id()
            if earliest is None or earliest <= position.next_snapshot:
                raise
            missed = Missed(missed.first if missed else position.next_snapshot, earliest - 1)
            position = Position(earliest)
            continue
        if snapshot is None:
            if missed:
                yield missed
                missed = None
            if wait():
                return
            continue
        if is_over(snapshot.id):
            if missed:
                yield missed
            return
        if snapshot.schema_id > table.schema.id:
            table = opened()
        try:
            found = table.changes(snapshot.id - 1, snapshot.id, columns=columns, with_commit=True)
            for batch in found.to_batches():
                if missed:
                    yield missed
                    missed = None
                yield batch
        except SnapshotNotFound:  # the snapshot has expired since, or the version before, which a difference needs
            missed = Missed(missed.first if missed else snapshot.id, snapshot.id)
        position = Position.after(snapshot)


def follow(
    opened: Callable[[], Table], position: Position, rows: pa.Table | None, args: argparse.Namespace, out: Output
) -> None:
    """Print ``rows``, then the changes from ``position`` on: lines of JSON, one for each row, or aligned columns.

    SIGINT and SIGTERM end it between two pieces of rows; a second signal ends it at once. When the time is over, only
    the changes that are committed by then are printed.
    """
    end = None if args.seconds is None else time.monotonic() + args.seconds
    last: int | None = None
    columns = Columns(out)
    if rows is not None:
        print_piece(rows, columns, out)
    with stop_by_signal(second_interrupts=True) as stop:

        def wait() -> bool:
            left = args.every if end is None else min(args.every, end - time.monotonic())
            return left <= 0 or stop.wait(left)

        def is_over(snapshot_id: int) -> bool:
            nonlocal last
            if last is None and end is not None and time.monotonic() >= end:
                latest = opened().latest_snapshot()
                last = snapshot_id if latest is None else latest.id
            return stop.is_set() or (last is not None and snapshot_id > last)

        for found in changes_from(opened, position, args.columns, wait, is_over):
            if isinstance(found, Missed):
                _note(found, out)
                continue
            for start in range(0, len(found), _PIECE):
                print_piece(found.slice(start, _PIECE), columns, out)
                if stop.is_set():
                    return


def print_piece(rows: pa.RecordBatch | pa.Table, columns: Columns, out: Output) -> None:
    """Print rows in one write: a line of JSON for each, or lines that continue the columns before."""
    if not out.as_json:
        columns.add(rows)
        return
    names = rows.schema.names
    found = (dict(zip(names, map(json_value, row), strict=True)) for row in python_rows(rows))
    lines = [json.dumps(row, allow_nan=False) for row in found]
    if lines:
        out.write("\n".join(lines))


def _note(missed: Missed, out: Output) -> None:
    text = missed.sentence()
    value = {"command": "tail", "note": text, "missed_snapshots": [missed.first, missed.last]}
    sys.stderr.write((json.dumps(value) if out.as_json else f"paimon-core tail: {text}") + "\n")
    sys.stderr.flush()
