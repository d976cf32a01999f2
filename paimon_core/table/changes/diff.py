"""Diff: the difference of two versions, with a summary of the changes in each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest
from paimon_core.lsm.equality import equal_values
from paimon_core.lsm.gather import contiguous
from paimon_core.metadata.context import TableContext
from paimon_core.predicate import Where
from paimon_core.query.scan import new_scan
from paimon_core.schema import VALUE_KIND, RowKind
from paimon_core.table.changes.changes import Changes, check_columns, one_difference
from paimon_core.table.changes.difference import difference
from paimon_core.table.changes.versions import Bound, find_version


@dataclass(frozen=True, slots=True, repr=False)
class DiffSummary(Displayed):
    """The numbers of rows that differ between two versions."""

    added: int
    removed: int
    changed: int
    """The number of keys whose row differs. The number is 0 without a primary key: then a changed row counts as one
    removed and one added row."""
    columns: Mapping[str, int]
    """For each column, the number of changed rows that have another value in this column; columns without differences
    are left out.
    """

    def _summary(self) -> Summary:
        counts = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        return Summary("", (*counts, ("columns", dict(self.columns))))


@dataclass(frozen=True, repr=False)
class Diff(Changes):
    """The changes that turn the first version into the second one; the first version may be the newer one."""

    def summary(self) -> DiffSummary:
        """Count the rows and columns that differ, with all columns of the table; reads the whole difference.

        Raises InvalidRequest with ``where``, which may select only one row of a pair of -U and +U.
        """
        if self.where is not None:
            raise InvalidRequest("a summary counts whole rows: take the diff without where", table=self.context.name)
        kinds = np.zeros(4, np.int64)
        columns = dict.fromkeys(self.context.schema.names, 0)
        for segment in self.segments:
            for placed in difference(self.context, segment.before, segment.after):
                numbers = contiguous(placed.rows[VALUE_KIND]).to_numpy()
                kinds += np.bincount(numbers, minlength=4)
                # The rows of a pair are next to each other.
                before = placed.rows.filter(pc.equal(placed.rows[VALUE_KIND], RowKind.UPDATE_BEFORE.value))
                after = placed.rows.filter(pc.equal(placed.rows[VALUE_KIND], RowKind.UPDATE_AFTER.value))
                for name in columns if len(before) else ():
                    same = equal_values(contiguous(before[name]), contiguous(after[name]))
                    columns[name] += int(np.count_nonzero(~same))
        return DiffSummary(
            int(kinds[RowKind.INSERT]),
            int(kinds[RowKind.DELETE]),
            int(kinds[RowKind.UPDATE_AFTER]),
            {name: count for name, count in columns.items() if count},
        )


def diff_between(context: TableContext, a: Bound, b: Bound, columns: Sequence[str] | None, where: Where | None) -> Diff:
    """Return the difference of two versions; see ``Table.diff``."""
    check_columns(context, columns)
    scan = new_scan(context, None, columns, where, None)
    first, last = find_version(context, a, "a"), find_version(context, b, "b")
    return Diff(context, first, last, one_difference(context, first, last), scan.columns, scan.where)
