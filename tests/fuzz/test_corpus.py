"""The parsers stay within their errors, time and memory: for the inputs of the corpus, and for a few random ones."""

from random import Random

import pytest

from tests.fuzz import metadata_targets, mutators, runs, text_targets
from tests.fuzz.runs import CORPUS, corpus, explore, replay
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import Probe, fuzz


def test_no_input_of_the_corpus_is_a_finding():
    inputs = [(name, path) for name in sorted(TARGETS) for path in corpus(name)]
    assert len(inputs) > 15
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)
    assert sum(path.stat().st_size for _, path in inputs) < 1 << 20
    assert [(name, path.name, f.kind, f.detail) for name, path, f in replay(inputs)] == []


def test_what_counts_as_a_finding(tmp_path):
    def found(run):
        finding, _ = Probe(Target("t", run, list, lambda d, c, p: d), tmp_path / "current").run(b"x")
        return finding and finding.kind

    assert found(lambda data: 1) is None
    assert found(metadata_targets._schema) is None
    assert found(lambda data: {}[data]) == "KeyError"


def test_a_parser_that_ends_its_process_is_a_finding(tmp_path):
    inputs = [("self-test", tmp_path / name) for name in ("crash", "fine", "loop", "other")]
    for _, path in inputs:
        assert path.write_bytes(path.name.encode())
    found = [(path.name, finding.kind, finding.data) for _, path, finding in replay(inputs)]
    assert found == [("crash", "SIGSEGV", b"crash"), ("loop", "more-than-2-s", b"loop")]


def test_each_input_that_takes_much_memory_is_a_finding(tmp_path):
    """In a process of its own: a process of many tests gives memory back at any time, which hides what is taken."""
    inputs = [("self-test", tmp_path / str(number)) for number in range(4)]
    for (_, path), size in zip(inputs, (450, 100, 350, 200), strict=True):
        assert path.write_bytes(b"memory %d" % size)
    assert [(path.name, finding.kind) for _, path, finding in replay(inputs)] == [("0", "memory"), ("2", "memory")]


@pytest.mark.parametrize("target", [*text_targets.TARGETS, *metadata_targets.TARGETS], ids=lambda t: t.name)
def test_a_few_random_inputs_are_read_or_refused(target, tmp_path):
    seeds = target.seeds()
    *findings, count = fuzz(Probe(target, tmp_path / "current"), seeds, seeds[:3], Random(1), seconds=60, most=10)
    assert (findings, count) == ([], 10)


@pytest.mark.long
def test_a_crash_while_inputs_are_changed_is_a_finding_and_the_server_goes_on(tmp_path, monkeypatch):
    (tmp_path / "self-test").mkdir()
    (tmp_path / "self-test" / "crash").write_bytes(b"crash")
    monkeypatch.setattr(runs, "CORPUS", tmp_path)
    report = explore("self-test", seconds=0.2, seed=1)
    assert {(f.kind, f.data) for f in report.findings} == {("SIGSEGV", b"crash")}
    (tmp_path / "self-test" / "crash").write_bytes(b"fine")
    report = explore("self-test", seconds=0.2, seed=1)
    assert (report.findings, report.count > 0) == ([], True)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_random_inputs_are_read_or_refused(name):
    report = explore(name, seconds=0.5, seed=1)
    assert report.count > 0
    assert [(f.kind, f.place, f.data[:200], f.detail) for f in report.findings] == []


def test_a_changed_document_stays_small():
    """Changes can repeat parts in each other: without the limit, this one has 10**16 numbers."""
    value = [7]
    for _ in range(8):
        value = [value] * 100
    assert len(mutators._dumped(value)) < mutators.MOST_BYTES + 10
