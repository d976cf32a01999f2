"""Checks of tables: the evaluation of the checks that a table's declaration names; only SQL needs Spark.

Other packages import from here.
"""

from pipelines.checks.context import CheckContext, LoadRecord, load_records
from pipelines.checks.problems import problems
from pipelines.checks.run import run_check, run_checks
from pipelines.finding import Finding, Severity

__all__ = [
    "CheckContext",
    "Finding",
    "LoadRecord",
    "Severity",
    "load_records",
    "problems",
    "run_check",
    "run_checks",
]
