"""A short soak of a declared lake; ``python -m tests.soak.lakes`` runs longer ones."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.soak.lakes.sources import DAYS, Editor, expected, expected_rejects, write_lake

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
@pytest.mark.spark
def test_a_short_soak(tmp_path):
    command = [sys.executable, "-m", "tests.soak.lakes", "--rounds", "1", "--seconds", "25", "--seed", "3"]
    command += ["--folder", str(tmp_path / "lake*of?all")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert ", 0 violations" in done.stdout


def test_the_model_follows_the_files(tmp_path):
    write_lake(tmp_path)
    orders, events = tmp_path / "landing[1]" / "orders", tmp_path / "landing[1]" / "events"
    for name, rows in (
        ("a", "2024-01-01,1,1,10\n2024-01-02,1,3,7\n"),
        ("b", "2024-01-01,1,2,20\n2024-01-02,1,2,bad\n"),
    ):
        (orders / DAYS[1]).mkdir(exist_ok=True)
        (orders / DAYS[1] / f"{name}.csv").write_text("day,id,version,amount\n" + rows)
    (events / f"{DAYS[0]}.csv").write_text(f"day,n,text\n{DAYS[0]},5,x\n{DAYS[0]},5,x\n{DAYS[0]},bad,x\n")
    found = expected(tmp_path)
    assert found["shop.orders"] == Counter([(DAYS[0], 1, 2, 20), (DAYS[1], 1, 3, 7)])
    assert found["shop.events"] == Counter({(DAYS[0], 5, "x"): 2})
    assert found["shop.daily"] == Counter([(DAYS[0], 1, 20), (DAYS[1], 1, 7)])
    assert found["shop.totals"] == Counter([("amount", 27), ("events", 2)])
    assert expected_rejects(tmp_path) == {"shop.orders": 1, "shop.events": 1}


def test_an_edit_never_drops_a_key_or_a_version(tmp_path):
    write_lake(tmp_path)
    editor, newest = Editor(tmp_path, random.Random(7)), dict[tuple, int]()
    for _ in range(60):
        editor.edit()
        now = {row[:2]: row[2] for row in expected(tmp_path)["shop.orders"]}
        assert all(now[key] >= version for key, version in newest.items())
        newest = now
    assert len(newest) > 10
