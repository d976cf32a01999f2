"""Opening rules: what the keys and options of an existing table together allow when it is opened."""

from __future__ import annotations

from dataclasses import replace

from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema


def opened_options(schema: TableSchema, *, table: str) -> TableOptions:
    """Return the options of an existing table; ``unwritable`` also names what is not written with a primary key.

    Raises UnsupportedFeature for an option that could change what a read returns.
    """
    options = TableOptions.parse(schema.options, table=table)
    refused = []
    if schema.primary_keys and options["bucket"] == -1:
        refused.append("bucket=-1 with a primary key (dynamic bucket)")
    if schema.primary_keys and options["deletion-vectors.enabled"]:
        refused.append("deletion-vectors.enabled=true with a primary key")
    return replace(options, unwritable=(*refused, *options.unwritable)) if refused else options
