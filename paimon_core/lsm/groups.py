"""Groups: the rows of a table arranged by key, and by merge order within each key; nothing is copied yet.

``group`` sorts once by key, stably. Rows that are given as presorted runs in arrival order need little more: the sort
then merges the runs, and only keys whose rows are out of merge order are sorted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.codes import Codes, order_codes
from paimon_core.lsm.gather import Positions


@dataclass(frozen=True)
class Groups:
    """Row positions in key order; group g holds ``order[starts[g]:ends[g]]``, first to last in merge order."""

    order: Positions
    starts: Positions
    ends: Positions

    @cached_property
    def last(self) -> Positions:
        """The row that comes last in each group, in key order."""
        return self.order[self.ends - 1]

    def keep(self, groups: npt.NDArray[np.bool_]) -> Groups:
        """The groups chosen by one boolean per group."""
        return Groups(self.order, self.starts[groups], self.ends[groups])


def key_codes(rows: pa.Table, key: Sequence[str]) -> Codes:
    """The order codes of the key columns (format 7.3)."""
    return order_codes([rows[name] for name in key])


def group(keys: Codes, ranks: Codes | None) -> Groups:
    """Arrange rows by their key codes and, within a key, by ``ranks``; None: the rows come in merge order already.

    Rows of equal key and rank stay in the order given.
    """
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    opens = in_order[1:] != in_order[:-1]
    if ranks is not None:
        order = _settle(order, opens, ranks)
    ends = np.append(np.flatnonzero(opens) + 1, len(keys)) if len(keys) else np.zeros(0, np.int64)
    return Groups(order, np.append(np.zeros(min(1, len(keys)), np.int64), ends[:-1]), ends)


def _settle(order: Positions, opens: npt.NDArray[np.bool_], ranks: Codes) -> Positions:
    """Sort again the rows of those groups in which a rank falls."""
    by_key = ranks[order]
    falls = (by_key[1:] < by_key[:-1]) & ~opens
    if not falls.any():
        return order
    group_of = np.append(np.zeros(1, np.int64), np.cumsum(opens))
    wrong = np.zeros(int(group_of[-1]) + 1, np.bool_)
    wrong[group_of[1:][falls]] = True
    rows = np.flatnonzero(wrong[group_of])
    settled = order.copy()
    settled[rows] = order[rows[np.lexsort((by_key[rows], group_of[rows]))]]
    return settled
