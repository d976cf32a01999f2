"""Opening rules: what the keys and options of an existing table together allow when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema


def opened_options(
    schema: TableSchema, dynamic: Mapping[str, str | None] = MappingProxyType({}), *, table: str
) -> TableOptions:
    """Return the options of an existing table; ``unwritable`` also names the dynamic buckets of a primary-key table.

    ``dynamic`` is laid over the options of the schema; None removes one. Raises UnsupportedFeature for an option that
    could change what a read returns.
    """
    merged: dict[str, str | None] = {**schema.options, **dynamic}
    options = TableOptions.parse({k: text for k, text in merged.items() if text is not None}, table=table)
    if schema.primary_keys and options["bucket"] == -1:
        reason = "bucket=-1 with a primary key (dynamic bucket)"
        return replace(options, unwritable=(reason, *options.unwritable))
    return options
