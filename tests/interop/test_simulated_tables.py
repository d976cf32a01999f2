"""Java opens the tables that survived simulated histories, and finds in every snapshot what the model has."""

from pathlib import Path

from paimon_core.storage.paths import MAIN
from tests.simulator import real
from tests.simulator.history import ROOT as SIMULATED

SEEDS = range(20)


def exported(history: real.RealHistory, warehouse: Path) -> None:
    """The files of the simulated store under a real directory."""
    top = SIMULATED.rpartition("/db.db")[0]
    for path, file in history.disk.files.items():
        target = warehouse / path.removeprefix(top + "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)


def test_java_reads_every_snapshot_of_the_survivors(oracle, tmp_path):
    looked_at = 0
    for seed in SEEDS:
        history = real.play(seed)
        assert history.world.violation is None, f"seed {seed}: {history.world.violation}"
        warehouse = tmp_path / str(seed)
        exported(history, warehouse)
        present = [v for v in history.oracle.chains[MAIN] if history.oracle._path(v) in history.disk.files]
        steps = [{"op": "dump", "table": "db.t", "options": {"scan.snapshot-id": str(v.snapshot.id)}} for v in present]
        for version, answer in zip(present, oracle.run(warehouse, steps), strict=True):
            rows = sorted(tuple(row[1:]) for row in answer["rows"])
            assert rows == sorted(version.state), f"seed {seed}, snapshot {version.snapshot.id}"
            looked_at += 1
    assert looked_at > 2 * len(SEEDS)
