"""Function choice: creates the aggregate function of a column by its name in the options (format 9.5)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.aggregates import scalar_functions
from paimon_core.lsm.aggregates.aggregate import Aggregate, Factory, IgnoreRetract
from paimon_core.lsm.aggregates.bitmaps import sketches
from paimon_core.lsm.aggregates.collections import collection_functions
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField

FUNCTIONS: Mapping[str, Factory] = {
    **scalar_functions.FUNCTIONS,
    **collection_functions.FUNCTIONS,
    **sketches.FUNCTIONS,
}


def aggregate(function: str, field: DataField, options: FieldOptions) -> Aggregate:
    """Return the function named ``function`` for ``field``.

    Raises InvalidOption naming the column and the option for an unsupported type or option, UnsupportedFeature for an
    unknown function.
    """
    factory = FUNCTIONS.get(function)
    if factory is None:
        raise UnsupportedFeature(f"column {field.name!r}: aggregate function {function!r} is not supported")
    made = factory(field, options)
    return IgnoreRetract(made) if options.ignore_retract else made
