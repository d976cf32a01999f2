"""merge_engine: the engine that a table's options choose, checked against its schema."""

from __future__ import annotations

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema


def merge_engine(schema: TableSchema, options: TableOptions) -> MergeEngine:
    """The merge engine of a table with a primary key (option ``merge-engine``).

    Raises InvalidRequest naming the option and the column for options that do not fit the schema or each other,
    UnsupportedFeature for what is not built.
    """
    name = options["merge-engine"]
    if name == "deduplicate":
        return Deduplicate(options["ignore-delete"])
    raise UnsupportedFeature(f"option merge-engine = {name!r} is not supported", option="merge-engine", value=name)
