"""Task errors: the errors of this library that the driver raises when Spark tasks fail or are lost."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException

from paimon_core import errors
from paimon_core.errors import CorruptTable, InvalidRequest, PaimonError, StorageError

_LOG = logging.getLogger(__name__)
_RAISED = re.compile(r"paimon_core\.errors\.(\w+): (.*?)(?: SQLSTATE: \w+)?\s*$", re.MULTILINE)
_ENDED = "Python worker exited unexpectedly|ExecutorLostFailure|FetchFailed|Connection to python worker"
_CLOSED = r"java\.io\.EOFException|java\.nio\.channels\.ClosedChannelException|Broken pipe|Connection reset"
"""What the JVM says when a Python worker ends while the JVM sends rows to it."""
_LOST = re.compile(rf"(?:Job aborted[^\n]*?)?(?:{_ENDED}|{_CLOSED})[^\n.]*")
"""The part of Spark's message that says that a process has ended; the message for a task that raised an error has none.
"""
_UNLIKE = "indeterminate output was failed and retried"
"""In Spark's message when rows of a shuffle were lost and repeated tasks make others: Spark cannot undo the tasks that
have read the lost rows.
"""
_Answer = TypeVar("_Answer")


@contextmanager
def errors_of_tasks(table: str) -> Iterator[None]:
    """Raise as ``errors_raised_in_tasks``, and InvalidRequest for an expression that Spark cannot resolve."""
    with errors_raised_in_tasks(table):
        try:
            yield
        except AnalysisException as error:
            first = str(error).strip().splitlines()[0]
            raise InvalidRequest(f"table {table}: Spark cannot use the expression: {first}", table=table) from None


@contextmanager
def errors_raised_in_tasks(table: str) -> Iterator[None]:
    """Raise the error of this library that a task of the block has raised, instead of Spark's error.

    Lost tasks: see ``lost_tasks``. All other errors of Spark are raised unchanged.
    """
    with lost_tasks(table):
        try:
            yield
        except (PySparkException, Py4JJavaError) as error:  # the latter comes from tasks of an RDD
            for name, text in reversed(_RAISED.findall(str(error))):
                kind = getattr(errors, name, None)
                if isinstance(kind, type) and issubclass(kind, PaimonError):
                    missing = {"missing": True} if kind is CorruptTable and "missing" in text else {}
                    raise kind(text, **missing) from error
            raise


@contextmanager
def lost_tasks(table: str) -> Iterator[None]:
    """Raise StorageError, which names the table, when a task of the block was lost in each attempt.

    A task is lost when its Python worker or its executor ends. StorageError is also raised when rows of a shuffle were
    lost and Spark cannot make the same rows again. Spark's own errors do not name the table.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        found = _LOST.search(str(error))
        if _UNLIKE in str(error):
            raise StorageError(
                f"table {table}: rows between two stages of Spark were lost, and the tasks that Spark repeated made "
                "other rows; nothing was committed: run the statement again",
                table=table,
            ) from error
        if found is None:
            raise
        raise StorageError(
            f"table {table}: a Spark task was lost in each of its attempts, and its files were not committed: "
            f"{found[0]:.400}",
            table=table,
        ) from error


def repeated_when_unlike(job: Callable[[], _Answer], attempts: int) -> _Answer:
    """Return what ``job`` returns; run it again when rows of a shuffle were lost and repeated tasks make other rows.

    Suits jobs whose tasks write files with new names: their messages are other rows each time. ``job`` must plan its
    query anew. ``attempts``: how often the job runs at most; then the error of Spark is raised.
    """
    for _ in range(attempts - 1):
        try:
            return job()
        except (PySparkException, Py4JJavaError) as error:
            if _UNLIKE not in str(error):
                raise
            _LOG.warning("Spark lost rows of a shuffle whose tasks had written files: the job starts again")
    return job()
