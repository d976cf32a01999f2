"""Checks of tables: the evaluation of the checks that a table's declaration names; only SQL needs Spark.

Other packages find the most used names here.

Core types and functions:

- ``CheckContext``: the values that a check may use: the partitions of the load, the history of loads, the time
- ``LoadRecord``: the numbers of rows of one load, from its snapshot
- ``Rows``: the rows that are checked
- ``run_check``: runs one check
- ``audit_and_publish``: checks a prepared commit before it is published
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
