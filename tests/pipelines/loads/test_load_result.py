"""What a run keeps of each of its loads."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np

from paimon_lake.check_result import CheckResult
from paimon_lake.loads.load_result import loaded_once, worst_results
from paimon_lake.loads.step import PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult


def test_the_rows_of_a_load_are_freed_after_its_commit():
    """A run that follows a log commits hundreds of batches."""
    rows = np.zeros(3)
    alive = weakref.ref(rows)
    plan = PlannedLoad(lambda rows=rows: WriteResult(skipped=(str(rows),)), details={"changes": 3})
    kept = loaded_once(plan, SimpleNamespace(id=1), WriteResult(rows_read=3, reports=(b"report",)), ())
    del rows, plan
    gc.collect()
    assert alive() is None
    assert (kept.plan.details, kept.written.rows_read) == ({"changes": 3}, 3)


def test_a_check_that_failed_in_an_earlier_batch_is_told():
    def result(audit, wrong, text):
        return CheckResult(audit, "db.t", wrong, text, severity="warn")

    batches = [[result("a", 0, "1"), result("b", 2, "1")], [result("a", 0, "2"), result("b", 0, "2")], []]
    assert [(one.audit, one.wrong, one.sentence) for one in worst_results(batches)] == [("a", 0, "2"), ("b", 2, "1")]
    assert [one.sentence for one in worst_results([*batches, [result("b", 1, "3")]])] == ["2", "3"]
