"""Marking partitions done: a file that tells others that a partition is complete (format 16.8).

The file ``_SUCCESS`` in the partition's directory says when it was first marked, and when last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_core.codec.partition_text import partition_values
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.success_file import write_success_file
from paimon_core.predicate.literal import plain_literal, storage_value
from paimon_core.storage.paths import partition_path

ACTION = "partition.mark-done-action"


def mark_done(context: TableContext, partitions: Sequence[Mapping[str, Any]], now_millis: int) -> tuple[str, ...]:
    """Mark each partition, given by its columns and their values; the files written.

    A partition need not hold rows. Raises InvalidRequest for what names no whole partition, SchemaMismatch for values
    that do not fit, UnsupportedFeature for an option ``partition.mark-done-action`` that needs a metastore.
    """
    if ACTION in context.options.ignored:
        raise UnsupportedFeature(
            f"table {context.name}: option {ACTION} = {context.schema.options[ACTION]!r} is not supported, only "
            "'success-file' is: the others tell a metastore or a server",
            option=ACTION,
        )
    if not context.schema.partition_keys:
        raise InvalidRequest(f"table {context.name} has no partitions to mark", table=context.name)
    paths = [context.paths.success_file(_directory(context, spec)) for spec in partitions]
    for path in paths:
        write_success_file(context.storage, path, now_millis)
    return tuple(paths)


def _directory(context: TableContext, spec: Mapping[str, Any]) -> str:
    fields = context.schema.partition_fields
    if not isinstance(spec, Mapping) or set(spec) != {f.name for f in fields}:
        raise InvalidRequest(
            f"table {context.name}: {spec!r:.80} is no partition, which has a value for each of "
            f"{', '.join(f.name for f in fields)}",
            table=context.name,
        )
    values = []
    for field in fields:
        given = spec[field.name]
        value, exact = (None, True) if given is None else storage_value(plain_literal(given), field)
        if not exact:
            raise InvalidRequest(
                f"column {field.name!r} is {field.type} and does not hold {given!r}", column=field.name
            )
        values.append(value)
    texts = partition_values(
        values,
        [f.type for f in fields],
        legacy=context.options["partition.legacy-name"],
        default_name=context.options["partition.default-name"],
    )
    return partition_path(tuple(f.name for f in fields), texts)
