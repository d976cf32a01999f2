"""Engine choice: creates the merge engine that a table's options choose and checks it against the schema.

Only the module of this engine is imported.
"""

from __future__ import annotations

from dataclasses import replace

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema
from paimon_core.types import NESTED_ROOTS


def merge_engine(schema: TableSchema, options: TableOptions, *, merges_single_rows: bool = False) -> MergeEngine:
    """Return the merge engine of a table with a primary key (option ``merge-engine``).

    ``merges_single_rows``: the engine's rules also apply to a key with a single row, as in compactions with lookups
    (format 10.6). For deduplicate and first-row this makes no difference.

    Raises InvalidRequest naming the option and the column for options that do not fit the schema or each other,
    UnsupportedFeature for features that are not supported.
    """
    for field in schema.select(options["sequence.field"] or ()):
        if field.type.root in NESTED_ROOTS:
            raise UnsupportedFeature(
                f"option sequence.field names {field.name!r}, which is {field.type}: its values cannot be ordered",
                option="sequence.field",
                column=field.name,
            )
    name = options["merge-engine"]
    if name == "deduplicate":
        return Deduplicate(options["ignore-delete"])
    if name == "first-row":
        from paimon_core.lsm.engines.first_row import FirstRow

        return FirstRow.of(options)
    if name == "aggregation":
        from paimon_core.lsm.engines.aggregation import Aggregation

        return replace(Aggregation.of(schema, options), merges_single_rows=merges_single_rows)
    if name == "partial-update":
        from paimon_core.lsm.engines.partial_update_rules import partial_update

        return replace(partial_update(schema, options), merges_single_rows=merges_single_rows)
    raise UnsupportedFeature(f"option merge-engine = {name!r} is not supported", option="merge-engine", value=name)
