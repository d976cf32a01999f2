"""Opening rules: the options of an opened table, and the options with which this library does not write to a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from paimon_core.codec.binary_row.bucket_function import function_problem
from paimon_core.options import TableOptions
from paimon_core.options.scan_position import OTHER_BRANCHES
from paimon_core.schema import TableSchema

_CROSS_PARTITION = "a primary key without the partition keys (cross-partition upsert)"


def against_vectors(options: TableOptions) -> list[str]:
    """Return the options that tables with a primary key and deletion vectors cannot have; Java refuses them as well.

    The merge engine first-row never deletes an older row. The changelog producer full-compaction compares the last
    level before and after a compaction, but deletion vectors delete rows of the last level earlier, when rows of lower
    levels replace these rows.
    """
    found = []
    if options["merge-engine"] == "first-row":
        found.append("merge-engine=first-row")
    if options["changelog-producer"] == "full-compaction":
        found.append("changelog-producer=full-compaction")
    return found


def against_cross_partition(options: TableOptions) -> list[str]:
    """Return the options because of which this library does not write to a table with cross-partition upsert.

    With ``cross-partition-upsert.index-ttl`` the key index would lose keys. With ``sequence.field`` or
    ``ignore-delete``, the delete of a key in its old partition would have no effect.
    """
    found = [option for option in ("cross-partition-upsert.index-ttl", "sequence.field") if option in options.uses]
    if options["merge-engine"] == "deduplicate" and options["ignore-delete"]:
        found.append("ignore-delete=true")
    return found


def opened_options(
    schema: TableSchema, dynamic: Mapping[str, str | None] = MappingProxyType({}), *, table: str
) -> TableOptions:
    """Return the options of an existing table; their ``unwritable`` names all reasons not to write to the table.

    ``dynamic`` options replace the options of the schema; None removes an option. Raises UnsupportedFeature for an
    unsupported option that could change the result of a read.
    """
    merged: dict[str, str | None] = {**schema.options, **dynamic}
    options = TableOptions.parse({k: text for k, text in merged.items() if text is not None}, table=table)
    refused = []
    if schema.is_cross_partition and options["bucket"] == -1:
        refused += [f"{option} with {_CROSS_PARTITION}" for option in against_cross_partition(options)]
    if options["bucket"] == -2 and not schema.primary_keys:
        refused.append("bucket=-2 without a primary key")
    if options["row-tracking.enabled"] and (schema.primary_keys or options["bucket"] != -1):
        refused.append(
            "row-tracking.enabled=true with " + ("a primary key" if schema.primary_keys else "fixed buckets")
        )
    if schema.primary_keys and options["clustering.incremental"]:
        refused.append("clustering.incremental=true with a primary key")
    if options["data-evolution.enabled"]:
        refused.append("data-evolution.enabled=true")
    refused += [option for option in OTHER_BRANCHES if options[option] is not None]
    hashed = options["bucket"] > 0 or (options["bucket"] == -2 and schema.primary_keys)
    keys = (options["bucket-key"] or schema.trimmed_primary_keys) if hashed else ()
    function = options["bucket-function.type"]
    if problem := function_problem(function, [schema.by_name[k].type for k in keys if k in schema.by_name]):
        refused.append(f"bucket-function.type={function}, which {problem}")
    if schema.primary_keys and options["deletion-vectors.enabled"]:
        refused += [f"{option} with deletion-vectors.enabled=true" for option in against_vectors(options)]
    return replace(options, unwritable=(*refused, *options.unwritable)) if refused else options
