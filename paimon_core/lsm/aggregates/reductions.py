"""Reductions: combines the values of each group from its first to its last row by an operation of numpy (format 9.5).

Values are read when they are combined, so no copy of the column in the order of the groups is made. A group of one row
has the value that is read, with all its bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paimon_core.lsm.aggregates.values import Numbers, Valid
from paimon_core.lsm.gather import Flags, Positions, taken
from paimon_core.lsm.key_groups import Groups

Read = Callable[[Positions], Numbers]
"""Returns the values of rows in an array of its own; arbitrary values for nulls."""
Tidy = Callable[[Numbers], Numbers]
"""Returns results in the form in which they are stored."""


def reduced(
    operation: np.ufunc, read: Read, groups: Groups, valid: Flags | None, tidy: Tidy | None = None
) -> tuple[Numbers, Valid | None]:
    """Return (results, valid): one value per group, arbitrary for null, and which are not null; None: all are.

    ``valid``: one boolean per row, false for null; None: no value is null. Nulls are left out, and a group without
    other values is null. Errors of floats, such as overflows, are ordinary results. ``tidy`` is applied to what the
    operation returns for two values, but not to a single value.
    """
    if not groups.has_empty:
        with np.errstate(all="ignore"):
            return _of_filled(operation, read, groups, valid, tidy)
    filled = groups.lengths > 0
    some, found = reduced(operation, read, groups.keep(filled), valid, tidy)
    results = np.zeros(len(groups), some.dtype)
    results[filled] = some
    known = filled.copy()
    if found is not None:
        known[filled] = found
    return results, known


def _of_filled(
    operation: np.ufunc, read: Read, groups: Groups, valid: Flags | None, tidy: Tidy | None
) -> tuple[Numbers, Valid | None]:
    versions = groups.versions
    results = read(versions.first)
    known = None if valid is None else valid[versions.first]
    for numbers, rows in versions.steps:
        if valid is not None and known is not None:
            counts = np.flatnonzero(valid[rows])
            numbers, rows = numbers[counts], rows[counts]
        values = read(rows)
        combined = operation(earlier := taken(results, numbers), values, out=earlier)
        combined = combined if tidy is None else tidy(combined)
        if known is not None:
            combined = np.where(known[numbers], combined, values)
            known[numbers] = True
        results[numbers] = combined
    numbers, rows = versions.rest
    if valid is not None and known is not None:
        numbers, rows = numbers[valid[rows]], rows[valid[rows]]
        begins = np.flatnonzero(~known[numbers] & np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
        results[numbers[begins]] = read(rows[begins])
        known[numbers[begins]] = True
        numbers, rows = np.delete(numbers, begins), np.delete(rows, begins)
    operation.at(results, numbers, read(rows))
    if tidy is not None:
        results[numbers] = tidy(results[numbers])
    return results, known
