"""Row groups: the key range of each row group of a sorted file, from the statistics in its footer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paimon_core.datafile.formats import format_of
from paimon_core.datafile.parquet.checked_footer import read_checked
from paimon_core.datafile.parquet.stored_bounds import stored_value
from paimon_core.datafile.reading.reader import opened
from paimon_core.schema import KEY_PREFIX, DataField
from paimon_core.storage.storage import Storage
from paimon_core.types import BINARY_ROOTS, DataType


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The minimum and maximum key of a row group, as storage values of the first key columns; () when unknown.

    Every column in the range except the last one is constant in the row group.
    """

    low: tuple[Any, ...] = ()
    high: tuple[Any, ...] = ()


def row_group_keys(storage: Storage, path: str, key_fields: Sequence[DataField]) -> list[KeyRange]:
    """Return the key range of each row group of the file at ``path``, which is sorted by ``key_fields``.

    For a format other than Parquet, the file is returned as one row group with an unknown key range. Statistics are
    stored by column, so the statistics of a column bound the key only if the columns before it are constant. Raises
    CorruptTable for a file that is missing or not a valid Parquet file, StorageError when the store fails.
    """
    if format_of(path) != "parquet":
        return [KeyRange()]
    with opened(storage, path) as source:
        footer = read_checked(source)
        ranges = [KeyRange()] * len(footer.row_groups)
        is_open = [True] * len(ranges)
        for field in key_fields:
            # A file may have no key columns (option data-file.thin-mode).
            name = field.name if field.name in footer.schema.leaves else field.name.removeprefix(KEY_PREFIX)
            for at, (minimum, maximum, nulls) in enumerate(footer.bounds(name)):
                low, high = (_value(raw, field.type) if nulls == 0 else None for raw in (minimum, maximum))
                is_open[at] = is_open[at] and low is not None and high is not None
                if is_open[at]:
                    ranges[at] = KeyRange((*ranges[at].low, low), (*ranges[at].high, high))
                    is_open[at] = low == high
        return ranges


def _value(raw: Any, dtype: DataType) -> Any:
    """Return a footer's value as a storage value; None when unknown.

    The result is also None for types that Paimon and Parquet order differently, and for text cut inside a character.
    """
    return None if isinstance(raw, float) or dtype.root in BINARY_ROOTS else stored_value(raw, dtype)
