"""Clustering rules: checks of the options of incremental clustering for a new table."""

from __future__ import annotations

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.types import NESTED_ROOTS

_SWITCH = "clustering.incremental"


def check_clustering(context: TableContext) -> None:
    """Raise InvalidRequest, naming the option, for a table with ``clustering.incremental`` that cannot be clustered."""
    options = context.options
    if not options[_SWITCH]:
        return
    if context.is_keyed:
        raise _refused(_SWITCH, "cannot be used with a primary key")
    if context.has_buckets and options["bucket-append-ordered"]:
        raise _refused("bucket-append-ordered", f"must be false for {_SWITCH} with bucket = N")
    if context.has_buckets and options["deletion-vectors.enabled"]:
        raise _refused("deletion-vectors.enabled", f"cannot be used with {_SWITCH} and bucket = N")
    _check_columns(context)


def _check_columns(context: TableContext) -> None:
    option, schema = "clustering.columns", context.schema
    columns: tuple[str, ...] = context.options[option]
    if not columns:
        raise _refused(option, f"must name a column for {_SWITCH}")
    for name in columns:
        if name not in schema.by_name:
            problem = "is no column"
        elif name in schema.partition_keys:
            problem = "is a partition column"
        elif schema.by_name[name].type.root in NESTED_ROOTS:
            problem = f"is {schema.by_name[name].type}, by which rows cannot be sorted"
        elif columns.count(name) > 1:
            problem = "occurs twice"
        else:
            continue
        raise _refused(option, f"names {name!r}, which {problem}")
    if context.options["clustering.strategy"] == "hilbert" and len(columns) == 1:
        raise _refused(option, "needs at least two columns for clustering.strategy = hilbert")


def _refused(option: str, rule: str) -> InvalidRequest:
    return InvalidRequest(f"option {option} {rule}", option=option)
