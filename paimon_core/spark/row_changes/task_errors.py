"""Task errors: the errors of this library that Spark tasks raise, raised again on the driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException, PySparkException

from paimon_core import errors
from paimon_core.errors import CorruptTable, InvalidRequest, PaimonError

_RAISED = re.compile(r"paimon_core\.errors\.(\w+): (.*?)(?: SQLSTATE: \w+)?\s*$", re.MULTILINE)


@contextmanager
def errors_of_tasks(table: str) -> Iterator[None]:
    """Raise the error of this library that a task of the block has raised, instead of Spark's error.

    An expression that Spark cannot resolve for the table raises InvalidRequest. All other errors of Spark are raised
    unchanged.
    """
    try:
        yield
    except AnalysisException as error:
        first = str(error).strip().splitlines()[0]
        raise InvalidRequest(f"table {table}: Spark cannot use the expression: {first}", table=table) from None
    except PySparkException as error:
        for name, text in reversed(_RAISED.findall(str(error))):
            kind = getattr(errors, name, None)
            if isinstance(kind, type) and issubclass(kind, PaimonError):
                missing = {"missing": True} if kind is CorruptTable and "missing" in text else {}
                raise kind(text, **missing) from error
        raise
