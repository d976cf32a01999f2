"""A short soak, and tests that its checker finds violations; ``python -m tests.soak`` runs longer ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.checker import Checker
from tests.soak.gate import Gate
from tests.soak.journal import Journal
from tests.soak.model import ENGINES, content_hash

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ENGINES["deduplicate"]
ROW = ["+I", "a", 1, 10, 5]


@pytest.mark.parametrize(("engine", "seed"), [("deduplicate", 1), ("append", 2)])
def test_a_short_soak(tmp_path, engine, seed):
    command = [sys.executable, "-m", "tests.soak", "--minutes", "0.25", "--processes", "4", "--kill-every", "1"]
    command += ["--engine", engine, "--seed", str(seed), "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    counts = {
        what: int(n) for n, what in re.findall(r"(\d+) (commits|kills|snapshots|verified|violations)", done.stdout)
    }
    assert counts["violations"] == 0
    assert min(counts[what] for what in ("commits", "kills", "snapshots", "verified")) > 0


class Story:
    """Writes journals as workers would write them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gate = Gate(folder)
        self.journals = {name: Journal(folder, name, 0) for name in ("w0", "w1")}

    def begin(self, worker: str, op: int, spec: dict, *, before: int, epoch: int = 0) -> str:
        user = worker if spec["do"] in ("write", "overwrite") else f"{worker}-{op}"
        self.journals[worker].note(
            "begin", op=op, user=user, spec=spec, epoch=epoch, again=False, before=before, earliest=1
        )
        return user

    def publish(
        self, worker: str, op: int, number: int, *, epoch: int = 0, told: bool = True, user: str = "", earliest: int = 1
    ) -> dict:
        snapshot = {
            "id": number,
            "uuid": f"u{epoch}.{number}",
            "user": user or worker,
            "identifier": op,
            "kind": "APPEND",
        }
        self.journals[worker].note("publish", snapshot=snapshot, epoch=epoch, earliest=earliest)
        if told:
            self.journals[worker].note("published", uuid=snapshot["uuid"], made=True)
        return snapshot

    def end(self, worker: str, op: int, snapshot: dict | None, *, after: int, outcome: str = "ok") -> None:
        self.journals[worker].note("end", op=op, outcome=outcome, snapshot=snapshot, after=after, seconds=0.1)

    def write(self, worker: str, op: int, number: int, *rows: list, epoch: int = 0) -> dict:
        self.begin(worker, op, {"do": "write", "rows": list(rows)}, before=number - 1, epoch=epoch)
        snapshot = self.publish(worker, op, number, epoch=epoch)
        self.end(worker, op, snapshot, after=number)
        return snapshot

    def read(self, snapshot: dict, *rows: list) -> None:
        found = [row[1:] for row in rows]
        self.journals["w1"].keep_content(content_hash(found), found)
        self.journals["w1"].note("read", how="read", snapshot=snapshot, rows=len(rows), digest=content_hash(found))

    def violations(self) -> list[str]:
        return Checker(self.folder, ENGINE).check().violations


@pytest.fixture
def story(tmp_path):
    return Story(tmp_path)


def test_what_was_written_is_read(story):
    story.read(story.write("w0", 1, 1, ROW), ROW)
    assert story.violations() == []


@pytest.mark.parametrize("found", [(), (ROW, ROW), (["+I", "a", 1, 9, 5],)], ids=["lost", "twice", "other"])
def test_a_read_that_is_not_what_was_committed(story, found):
    story.read(story.write("w0", 1, 1, ROW), *found)
    assert "finds other rows" in story.violations()[0]


def test_the_later_commit_wins(story):
    story.begin("w0", 1, {"do": "write", "rows": [ROW]}, before=0)
    newer = ["+I", "a", 1, 11, 5]
    story.write("w1", 1, 1, newer)
    last = story.publish("w0", 1, 2)
    story.end("w0", 1, last, after=2)
    story.read(last, ROW)
    assert story.violations() == []
    story.read(last, newer)
    assert len(story.violations()) == 1


def test_a_commit_whose_process_was_killed_counts_when_others_follow_it(story):
    story.begin("w0", 1, {"do": "write", "rows": [ROW]}, before=0)
    story.publish("w0", 1, 1, told=False)
    story.read(story.write("w1", 1, 2, ["+I", "b", 2, 20, 5]), ROW, ["+I", "b", 2, 20, 5])
    assert story.violations() == []


def test_an_acknowledged_commit_that_is_not_in_the_chain(story):
    story.begin("w0", 1, {"do": "write", "rows": [ROW]}, before=0)
    story.end("w0", 1, {"id": 1, "uuid": "x", "user": "w0", "identifier": 1, "kind": "APPEND"}, after=0)
    story.write("w1", 1, 1, ROW)
    story.write("w1", 2, 2, ROW)
    assert any("is not in the chain" in v or "undecided" in v for v in story.violations())


def test_a_refused_commit_that_stands(story):
    story.begin("w0", 1, {"do": "write", "rows": [ROW]}, before=0)
    story.publish("w0", 1, 1)
    story.end("w0", 1, None, after=1, outcome="conflict")
    assert "was refused, and stands" in story.violations()[0]


@pytest.mark.parametrize(("earliest", "kills", "violations"), [(9, 3, 0), (9, 2, 1), (1, 3, 1)])
def test_a_commit_may_be_repeated_once_a_kill_when_its_snapshot_has_expired(story, earliest, kills, violations):
    numbers = (1, 4, 8)
    for kill in range(kills):
        story.begin("w0", 1, {"do": "overwrite", "partition": None, "rows": [ROW]}, before=numbers[kill] - 1)
    for number in range(1, 10):
        if number in numbers:
            told = number == numbers[-1]
            snapshot = story.publish("w0", 1, number, told=told, earliest=min(earliest, number))
        else:
            story.write("w1", number, number, ROW)
    story.end("w0", 1, snapshot, after=9)
    found = story.violations()
    assert len(found) == violations, found
    assert all("stands twice" in violation for violation in found)


def test_a_delete_that_finds_nothing_although_rows_match(story):
    story.write("w0", 1, 1, ROW)
    story.begin("w1", 1, {"do": "delete", "where": {"w": 5}}, before=1)
    story.end("w1", 1, None, after=1)
    assert "found nothing to delete" in story.violations()[0]


def test_a_delete_takes_what_matches_right_before_its_snapshot(story):
    first = story.write("w0", 1, 1, ROW)
    user = story.begin("w1", 1, {"do": "delete", "where": {"w": 5}}, before=1)
    story.write("w0", 2, 2, ["+I", "a", 1, 11, 6])
    last = story.publish("w1", 2**63 - 1, 3, user=user)
    story.end("w1", 1, last, after=3)
    story.read(last, ["+I", "a", 1, 11, 6])
    assert story.violations() == []
    story.read(last)
    assert "finds other rows" in story.violations()[0]
    story.read(first, ROW)


def test_a_rollback_cuts_the_chain(story):
    first = story.write("w0", 1, 1, ROW)
    story.write("w0", 2, 2, ["+I", "a", 1, 11, 5])
    target = {"epoch": 0, "id": 1, "uuid": first["uuid"]}
    story.gate.begin(target)
    story.gate.end(target)
    other = ["+I", "b", 1, 12, 5]
    story.read(story.write("w1", 3, 2, other, epoch=1), ROW, other)
    assert story.violations() == []
