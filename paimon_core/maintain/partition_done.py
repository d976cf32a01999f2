"""Done marks: writes a file that states that a partition is complete (format 16.8).

The file ``_SUCCESS`` in the partition's directory stores the times at which the partition was first and last marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.errors import InvalidRequest, NotFound, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.metadata.success_file import write_success_file
from paimon_core.predicate.literal import plain_literal, storage_value

ACTION = "partition.mark-done-action"


def mark_done(context: TableContext, partitions: Sequence[Mapping[str, Any]], now_millis: int) -> tuple[str, ...]:
    """Mark each partition, given by its columns and their values, and return the paths of the files written.

    ``now_millis`` is in epoch milliseconds. All partitions are checked before the first file is written: each partition
    must have files in the latest snapshot. A partition that a concurrent commit drops afterwards is still marked.
    Raises InvalidRequest for a table without partition columns and when a value is missing or superfluous, NotFound for
    a partition that does not exist, SchemaMismatch for values that do not fit the column's type, UnsupportedFeature
    when option ``partition.mark-done-action`` has another action than ``success-file``.
    """
    if ACTION in context.options.ignored:
        raise UnsupportedFeature(
            f"table {context.name}: option {ACTION} = {context.schema.options[ACTION]!r} is not supported, only "
            "'success-file' is: the other actions need a metastore or a server",
            option=ACTION,
        )
    if not context.schema.partition_keys:
        raise InvalidRequest(f"table {context.name} has no partitions to mark", table=context.name)
    wanted = [_partition(context, spec) for spec in partitions]
    existing = {e.partition for e in latest_entries(context, frozenset(wanted))}
    for partition in wanted:
        if partition not in existing:
            name = context.partition_path(partition)
            raise NotFound(
                f"table {context.name} has no partition {name} to mark as done: its latest snapshot has no file there",
                table=context.name,
                partition=name,
            )
    paths = [context.paths.success_file(context.partition_path(p)) for p in wanted]
    for path in paths:
        write_success_file(context.storage, path, now_millis)
    return tuple(paths)


def _partition(context: TableContext, spec: Mapping[str, Any]) -> bytes:
    """Return the serialized partition of ``spec``, which has a value for each partition column."""
    fields = context.schema.partition_fields
    if not isinstance(spec, Mapping) or set(spec) != {f.name for f in fields}:
        raise InvalidRequest(
            f"table {context.name}: {spec!r:.80} is no partition: give a value for each of "
            f"{', '.join(f.name for f in fields)}, and for no other column",
            table=context.name,
        )
    values = []
    for field in fields:
        given = spec[field.name]
        value, exact = (None, True) if given is None else storage_value(plain_literal(given), field)
        if not exact:
            raise InvalidRequest(f"column {field.name!r} is {field.type} and cannot store {given!r}", column=field.name)
        values.append(value)
    return encode_row(values, [f.type for f in fields])
