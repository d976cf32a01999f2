"""Partial update rules: checks the options of a partial-update table and creates its engine (format 9.4)."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.lsm.engines.late_rows import late
from paimon_core.lsm.engines.ordered_columns import Function
from paimon_core.lsm.engines.partial_update import PartialUpdate
from paimon_core.options import FieldOptions, SequenceGroup, TableOptions
from paimon_core.schema import TableSchema

ON_DELETE = "partial-update.remove-record-on-delete"
ON_SEQUENCE_GROUP = "partial-update.remove-record-on-sequence-group"
_NO_GROUP_NEEDED = "last_non_null_value"


def partial_update(schema: TableSchema, options: TableOptions) -> PartialUpdate:
    """Return the engine of a table; raises InvalidRequest naming the option, the column and the violated rule."""
    for group in options.sequence_groups:
        _check_group(schema, group)
    _check_once(options.sequence_groups)
    _check_removal(options)
    functions = {}
    for name in schema.names:
        made = _function(schema, options, name)
        if made is not None:
            functions[name] = made
    listed = set(options[ON_SEQUENCE_GROUP] or ())
    values = frozenset(schema.names) - set(schema.primary_keys)
    return PartialUpdate(
        columns=values,
        required=frozenset(name for name in values if not schema.by_name[name].type.nullable),
        groups=options.sequence_groups,
        functions=functions,
        ignore_delete=options["ignore-delete"],
        remove_on_delete=options[ON_DELETE],
        removing=tuple(g.ordering for g in options.sequence_groups if listed & {*g.ordering}),
    )


def _check_group(schema: TableSchema, group: SequenceGroup) -> None:
    option = group.key
    for name in (*group.ordering, *group.protected):
        if name not in schema.by_name:
            raise InvalidRequest(f"option {option} names {name!r}, which is no column", option=option, column=name)
        if name in schema.primary_keys:
            raise InvalidRequest(
                f"option {option} names {name!r}: a column of the primary key cannot be in a sequence group",
                option=option,
                column=name,
            )
    for name in group.ordering:
        if pa.types.is_nested(schema.by_name[name].type.to_arrow()):
            raise InvalidRequest(
                f"option {option} orders by {name!r}, which is {schema.by_name[name].type} and cannot be ordered",
                option=option,
                column=name,
            )


def _check_once(groups: tuple[SequenceGroup, ...]) -> None:
    """Check that a column is in at most one group, and only once.

    An ordering column may also be protected by its group.
    """
    seen: dict[str, str] = {}
    for group in groups:
        option = group.key
        for names in (group.ordering, group.protected):
            for name in names:
                if names.count(name) > 1 or seen.get(name, option) != option:
                    other = seen.get(name, option)
                    raise InvalidRequest(
                        f"column {name!r} is in a sequence group twice: options {other} and {option}",
                        option=option,
                        column=name,
                    )
        seen |= dict.fromkeys((*group.ordering, *group.protected), option)


def _check_removal(options: TableOptions) -> None:
    listed = options[ON_SEQUENCE_GROUP]
    conflicts = [
        (options[ON_DELETE] and options["ignore-delete"], ON_DELETE, "ignore-delete"),
        (listed and options["ignore-delete"], ON_SEQUENCE_GROUP, "ignore-delete"),
        (options[ON_DELETE] and options.sequence_groups, ON_DELETE, "fields.<columns>.sequence-group"),
    ]
    for both, option, other in conflicts:
        if both:
            raise InvalidRequest(f"options {option} and {other} exclude each other", option=option)
    ordering = {name for group in options.sequence_groups for name in group.ordering}
    for name in listed or ():
        if name not in ordering:
            raise InvalidRequest(
                f"option {ON_SEQUENCE_GROUP} names {name!r}, which orders no sequence group",
                option=ON_SEQUENCE_GROUP,
                column=name,
            )


def _function(schema: TableSchema, options: TableOptions, name: str) -> Function | None:
    """Return the function of a column in a sequence group.

    Return None for a column without a function, and for a column in no group, which gets the last non-null value.
    """
    if name in schema.primary_keys:
        return None
    own = options.of_field(name)
    orders = any(name in group.ordering for group in options.sequence_groups)
    grouped = any(name in group.protected for group in options.sequence_groups)
    chosen = own.aggregate_function
    if chosen is not None and (orders or name in (options["sequence.field"] or ())):
        raise InvalidRequest(
            f"option fields.{name}.aggregate-function: a column of sequence.field or one that orders a sequence group "
            "cannot have an aggregate function",
            option=f"fields.{name}.aggregate-function",
            column=name,
        )
    if chosen is None and not orders:
        chosen = options.default_function
    if chosen is None:
        if replace(own, stats_mode=None) != FieldOptions():
            raise InvalidRequest(f"options fields.{name}.* have no effect: column {name!r} has no aggregate function")
        return None
    if not grouped and chosen != _NO_GROUP_NEEDED:
        raise InvalidRequest(
            f"column {name!r} has the aggregate function {chosen} and must be in a sequence group "
            "(option fields.<columns>.sequence-group)",
            column=name,
        )
    made = aggregate(chosen, schema.by_name[name], own)
    return Function(chosen, made, late(chosen, own), own.ignore_retract) if grouped else None
