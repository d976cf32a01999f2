"""What a run keeps of each of its loads."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np

from paimon_lake.loads.load_result import loaded_once
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
