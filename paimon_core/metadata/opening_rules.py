"""Opening rules: what the keys and options of an existing table together allow when it is opened."""

from __future__ import annotations

from dataclasses import replace

from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema


def opened_options(schema: TableSchema, *, table: str) -> TableOptions:
    """Return the options of an existing table; ``unwritable`` also names the dynamic buckets of a primary-key table.

    Raises UnsupportedFeature for an option that could change what a read returns.
    """
    options = TableOptions.parse(schema.options, table=table)
    if schema.primary_keys and options["bucket"] == -1:
        dynamic = "bucket=-1 with a primary key (dynamic bucket)"
        return replace(options, unwritable=(dynamic, *options.unwritable))
    return options
