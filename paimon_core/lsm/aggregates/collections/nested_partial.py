"""nested_partial_update: merges the rows of an array by a nested key, field by field (format 9.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidOption
from paimon_core.lsm.aggregates.aggregate import Aggregate, Retracts
from paimon_core.lsm.aggregates.collections.entries import by_first, entries
from paimon_core.lsm.aggregates.collections.nested_key import NestedKey
from paimon_core.lsm.aggregates.collections.value_codes import is_valid
from paimon_core.lsm.aggregates.column_rules import check_names, check_options, row_of_table
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField


@dataclass(frozen=True, slots=True)
class NestedPartialUpdate:
    """Keeps, for each nested key, the last non-null value of each field; null elements are ignored.

    Rows are in the order in which their keys were first seen; Java uses the order of a hash table.
    """

    key: NestedKey
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the rows of each group; null when all arrays are null.

        Raises InvalidRequest for a null in a key if the option nested-key-null-strategy is error.
        """
        found = self.key.rows(entries(column, groups, retracts))
        same = found.same(self.key.numbers(found.values))
        firsts = by_first(same, same.first)
        row = found.values.type
        fields = []
        for child in found.values.flatten():
            places = np.where(is_valid(child)[same.order], np.arange(len(same.order)), -1)
            last = np.maximum.reduceat(places, same.starts) if len(same) else places
            chosen = np.where(last < same.starts, -1, same.order[last])
            at = by_first(same, chosen)
            fields.append(child.take(pa.array(at, mask=at < 0)))
        rows = pa.StructArray.from_arrays(fields, fields=list(row))
        return found.column(firsts, rows)


def nested_partial_update(field: DataField, options: FieldOptions) -> Aggregate:
    """Return nested_partial_update for a column of type ARRAY of ROW.

    Raises InvalidOption, which names the column, for other types, options of other functions, a missing nested-key and
    unknown fields.
    """
    name = "nested_partial_update"
    row = row_of_table(name, field)
    check_options(name, field, options, ("nested_key", "nested_key_null_strategy"))
    if not options.nested_key:
        key = f"fields.{field.name}.nested-key"
        raise InvalidOption(
            f"column {field.name!r}: aggregate function {name!r} needs option {key}", column=field.name, option=key
        )
    check_names(field, "nested-key", options.nested_key, row)
    return NestedPartialUpdate(NestedKey(field.name, options.nested_key, options.nested_key_null_strategy or "merge"))
