"""Writing: the errors of the tasks that write the rows of a statement, as errors of this library with a position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import ArithmeticException

from paimon_core.errors import PaimonError, SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.spark.sql.names import located
from paimon_core.spark.task_errors import errors_of_tasks
from paimon_core.spark.types import spark_schema
from paimon_core.table.table import Table


@contextmanager
def errors_of_writes(table: Table, text: str, at: int) -> Iterator[None]:
    """Raise the errors of this library that tasks of the block raise, with the position ``at`` of the statement.

    A number that does not fit its column, or another error of arithmetic, raises SchemaMismatch.
    """
    try:
        with errors_of_tasks(table.name):
            yield
    except ArithmeticException as error:
        problem = arithmetic_problem(error, table.schema.fields)
        located(SchemaMismatch(f"table {table.name}: {problem}", table=table.name), text, at)
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
    columns = [f.name for f in fields if spark_schema([f])[0].dataType.simpleString() == wanted]
    if not columns or "value" not in stated:
        return str(error).strip().splitlines()[0]
    which = "column" if len(columns) == 1 else "one of the columns"
    return f"value {stated['value'].strip()} does not fit {which} {', '.join(columns)} of type {wanted}"
