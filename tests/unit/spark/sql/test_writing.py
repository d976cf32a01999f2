"""Errors of the tasks that write rows: errors of this library, with the column and the position of the statement."""

import pytest
from pyspark.errors import ArithmeticException, PythonException

import paimon_core as paimon
from paimon_core.errors import SchemaMismatch
from paimon_core.spark.sql.writing import errors_of_writes


class Overflow(ArithmeticException):
    """An error of Spark's JVM, which has parameters."""

    def __init__(self, stated):
        super().__init__("[CAST_OVERFLOW] a value is too large")
        self.stated = stated

    def getMessageParameters(self):
        return {"value": " 300", **self.stated}


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    return catalog.create_table("db.t", "a TINYINT, b INT, c INT, d DECIMAL(4, 2)")


def raised(table, error):
    with pytest.raises(SchemaMismatch) as found, errors_of_writes(table, "INSERT INTO t SELECT 1", 12):
        raise error
    assert (found.value.facts["line"], found.value.facts["column"]) == (1, 13)
    return found.value.message


@pytest.mark.parametrize(
    ("stated", "columns"),
    [
        ({"targetType": '"TINYINT"'}, "column a of type tinyint"),
        ({"targetType": '"INT"'}, "one of the columns b, c of type int"),
        ({"precision": "4", "scale": "2"}, "column d of type decimal(4,2)"),
    ],
)
def test_a_number_that_does_not_fit_names_its_columns(table, stated, columns):
    assert f"value 300 does not fit {columns}" in raised(table, Overflow(stated))


def test_another_error_of_arithmetic_is_said_without_its_trace(table):
    message = raised(table, ArithmeticException("[DIVIDE_BY_ZERO] Division by zero.\n\tat org.apache.spark.X"))
    assert message.partition(", at line")[0] == "table db.t: [DIVIDE_BY_ZERO] Division by zero."


def test_an_error_of_this_library_in_a_task_has_no_trace(table):
    trace = "Traceback\n  File x\npaimon_core.errors.SchemaMismatch: column 'id' is NOT NULL"
    assert raised(table, PythonException(trace)).startswith("column 'id' is NOT NULL, at line 1")
