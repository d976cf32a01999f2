"""Merge engine rules: a new table may only have options that its merge engine reads (format 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from paimon_core.errors import InvalidOption, InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.options import COMBINING_ENGINES, FieldOptions
from paimon_core.options.known.columns import DEFAULT_FUNCTION

_ENGINE = {
    "aggregation.remove-record-on-delete": "aggregation",
    "partial-update.remove-record-on-delete": "partial-update",
    "partial-update.remove-record-on-sequence-group": "partial-update",
}


def check_engine_options(context: TableContext) -> None:
    """Raise InvalidOption for an option that has no effect for the table's merge engine, or for a key column.

    Also raises InvalidOption for a ``remove-record-on-*`` option together with ``ignore-delete``.
    """
    options, engine = context.options, context.options["merge-engine"]
    if not context.is_keyed:
        engine = None
        if "merge-engine" in options.values:
            raise InvalidOption("option merge-engine needs a table with a primary key", option="merge-engine")
    for option, needed in _ENGINE.items():
        if option in options.values and engine != needed:
            raise InvalidOption(f"option {option} needs merge-engine = {needed}", option=option)
        if options["ignore-delete"] and option in options.values and options[option]:
            raise InvalidOption(f"options {option} and ignore-delete exclude each other", option=option)
    if options.sequence_groups and engine != "partial-update":
        option = options.sequence_groups[0].key
        raise InvalidOption(f"option {option} needs merge-engine = partial-update", option=option)
    for column, chosen in options.fields.items():
        for what in _of_engines(chosen):
            option = f"fields.{column}.{what}" if column else DEFAULT_FUNCTION
            if engine not in COMBINING_ENGINES:
                raise InvalidOption(
                    f"option {option} needs a primary key and merge-engine = {' or '.join(COMBINING_ENGINES)}",
                    option=option,
                )
            if column in context.schema.primary_keys:
                raise InvalidOption(
                    f"option {option} is not allowed: {column!r} is a primary key column", option=option, column=column
                )


def check_deletes(context: TableContext) -> None:
    """Raise InvalidRequest, naming the option to set, unless a -D row deletes the row of its key (format 9.1)."""
    options, engine = context.options, context.options["merge-engine"]
    removing = [option for option, of_engine in _ENGINE.items() if of_engine == engine]
    if engine == "deduplicate" or any(options[option] for option in removing):
        return
    raise InvalidRequest(
        f"table {context.name} has merge-engine = {engine}: a delete would not remove its rows"
        + (f" without the option {' or '.join(removing)}" if removing else ""),
        table=context.name,
    )


def _of_engines(chosen: FieldOptions) -> Iterator[str]:
    """Yield the last part of the name of each column option that is set and that a merge engine reads."""
    for name in (f.name for f in fields(chosen) if f.name != "stats_mode"):
        if getattr(chosen, name) not in (None, False):
            yield name.replace("_", "-")
