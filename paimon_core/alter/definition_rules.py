"""Definition rules: check whether a table with this schema can be written and read; for new and for altered tables."""

from __future__ import annotations

from collections.abc import Callable

from paimon_core.datafile.evolution.defaults import check_default
from paimon_core.datafile.format_rules import check_formats
from paimon_core.datafile.writing.external_places import ExternalPlaces
from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.rules.column_rules import check_columns
from paimon_core.metadata.rules.table_rules import check_table
from paimon_core.schema import TableSchema


def check_definition(context: TableContext) -> None:
    """Raise InvalidRequest, InvalidOption or UnsupportedFeature for a table that could not be written or read."""
    for check in _CHECKS:
        check(context)


def check_altered(context: TableContext, old: TableSchema, new: TableSchema) -> None:
    """Raise the error of ``check_definition`` for the schema ``new``, unless ``old`` breaks the same rule.

    So a table that another program created can be altered even if it breaks a rule that only this library has.
    """
    stored = context.with_dynamic({})
    _check_new_problems(stored.reopened(old), stored.reopened(new))


def check_dynamic(stored: TableContext, changed: TableContext) -> None:
    """Raise the error of ``check_definition`` for ``changed``, unless ``stored`` breaks the same rule.

    ``changed`` is the table ``stored`` with dynamic options.
    """
    _check_new_problems(stored, changed)


def _check_new_problems(before: TableContext, after: TableContext) -> None:
    for check in _CHECKS:
        problem = _problem(check, after)
        if problem is None:
            continue
        older = _problem(check, before)
        if older is None or str(older) != str(problem):
            raise type(problem)(f"table {after.name}: {problem}", **{**problem.facts, "table": after.name})


def _problem(check: Callable[[TableContext], object], context: TableContext) -> InvalidRequest | None:
    try:
        check(context)
    except InvalidRequest as error:
        return error
    return None


def _check_defaults(context: TableContext) -> None:
    for column in context.schema.fields:
        check_default(column.name, column.type, column.default)


def _check_external_places(context: TableContext) -> None:
    ExternalPlaces.of(context.options, context.paths.external)


_CHECKS: tuple[Callable[[TableContext], object], ...] = (
    lambda context: check_columns(context.schema),
    lambda context: context.schema.to_json(),
    _check_defaults,
    check_table,
    lambda context: check_formats(context.schema, context.options),
    lambda context: merge_engine(context.schema, context.options),
    _check_external_places,
)
