"""Lookup: finds the state of a key, the row that the key had before the rows of level 0 were written (format 10.6).

In a table whose compactions use lookups, a row of a level above 0 is a *state*: it already includes the rows of its key
in all higher-numbered levels. So the row of a key is merged from its rows of level 0 and its state in the lowest level
above 0. The states in other levels are older versions and must not be merged again. The column ``LEVEL`` contains the
level of each row. A read of several files adds this column; no file contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.compaction.strategy import needs_lookup
from paimon_core.lsm.gather import Flags, Positions, contiguous, take, take_rows
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.key_words import KeyWords
from paimon_core.lsm.order_codes import Codes, order_codes
from paimon_core.options import COMBINING_ENGINES, TableOptions

LEVEL = "_LEVEL"


def holds_states(options: TableOptions) -> bool:
    """Whether merges of a table must leave out the older states of a key.

    With deduplicate and first-row this is not necessary, because these merge engines never choose an older state.
    """
    return options["merge-engine"] in COMBINING_ENGINES and needs_lookup(options)


def with_level(batch: pa.RecordBatch, level: int) -> pa.RecordBatch:
    """Return the rows of a file of ``level`` with the column ``LEVEL`` added."""
    return batch.append_column(LEVEL, pa.array(np.full(len(batch), level, np.int8)))


@dataclass(frozen=True)
class GroupLevels:
    """The levels of rows that are grouped by key: where the rows of a level are among the groups."""

    levels: npt.NDArray[np.int8]
    """The level of each row."""
    owner: npt.NDArray[np.int32]
    """The group of each row, -1 for a row of no group."""
    count: int
    """The number of groups."""

    @staticmethod
    def of(rows: pa.Table, groups: Groups) -> GroupLevels:
        """Return the levels of ``rows``, which have the column ``LEVEL``; no group may be empty."""
        owner = np.full(len(rows), -1, np.int32)
        owner[groups.versions.first] = np.arange(len(groups))
        for numbers, later in (*groups.versions.steps, groups.versions.rest):
            owner[later] = numbers
        return GroupLevels(np.asarray(contiguous(rows[LEVEL]).to_numpy()), owner, len(groups))

    @cached_property
    def states(self) -> Positions:
        """For each group the position of its row in the lowest level above 0, or -1 if all its rows are of level 0."""
        found = self._none()
        for level in range(int(self.levels.max(initial=0)), 0, -1):
            self._place(level, found)
        return found[:-1]

    def at(self, level: int) -> Positions:
        """Return for each group the position of its row in this level; -1 if it has no such row."""
        found = self._none()
        self._place(level, found)
        return found[:-1]

    def _none(self) -> Positions:
        return np.full(self.count + 1, -1, np.int64)  # the last place is that of the rows of no group

    def _place(self, level: int, found: Positions) -> None:
        rows = np.flatnonzero(self.levels == level)
        if len(rows):
            found[self.owner[rows]] = rows


def without_older_states(rows: pa.Table, groups: Groups, kept: Positions | None = None) -> Groups:
    """Return the groups without older states: of the rows from levels above 0, only the rows at ``kept`` remain.

    ``kept`` None: the states.
    """
    kept = GroupLevels.of(rows, groups).states if kept is None else kept
    counts = np.asarray(contiguous(rows[LEVEL]).to_numpy()) <= 0
    counts[kept[kept >= 0]] = True
    return groups if counts.all() else groups.where(counts)


def keys_of(rows: pa.Table, groups: Groups, chosen: Flags, key: Sequence[str]) -> pa.Table:
    """Return the ``key`` columns of the chosen groups, in key order; ``chosen`` has one boolean per group."""
    positions = groups.first[chosen]
    return pa.table({name: take(rows[name], positions) for name in key})


def places(keys: pa.Table, rows: pa.Table | pa.RecordBatch, names: Sequence[str]) -> Positions:
    """Return for each of ``rows`` the position of its key among ``keys``, or -1 if the key is not found.

    ``names`` are the key columns. The keys in ``keys`` must strictly ascend. The call is fast if those of ``rows`` do,
    too.
    """
    count = len(keys)
    both = pa.table([pa.chunked_array([contiguous(keys[n]), contiguous(rows[n])]) for n in names], list(names))
    words = KeyWords.of(both, names)
    known, asked = words.leading[:count], words.leading[count:]
    if not words.rest:
        return _found(known, asked)
    if (asked[1:] < asked[:-1]).any():
        codes = order_codes(both.columns)
        return _found(codes[:count], codes[count:])
    # A leading word that occurs once has at most one key to compare with. The few others are compared as a whole.
    found = _found(known, asked)
    hits = np.flatnonzero(found >= 0)
    for part in words.rest:
        hits = hits[part[found[hits]] == part[count + hits]]
    out = np.full(len(asked), -1, np.int64)
    out[hits] = found[hits]
    tied = np.concatenate((_repeated(known), _repeated(asked)))
    if len(tied):
        own, others = np.flatnonzero(np.isin(asked, tied)), np.flatnonzero(np.isin(known, tied))
        codes = order_codes(take_rows(both, np.concatenate((others, count + own)), names).columns)
        at = _found(codes[: len(others)], codes[len(others) :])
        out[own] = np.where(at >= 0, np.append(others, -1)[at], -1)
    return out


def _found(known: Codes, asked: Codes) -> Positions:
    """Return for each value its position in ``known``, which ascends, or -1."""
    if len(known) < len(asked) and (asked[1:] > asked[:-1]).all():  # fewer values to search for
        at = _found(asked, known)
        found = np.full(len(asked), -1, np.int64)
        hits = np.flatnonzero(at >= 0)
        found[at[hits]] = hits
        return found
    at = np.searchsorted(known, asked)
    hit = at < len(known)
    hit[hit] = known[at[hit]] == asked[hit]
    return np.where(hit, at, -1)


def _repeated(values: Codes) -> Codes:
    """Return the values that are equal to the value before them."""
    return np.asarray(values[1:][values[1:] == values[:-1]])
