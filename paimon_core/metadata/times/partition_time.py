"""The time of a partition, computed from its values, and the expiry of partitions by this time (format 16.3)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.times.java_time_format import DEFAULT, LocalTime, time_format
from paimon_core.types import BINARY_ROOTS

PATTERN, FORMATTER = "partition.timestamp-pattern", "partition.timestamp-formatter"
LIFETIME, STRATEGY = "partition.expiration-time", "partition.expiration-strategy"
BY_VALUE = "values-time"


@dataclass(frozen=True)
class PartitionTime:
    """Computes the time of a partition by the option ``partition.timestamp-pattern``.

    Without this option, the time is the value of the first partition column.
    """

    context: TableContext

    def time_of(self, partition: bytes) -> tuple[LocalTime | None, str]:
        """Return the time of a serialized partition and "", or None and a text with the reason.

        A null has no time, and a text that does not fit the format has no time. The text of a date or timestamp is
        Java's internal value: a DATE is its number of days. Raises InvalidOption or UnsupportedFeature for a formatter
        that is not supported.
        """
        options = self.context.options
        formatter = options[FORMATTER]
        read = DEFAULT if formatter is None else time_format(formatter)
        text = self._text(partition)
        if text is None:
            return None, "a null value has no time"
        found = read.read(text)
        asked = "yyyy-M-d[ H:m:s]" if formatter is None else formatter
        return found, "" if found else f"{text!r:.80} is not a time of the form {asked!r}"

    def _text(self, partition: bytes) -> str | None:
        pattern: str | None = self.context.options[PATTERN]
        fields = self.context.schema.partition_fields
        values = decode_row(partition, [f.type for f in fields])
        if pattern is None:
            return None if values[0] is None else self._inner_text(values, 0)
        names = sorted(range(len(fields)), key=lambda i: -len(fields[i].name))
        out, at = [], 0
        while at < len(pattern):
            # The column with the longest name is tried first: $dt1 is column dt1, not column dt and the digit 1.
            column = next((i for i in names if pattern.startswith(f"${fields[i].name}", at)), None)
            if column is None:
                out.append(pattern[at])
                at += 1
                continue
            if values[column] is None:
                return None
            out.append(self._inner_text(values, column))
            at += 1 + len(fields[column].name)
        return "".join(out)

    def _inner_text(self, values: Sequence[Any], column: int) -> str:
        dtype = self.context.schema.partition_fields[column].type
        if isinstance(values[column], str):
            return str(values[column])
        if dtype.root in BINARY_ROOTS:
            return ""
        return partition_values([values[column]], [dtype], legacy=True, default_name="")[0]


def local_nanos(epoch_millis: int) -> int:
    """Convert epoch milliseconds to local wall clock time, as nanoseconds since 1970-01-01 00:00 local time."""
    return (epoch_millis + time.localtime(epoch_millis // 1000).tm_gmtoff * 1000) * 1_000_000


def is_expired_by_value(context: TableContext, partition: bytes, now_millis: int) -> bool:
    """Whether this partition has expired by its values (format 14.3); False for a table without this kind of expiry."""
    lifetime = context.options[LIFETIME]
    if lifetime is None or context.options[STRATEGY] != BY_VALUE or not context.schema.partition_keys:
        return False
    try:
        time_found, _ = PartitionTime(context).time_of(partition)
    except InvalidRequest:
        return False
    return time_found is not None and time_found.total_nanos < local_nanos(now_millis) - lifetime * 1_000_000


def check_partition_expiry(context: TableContext) -> None:
    """Check the options of partition expiry of a new table; raises InvalidRequest naming the option.

    The table must have partitions and ``partition.expiration-time``, the formatter must be supported, and the pattern
    must name a partition column.
    """
    options, keys = context.options, context.schema.partition_keys
    given = [o for o in options.values if o.startswith("partition.expiration") or o in (PATTERN, FORMATTER)]
    if given and not keys:
        raise InvalidRequest(f"option {given[0]} needs a table with partitions", option=given[0])
    if (given or options["end-input.check-partition-expire"]) and options[LIFETIME] is None:
        raise InvalidRequest(
            f"option {(*given, 'end-input.check-partition-expire')[0]} needs the option {LIFETIME}", option=LIFETIME
        )
    if options[FORMATTER] is not None:
        time_format(options[FORMATTER])
    pattern = options[PATTERN]
    if pattern is not None and not any(f"${key}" in pattern for key in keys):
        raise InvalidRequest(
            f"option {PATTERN} = {pattern!r} names no partition column (there are: {', '.join(keys)})", option=PATTERN
        )
