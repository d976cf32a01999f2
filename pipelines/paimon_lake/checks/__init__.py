"""Checks of tables: the evaluation of the checks that a table's declaration names; only SQL needs Spark.

Other packages import from here.
"""

from paimon_lake.checks.context import CheckContext, LoadRecord, load_records
from paimon_lake.checks.problems import problems
from paimon_lake.checks.run import run_check, run_checks
from paimon_lake.finding import Finding, Severity

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
