"""collect: joins all arrays into one, optionally without duplicate elements (format 9.7).

For each element of a retract, the earliest equal element is removed from the array; an element that is not in the array
is ignored. Distinct elements are in the order in which they were first seen; Java uses the order of a hash table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Aggregate, Retracts
from paimon_core.lsm.aggregates.collections.entries import Entries, after_last, by_first, entries
from paimon_core.lsm.aggregates.collections.value_codes import Numbers, is_valid, same_object, same_row
from paimon_core.lsm.aggregates.column_rules import check_options, check_type
from paimon_core.lsm.gather import Flags, Positions
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import TypeRoot


@dataclass(frozen=True, slots=True)
class Collect:
    """The function collect. ``distinct``: each element occurs only once in the result."""

    distinct: bool = False
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the array of each group; null when all added arrays are null."""
        found = entries(column, groups, retracts)
        if self.distinct:
            same = after_last(found.same(_equality_of_sets(found.values)), found.retracted)
            return found.column(by_first(same, same.first))
        if not found.retracted.any():
            return found.column(np.arange(len(found.values)))
        return found.column(np.flatnonzero(_left(found)))


def _left(found: Entries) -> Flags:
    """Return whether each entry is added and not retracted later.

    For each element, the entries of equal elements are counted: an add is +1, a retract is -1, and the count never
    falls below zero. The final count is the number of remaining entries. The entries that were added last remain,
    because a retract removes the earliest one.
    """
    same = found.same(_equality_of_lists(found.values))
    adds = ~found.retracted[same.order]
    balance = np.cumsum(np.where(adds, 1, -1))
    balance -= np.repeat(balance[same.starts] - np.where(adds[same.starts], 1, -1), same.lengths)
    left = balance[same.ends - 1] - np.minimum(np.minimum.reduceat(balance, same.starts), 0) if len(same) else balance
    added: Positions = np.cumsum(adds)
    from_end = np.repeat(added[same.ends - 1], same.lengths) - added
    stays = np.zeros(len(adds), np.bool_)
    stays[same.order] = adds & (from_end < np.repeat(left, same.lengths))
    return stays


def _equality_of_sets(elements: pa.Array) -> Numbers:
    return same_row(elements) if pa.types.is_nested(elements.type) else same_object(elements)


def _equality_of_lists(elements: pa.Array) -> Numbers:
    """Return one number per element; elements that are equal as objects have equal numbers.

    As in Java, two byte strings are never equal, so a retract removes no byte string.
    """
    if not pa.types.is_binary(elements.type):
        return same_object(elements)
    return np.where(is_valid(elements), np.arange(len(elements)) + 1, 0)


def collect(field: DataField, options: FieldOptions) -> Aggregate:
    """Return collect for a column of type ARRAY; raises InvalidOption for other types and for unknown options."""
    check_type("collect", field, field.type.root is TypeRoot.ARRAY, "ARRAY")
    check_options("collect", field, options, ("distinct",))
    return Collect(options.distinct)
