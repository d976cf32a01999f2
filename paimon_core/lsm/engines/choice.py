"""merge_engine: the engine that a table's options choose, checked against its schema."""

from __future__ import annotations

from dataclasses import replace

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.engines.aggregation import Aggregation
from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.engines.first_row import FirstRow
from paimon_core.lsm.engines.partial_update_rules import partial_update
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema
from paimon_core.types import NESTED_ROOTS


def merge_engine(schema: TableSchema, options: TableOptions, *, merges_lone: bool = False) -> MergeEngine:
    """The merge engine of a table with a primary key (option ``merge-engine``).

    ``merges_lone``: without the single-record rule, as compactions with lookups merge (format 10.6): a lone row passes
    through the engine's rules as well. To deduplicate and first-row it is all the same.

    Raises InvalidRequest naming the option and the column for options that do not fit the schema or each other,
    UnsupportedFeature for what is not built.
    """
    for field in schema.select(options["sequence.field"] or ()):
        if field.type.root in NESTED_ROOTS:
            raise UnsupportedFeature(
                f"option sequence.field names {field.name!r}, which is {field.type}: it gives rows no order here",
                option="sequence.field",
                column=field.name,
            )
    name = options["merge-engine"]
    if name == "deduplicate":
        return Deduplicate(options["ignore-delete"])
    if name == "first-row":
        return FirstRow.of(options)
    if name == "aggregation":
        return replace(Aggregation.of(schema, options), merges_lone=merges_lone)
    if name == "partial-update":
        return replace(partial_update(schema, options), merges_lone=merges_lone)
    raise UnsupportedFeature(f"option merge-engine = {name!r} is not supported", option="merge-engine", value=name)
