"""Writing: the errors of the tasks that write the rows of a statement, as errors of this library with a position."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import ArithmeticException, PySparkException

from paimon_core.errors import PaimonError, SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.names import located
from paimon_core.spark.task_errors import errors_of_tasks
from paimon_core.spark.types import spark_schema
from paimon_core.table.table import Table

_OF_VALUE = re.compile(r"(\[[A-Z_.]+\] [^\n]*?)\s*SQLSTATE: (?:21|22|P0)\w+")
"""A message of Spark about a value: too many rows of a subquery, a value out of range, or an error that a query raises.
"""


@contextmanager
def errors_of_writes(table: Table, text: str, at: int) -> Iterator[None]:
    """Raise the errors of this library that tasks of the block raise, with the position ``at`` of the statement.

    A number that does not fit its column, or another error of arithmetic, raises SchemaMismatch. Another value that an
    expression of the statement cannot compute, such as the cast of a text, raises SqlError.
    """
    try:
        with errors_of_tasks(table.name):
            yield
    except ArithmeticException as error:
        problem = arithmetic_problem(error, table.schema.fields)
        located(SchemaMismatch(f"table {table.name}: {problem}", table=table.name), text, at)
    except (PySparkException, Py4JJavaError) as error:
        found = _OF_VALUE.search(str(error))
        if found is None:
            raise
        fail(text, at, f"table {table.name}: a value cannot be computed, and nothing is written: {found[1]}")
    except PaimonError as error:
        if "line" in error.facts:
            raise
        located(error, text, at)


def arithmetic_problem(error: ArithmeticException, fields: Sequence[DataField]) -> str:
    """Return the text of an error, with the columns whose type is too small for a value."""
    stated = error.getMessageParameters() or {}
    wanted = str(stated.get("targetType", "")).strip('"').lower()
    if not wanted and "precision" in stated:
        wanted = f"decimal({stated['precision']},{stated.get('scale')})"
    if not wanted or "value" not in stated:
        return str(error).strip().splitlines()[0]
    part = re.compile(rf"(?<![\w(]){re.escape(wanted)}(?![\w(])")
    types = {f.name: spark_schema([f])[0].dataType.simpleString() for f in fields}
    whole = [name for name, kind in types.items() if kind == wanted]
    nested = [name for name, kind in types.items() if kind != wanted and part.search(kind)]
    which = "column" if len(whole) == 1 else "one of the columns"
    found = [f"{which} {', '.join(whole)} of type {wanted}"] if whole else []
    found += [f"a part of type {wanted} of {', '.join(nested)}"] if nested else []
    if not found:
        return str(error).strip().splitlines()[0]
    return f"value {stated['value'].strip()} does not fit {' or '.join(found)}"
