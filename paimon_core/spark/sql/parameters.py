"""Parameters: binds the values of ``lake.sql(text, args=...)`` to the markers of a statement.

A value reaches Spark as a literal column, never as a part of the text: a query gets it as an argument of ``spark.sql``,
and an expression of UPDATE, DELETE and MERGE reads it from a variable of the session, which exists during the
statement.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np
from pyspark.errors import AnalysisException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from paimon_core.errors import InvalidRequest, listed
from paimon_core.options.similar_names import resembled
from paimon_core.spark.sql.grammar.cursor import fail, tokens_of
from paimon_core.spark.sql.grammar.markers import NOTHING, Bound
from paimon_core.spark.sql.grammar.statements import Query

_KINDS = (
    *(NoneType, bool, int, float, str, bytes, bytearray, Decimal, datetime.date, datetime.time, datetime.timedelta),
    *(Column, np.generic, np.ndarray),
)
_INTEGERS = range(-(1 << 63), 1 << 63)


def bound_parameters(text: str, args: Any) -> Bound:
    """Return the values of the parameters of a statement.

    ``args``: a dict of values by name for ``:name``, or a list of values for ``?``. Raises SqlError, which names the
    parameter, for a missing or an extra value and for markers of both kinds; InvalidRequest for a value that Spark has
    no literal for.
    """
    markers = [token for token in tokens_of(text) if token.kind == "parameter"]
    if args is not None and not isinstance(args, Mapping | list | tuple):
        raise InvalidRequest(f"args is a dict for parameters such as :name, or a list for ?, not {args!r:.60}")
    if not markers and not args:
        return NOTHING
    named = [token for token in markers if token.text != "?"]
    if named and len(named) < len(markers):
        fail(text, named[0].start, f"the statement has parameters of both kinds, {named[0].text} and ?: use one kind")
    if isinstance(args, list | tuple):
        if named:
            fail(text, named[0].start, f"the parameter {named[0].text} has a name: args is a dict, not a list")
        for number, value in enumerate(args):
            _check(f"args[{number}]", value)
        if len(args) < len(markers):
            problem = f"the parameter ? number {len(args) + 1} has no value: args has {len(args)}"
            fail(text, markers[len(args)].start, problem)
        if len(args) > len(markers):
            fail(text, 0, f"args has {len(args)} values, and the statement has {len(markers)} parameters ?")
        values = {token.start: value for token, value in zip(markers, args, strict=True)}
        return Bound(values, {}, {token.start: token.end for token in markers})
    given = args or {}
    for token in markers:
        name = token.text[1:]
        if token.text == "?":
            fail(text, token.start, "the parameter ? has no value: pass a list, such as args=[1]")
        if name not in given:
            similar = resembled(name, [str(known) for known in given])
            known = f"args has {similar or listed(list(map(str, given)))}"
            hint = known if given else f"pass args={{{name!r}: ...}}"
            fail(text, token.start, f"the parameter {token.text} has no value: {hint}", name=name)
    names = {token.text[1:] for token in markers}
    for name, value in given.items():
        if name not in names:
            fail(text, 0, f"args has a value for {name!r:.60}, and the statement has no parameter :{name!s:.60}")
        _check(f"args[{name!r}]", value)
    values = {token.start: given[token.text[1:]] for token in markers}
    return Bound(values, {t.start: t.text[1:] for t in markers}, {t.start: t.end for t in markers})


def _check(what: str, value: Any) -> None:
    """Raise InvalidRequest for a value that Spark has no literal for."""
    match value:
        case list():
            if any(item is None for item in value):
                raise InvalidRequest(
                    f"{what} has a null, which Spark binds only as a whole value: use array_append(:a, NULL)"
                )
            for number, item in enumerate(value):
                _check(f"{what}[{number}]", item)
        case Mapping() | tuple() | set():
            instead = "create_map or struct" if isinstance(value, Mapping) else "a list, or struct"
            raise InvalidRequest(
                f"{what} is a {type(value).__name__}, which is no value of Spark: use {instead} of "
                "pyspark.sql.functions"
            )
        case datetime.datetime():
            try:
                value.astimezone(datetime.UTC)
            except (OverflowError, ValueError):
                raise InvalidRequest(f"{what} = {value} is outside of the years 1 to 9999 in UTC") from None
        case int() if value not in _INTEGERS:
            raise InvalidRequest(f"{what} = {value!s:.60} is not within 64 bits: pass a Decimal")
        case Decimal() if not value.is_finite():
            raise InvalidRequest(f"{what} = {value} is no decimal number of Spark: pass a float")
        case _ if not isinstance(value, _KINDS):
            raise InvalidRequest(f"{what} is a {type(value).__name__}, which is no value of Spark: {value!r:.60}")


def _literal(value: Any) -> Column:
    """Return a value as a literal; dates and times of any year are what their text says, in Spark's calendar."""
    match value:
        case Column():
            return value
        case list():
            return F.array(*map(_literal, value))
        case datetime.datetime():
            moment = value.astimezone(datetime.UTC).replace(tzinfo=None)  # one without a zone is local, as in F.lit
            return F.expr(f"TIMESTAMP '{moment.isoformat(' ', 'microseconds')}Z'")
        case datetime.date():
            return F.expr(f"DATE '{value.isoformat()}'")
    return F.lit(value)


def arguments(query: Query, left_out: list[tuple[int, int]]) -> dict[str, Any] | list[Any] | None:
    """Return the argument ``args`` of ``spark.sql`` for a query; None for a query without parameters.

    ``left_out``: the parts (start, end) of the statement that Spark does not read.
    """
    bound = query.bound
    read = [at for at in bound.within(query.start, query.end) if not any(a <= at < b for a, b in left_out)]
    if not read:
        return None
    if bound.names:
        return {bound.names[at]: _literal(bound.values[at]) for at in read}
    return [_literal(bound.values[at]) for at in read]


@contextmanager
def declared(spark: SparkSession, bound: Bound, text: str) -> Iterator[None]:
    """Declare a variable of the session for each parameter; they exist in the block, and ``Bound`` has their names.

    Raises SqlError for a Column that is no literal.
    """
    by_name: dict[str, str] = {}
    try:
        for at, value in bound.values.items():
            key = bound.names.get(at, str(at))
            if key not in by_name:
                variable = f"paimon_{uuid.uuid4().hex}"
                _declare(spark, variable, value, text, at)
                by_name[key] = variable
            bound.variables[at] = by_name[key]
        yield
    finally:
        for variable in by_name.values():
            spark.sql(f"DROP TEMPORARY VARIABLE IF EXISTS {variable}")


def _declare(spark: SparkSession, variable: str, value: Any, text: str, at: int) -> None:
    try:
        spark.sql(f"DECLARE VARIABLE {variable} DEFAULT :v", args={"v": _literal(value)})
    except AnalysisException as error:
        problem = str(error.getCondition())
    else:
        return
    fail(text, at, f"the value of the parameter is a Column, but no literal ({problem})")
