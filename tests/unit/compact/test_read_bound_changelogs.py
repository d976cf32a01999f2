"""The read bound makes full compactions earlier: every changelog still tells exactly what changed."""

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.lsm.compaction.read_bound import ReadBound


@pytest.mark.long
@pytest.mark.parametrize(
    ("producer", "engine"), [("lookup", "deduplicate"), ("lookup", "aggregation"), ("input", "deduplicate")]
)
def test_changes_are_proved_when_the_bound_takes_the_place_of_a_compaction(monkeypatch, producer, engine):
    applied, real = [], ReadBound.calls_for
    monkeypatch.setattr(ReadBound, "calls_for", lambda *given: applied.append(real(*given)) or applied[-1])
    catalog = paimon.open_catalog(f"memory://bound-{producer}-{engine}")
    catalog.create_database("db")
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2", "snapshot.num-retained.min": "100"}
    options |= {"changelog-producer": producer, "merge-engine": engine}
    if engine == "aggregation":
        options["fields.v.aggregate-function"] = "sum"
    columns = {"id": "BIGINT NOT NULL", "v": "BIGINT", "s": "STRING"}
    table = catalog.create_table("db.t", columns, primary_key="id", options=options)
    random = np.random.default_rng(1)

    def written(ids, number):
        texts = [random.bytes(20).hex() for _ in ids]
        table.write(pa.table({"id": ids, "v": ids * number, "s": texts}))
        table.compact()

    written(np.arange(1000), 1)
    table.compact(full=True)
    for number in range(12):
        written(np.unique(random.integers(0, 1000, 80)), number)
    assert any(applied)
    changes = table.changes(0, table.refresh().latest_snapshot().id)
    changes.prove().check()
    assert table.refresh().maintenance.check(deep=True).is_clean
