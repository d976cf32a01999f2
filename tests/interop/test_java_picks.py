"""What Java 1.4.2 compacts: as it was recorded (tests/golden/java-picks), and as we do after the same writes."""

import json
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.compact.pick import pick_tasks
from tests.support.java_picks import CASES, ask_java
from tests.support.oracle import OracleUnavailable


@pytest.mark.java
def test_java_still_answers_as_recorded():
    cases = json.loads(CASES.read_text())
    try:
        answers = ask_java([c["bucket"] for c in cases])
    except OracleUnavailable as reason:
        pytest.skip(str(reason))
    assert answers == [c["java"] | c.get("java-1.4.2", {}) for c in cases]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"force-lookup": "true"},
        {"compaction.force-up-level-0": "true"},
        {"num-sorted-run.compaction-trigger": "3", "compaction.max-size-amplification-percent": "400"},
        {"compaction.incremental-size-threshold": "6 kb"},
    ],
    ids=lambda options: next(iter(options), "default"),
)
def test_java_compacts_what_we_would(oracle, warehouse, options):
    """Java writes and compacts; in the state after each of its flushes we pick what it picked.

    Level 1 is never reached, where 1.4.2 has another rule (format 8.2).
    """
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    options = {"bucket": "1", "compaction.size-ratio": "5", **options}
    table = catalog.create_table("db.t", schema, primary_key=["k"], options=options)
    chance = random.Random(3)
    steps = [[["+I", n * 90 + k, chance.randbytes(10).hex()] for k in range(100)] for n in range(16)]
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": rows} for rows in steps])
    snapshots = [table.context.snapshots.read(i) for i in table.context.snapshots.ids()]
    live = [{(e.file.file_name, e.file.level): e for e in table.context.manifests.entries_of(s)} for s in snapshots]
    picked = 0
    for number, snapshot in enumerate(snapshots[:-1]):
        if snapshot.commit_kind == "COMPACT":
            continue
        tasks = pick_tasks(table.context, list(live[number].values()))
        assert bool(tasks) == (snapshots[number + 1].commit_kind == "COMPACT"), snapshot.id
        for task in tasks:
            picked += 1
            before, after = live[number].keys(), live[number + 1].keys()
            assert {f.file_name for f in task.unit.files} == {name for name, _ in before - after}
            assert {task.unit.output_level} == {level for _, level in after - before}
    assert picked > 2
