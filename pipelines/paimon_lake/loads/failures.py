"""Failures: the errors of runs that committed loads and then failed; the committed loads remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException

from paimon_core.errors import PaimonError
from paimon_lake.protocol import AuditFailed, PipelineError, StepResult, TablesFailed
from paimon_lake.session import spark_reason


class BatchFailed(Exception):
    """A batch of a table or part failed; earlier batches of the same run were committed and remain in the table."""

    def __init__(self, result: StepResult, error: Exception) -> None:
        """``result``: the result of the committed batches; ``error``: the reason why the last batch failed."""
        super().__init__(str(error))
        self.result = result
        self.error = error


def tables_failed(errors: Mapping[str, Exception], results: Sequence[StepResult]) -> TablesFailed:
    """Return the error of a run. ``errors`` has the error of each failed table; ``results`` has the results of the
    tables with commits and of the requested table.
    """
    reasons = "; ".join(dict.fromkeys(map(reason, errors.values())))
    kept = ", ".join(f"{one.table} (snapshot {', '.join(map(str, one.commits))})" for one in results if one.commits)
    return TablesFailed(f"{reasons}; committed before, and kept: {kept}" if kept else reasons, results, errors)


def reason(error: Exception | None) -> str:
    """Return an error as one line: its message, after the type of the error if the message is not meant for users."""
    if isinstance(error, PySparkException):
        return spark_reason(error)
    is_told = isinstance(error, PipelineError | AuditFailed | PaimonError)
    return " ".join((str(error) if is_told else f"{type(error).__name__}: {error}").split())
