"""Row account: compares the rows of a table with the rows that its loads wrote, snapshot by snapshot.

The snapshot of a load that adds rows records how many rows were written and merged; its files must have exactly the
written rows less the merged rows. The counts of all snapshots must add up to the rows in the data files, and a reader
of a table without a key sees exactly these rows. If rows with the same key are merged, the visible rows cannot be
compared with the written rows. For other commits, such as deletes and expiries of partitions or records, a note states
how many rows they added or removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from paimon_core.query.scan_options import ALL_ROWS
from paimon_core.table.table import Table
from paimon_lake.checks.text import many
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.ledger.load_properties import ROWS_MERGED, ROWS_WRITTEN, is_load_user

_SHOWN = 3


@dataclass(frozen=True)
class Account:
    """The result of a comparison: problems, and notes about the rows that were compared and the rows that could not be
    compared.
    """

    problems: Sequence[str]
    notes: Sequence[str]


def account_of(table: Table, parts: Sequence[str] = ()) -> Account:
    """Compare the latest snapshot of a table with the loads whose snapshots have not expired.

    ``parts`` are the load names of the parts of the table; () for a table without parts. Raises PipelineError when the
    properties of loads are damaged, SnapshotNotFound when the snapshot expires during the call.
    """
    found = table.inspect.snapshots()
    rows = found.to_pylist()
    if not rows:
        return Account((), ())
    ledgers = [read_ledger(table, loaded, accept_gaps=True, snapshots=found) for loaded in parts or (table.name,)]
    problems = list(dict.fromkeys(ledger.lost.sentence() for ledger in ledgers if ledger.lost))
    notes = [ledger.gap for ledger in ledgers if ledger.gap]
    if rows[0]["snapshot_id"] != 1:
        notes.append(f"not compared: the rows of snapshots before {rows[0]['snapshot_id']}, which have expired")
    loads = [row for row in rows if is_load_user(row["commit_user"], table.name)]
    problems += _limited([text for row in loads if (text := _unequal(row, table))])
    others = [row for row in rows if row["delta_record_count"] and _is_other(row, table)]
    notes += _limited([_told(row) for row in others])
    problems += _sum_problems(rows)
    wrong, note = _visible(table, rows[-1])
    return Account([*problems, *wrong], [*notes, note])


def _unequal(row: Mapping[str, Any], table: Table) -> str:
    """Return a sentence when the files of a load do not have as many rows as its properties state; "" otherwise."""
    properties = dict(row["properties"] or ())
    unsaid = "" if table.schema.primary_keys else "0"  # loads of older versions do not record the merged rows
    counts = [properties.get(ROWS_WRITTEN, ""), properties.get(ROWS_MERGED, unsaid)]
    if row["commit_kind"] != "APPEND" or not all(text.isascii() and text.isdigit() for text in counts):
        return ""
    written, merged = map(int, counts)
    if row["delta_record_count"] == written - merged:
        return ""
    return (
        f"the load of snapshot {row['snapshot_id']} wrote {many(written, 'row')} and merged {merged:,}, but its files "
        f"have {row['delta_record_count']:,}"
    )


def _is_other(row: Mapping[str, Any], table: Table) -> bool:
    merges = bool(table.schema.primary_keys) and row["commit_kind"] == "COMPACT"
    return not is_load_user(row["commit_user"], table.name) and not merges


def _told(row: Mapping[str, Any]) -> str:
    return (
        f"snapshot {row['snapshot_id']} of {row['commit_user']} ({row['commit_kind']}) changed the rows in files by "
        f"{row['delta_record_count']:+,}"
    )


def _sum_problems(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each snapshot whose total of rows is not the previous total plus its change of rows."""
    problems = []
    for before, row in pairwise(rows):
        follows = row["snapshot_id"] == before["snapshot_id"] + 1
        total = before["total_record_count"] + row["delta_record_count"]
        if follows and row["total_record_count"] != total:
            problems.append(
                f"snapshot {row['snapshot_id']} has {many(row['total_record_count'], 'row')} in files, not {total:,}"
            )
    return _limited(problems)


def _visible(table: Table, latest: Mapping[str, Any]) -> tuple[list[str], str]:
    """Compare the visible rows with the rows in the files of the latest snapshot; return problems and a note."""
    total, options = latest["total_record_count"], table.options
    if table.schema.primary_keys:
        return (
            [],
            f"{many(total, 'row')} in files, not compared with the visible rows: rows with the same key are merged",
        )
    if options["data-evolution.enabled"]:
        return [], f"{many(total, 'row')} in files, not compared with the visible rows: files have some of the columns"
    visible = table.at(snapshot=latest["snapshot_id"]).with_options(ALL_ROWS).scan().count()
    if visible == total:
        return [], f"{many(total, 'row')} in files, all visible"
    if options["deletion-vectors.enabled"] and visible < total:
        return [], f"{many(total, 'row')} in files, {total - visible:,} of them deleted by deletion vectors"
    return [f"{many(visible, 'row')} are visible of {total:,} in files"], ""


def _limited(texts: Sequence[str]) -> list[str]:
    more = len(texts) - _SHOWN
    return [*texts[:_SHOWN], *([f"and {more:,} more such snapshots"] if more > 0 else [])]
