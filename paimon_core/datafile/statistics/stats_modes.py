"""Statistics modes: decides which statistics a file's columns have: none, counts, truncate(n) or full (format 4.5).

The rules are the same as in Java, so that a manifest has the same statistics whichever library wrote the file. If an
option sets the mode of a column, this mode is used. Otherwise, a column after the first n columns (option
metadata.stats-keep-first-n-columns) has no statistics, and the first n columns have the mode of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paimon_core.datafile.file_plan import FilePlan
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import NESTED_ROOTS

KEY_STATS_MODE = "truncate(128)"
"""The mode of key statistics in Parquet and ORC files, independent of the table's options for value columns."""
NO_STATS = "none"
_WITHOUT_BOUNDS = frozenset({NO_STATS, "counts"})
_SYSTEM_COLUMNS = 2
"""The columns between the key and the value of a file: sequence number and row kind."""


def has_bounds(mode: str) -> bool:
    """Whether the mode stores minima and maxima."""
    return mode not in _WITHOUT_BOUNDS


def key_modes(schema: TableSchema, options: TableOptions, plan: FilePlan) -> list[str]:
    """Return the mode of each key column; in Avro files keys have the mode of value columns."""
    keys = schema.key_fields
    if plan.format != "avro":
        return [KEY_STATS_MODE] * len(keys)
    return _modes(keys, plan.stats_mode, {}, options["metadata.stats-keep-first-n-columns"], 0)


def value_modes(schema: TableSchema, options: TableOptions, plan: FilePlan) -> list[str]:
    """Return the mode of each value column.

    In Avro files of a table with a primary key, the first n columns include the key and system columns. The mode of a
    level applies only to tables with a primary key. Nested columns have no statistics in Parquet files.
    """
    keys = schema.key_fields
    own = {name: f.stats_mode for name, f in options.fields.items() if f.stats_mode}
    default = plan.stats_mode if keys else options["metadata.stats-mode"]
    before = len(keys) + _SYSTEM_COLUMNS if keys and plan.format == "avro" else 0
    modes = _modes(schema.fields, default, own, options["metadata.stats-keep-first-n-columns"], before)
    if plan.format != "parquet":
        return modes
    return [NO_STATS if f.type.root in NESTED_ROOTS else mode for f, mode in zip(schema.fields, modes, strict=True)]


def _modes(fields: Sequence[DataField], default: str, own: Mapping[str, str], first: int, before: int) -> list[str]:
    """Return the mode of each column.

    ``before``: the number of columns that are counted before ``fields``. ``first`` -1 means all columns.
    """
    return [
        own.get(f.name) or (default if first < 0 or at < first else NO_STATS) for at, f in enumerate(fields, before)
    ]
