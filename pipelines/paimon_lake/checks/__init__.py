"""Checks of tables: the evaluation of the checks that a table's declaration names; only SQL needs Spark.

Other packages import from here.
"""

from paimon_lake.check_result import CheckResult, Severity
from paimon_lake.checks.context import CheckContext, LoadRecord, load_records
from paimon_lake.checks.problems import problems
from paimon_lake.checks.run import run_check, run_checks

__all__ = [
    "CheckContext",
    "CheckResult",
    "LoadRecord",
    "Severity",
    "load_records",
    "problems",
    "run_check",
    "run_checks",
]
