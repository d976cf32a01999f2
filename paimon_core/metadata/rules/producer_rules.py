"""Changelog producer rules: a new table may only have options that its changelog producer reads (format 10)."""

from __future__ import annotations

from paimon_core.errors import InvalidOption
from paimon_core.metadata.context import TableContext

_DEDUPLICATE = "changelog-producer.row-deduplicate"
_IGNORED = "changelog-producer.row-deduplicate-ignore-fields"
_OVERWRITES = "streaming-read-overwrite"
_COMPARING = ("lookup", "full-compaction")


def check_producer_options(context: TableContext) -> None:
    """Raise InvalidOption for an option that has no effect for the table, or that names an unknown column.

    Also raises InvalidOption for ``streaming-read-overwrite`` with the producer lookup or full-compaction.
    """
    options = context.options
    producer = options["changelog-producer"]
    if not context.is_keyed:
        for option, value in (("changelog-producer", producer != "none"), ("force-lookup", options["force-lookup"])):
            if value:
                raise InvalidOption(f"option {option} needs a table with a primary key", option=option)
    if options[_DEDUPLICATE] and producer not in _COMPARING:
        raise InvalidOption(
            f"option {_DEDUPLICATE} needs changelog-producer = {' or '.join(_COMPARING)}", option=_DEDUPLICATE
        )
    if options[_OVERWRITES] and producer in _COMPARING:
        raise InvalidOption(
            f"option {_OVERWRITES} cannot be used with changelog-producer = {producer}: a stream of Java would return "
            "the rows of an overwrite twice",
            option=_OVERWRITES,
        )
    ignored = options[_IGNORED] or ()
    if ignored and not options[_DEDUPLICATE]:
        raise InvalidOption(f"option {_IGNORED} needs {_DEDUPLICATE} = true", option=_IGNORED)
    for column in ignored:
        if column not in context.schema.by_name:
            raise InvalidOption(f"option {_IGNORED} names {column!r}, which is no column", option=_IGNORED)
