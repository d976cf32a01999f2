"""The functions merge_map and merge_map_with_keytime, which merge the entries of all maps into one map (format 9.7).

Keys are in the order in which they were first added; Java uses the order of a hash table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidOption
from paimon_core.lsm.aggregates.aggregate import Aggregate, Retracts
from paimon_core.lsm.aggregates.collections.entries import after_last, by_first, entries
from paimon_core.lsm.aggregates.collections.value_codes import Numbers, dense, is_valid, same_object
from paimon_core.lsm.aggregates.column_rules import check_names, check_options, check_type
from paimon_core.lsm.key_groups import Groups, group
from paimon_core.lsm.order_codes import order_codes
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import STRING_ROOTS, TypeRoot

_FIRST_OF_THREE_BYTES = (0xEE, 0xEF)
"""First UTF-8 bytes of the code points from U+E000 to U+FFFF, which UTF-16 orders above code points of four bytes."""


@dataclass(frozen=True, slots=True)
class MergeMap:
    """Keeps the last value, even null, of each key; a retract removes the keys of its map and ignores the values."""

    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the map of each group; null when all added maps are null."""
        found = entries(column, groups, retracts)
        same = after_last(found.same(same_object(found.keys)), found.retracted)
        return found.column(by_first(same, same.order[same.ends - 1]))


@dataclass(frozen=True, slots=True)
class MergeMapWithKeyTime:
    """Keeps, for each key, the value with the greatest time; if times are equal, the earlier value.

    The values are rows.

    ``time``: the field of these rows that contains the time as text, compared in UTF-16 order. The first map is used
    unchanged. In later maps, a null value removes its key, and a value without a time is ignored.
    """

    time: str
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the map of each group; null when all maps are null."""
        found = entries(column, groups, retracts)
        times = pc.struct_field(found.values, [self.time])
        counts = ~found.begun | ~is_valid(found.values) | is_valid(times)
        found, times = found.keep(counts), times.filter(pa.array(counts))
        ids = found.identities(same_object(found.keys))
        # Null ranks lowest, then a value without a time, then values by their time. At this point, only the first
        # map can still contain a value without a time.
        ranks = np.where(is_valid(times), 2 + _time_codes(times), is_valid(found.values).astype(np.int64))
        same = after_last(group(ids, None), found.begun & ~is_valid(found.values))
        alive = np.zeros(len(ids), np.bool_)
        alive[same.compact().order] = True
        # In reverse order, so that the earliest of several greatest values comes last.
        backwards = np.flatnonzero(alive)[::-1]
        winners = backwards[group(ids[backwards], [ranks[backwards]]).last]
        return found.column(by_first(same, winners))


def _time_codes(times: pa.Array) -> Numbers:
    """Return the times as integers in the order of their UTF-16 units, which is how Java compares text."""
    image = times.cast(pa.binary())
    text = np.frombuffer(image.buffers()[2] or b"", np.uint8)
    if (text >= 0xF0).any():
        lifted = np.where(np.isin(text, _FIRST_OF_THREE_BYTES), text | 0x10, text).astype(np.uint8)
        buffers = [*image.buffers()[:2], pa.py_buffer(lifted)]
        image = pa.Array.from_buffers(pa.binary(), len(image), buffers, offset=image.offset)
    return dense(order_codes([image]))


def merge_map(field: DataField, options: FieldOptions) -> Aggregate:
    """Return merge_map for a column of type MAP; raises InvalidOption for other types and for unknown options."""
    check_type("merge_map", field, field.type.root is TypeRoot.MAP, "MAP")
    check_options("merge_map", field, options)
    return MergeMap()


def merge_map_with_keytime(field: DataField, options: FieldOptions) -> Aggregate:
    """Return merge_map_with_keytime for a map to rows of at least two fields; by default the last field is the time.

    Raises InvalidOption, which names the column, for other types, options of other functions, and a time field that
    does not exist or is not text. Java reports the last case only during a merge.
    """
    name = "merge_map_with_keytime"
    row = field.type.children[1].type if field.type.root is TypeRoot.MAP else field.type
    is_row = row is not field.type and row.root is TypeRoot.ROW and len(row.children) >= 2
    check_type(name, field, is_row, "MAP to ROW with two fields or more")
    check_options(name, field, options, ("ts_field",))
    time = row.children[-1].name if options.ts_field is None else options.ts_field
    check_names(field, "ts-field", [time], row)
    kind = next(child.type for child in row.children if child.name == time)
    if kind.root not in STRING_ROOTS:
        raise InvalidOption(
            f"column {field.name!r}: aggregate function {name!r} takes the time as text, but field {time!r} is {kind}",
            column=field.name,
            option=f"fields.{field.name}.ts-field",
            value=time,
        )
    return MergeMapWithKeyTime(time)
