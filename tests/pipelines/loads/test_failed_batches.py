"""Loads whose later batch fails: what was committed before is in the error, and every caller tells it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_lake.cli import main as command_line
from paimon_lake.loads import load
from paimon_lake.loads.files.file_load import FileLoads
from paimon_lake.protocol import AuditFailed, PartsFailed, PipelineError, TablesFailed
from paimon_lake.steps.follow import Follow

FILES = "{type: files, path: 'in/*.csv'}"
TABLE = f"columns: {{id: BIGINT, a: INT}}\nprimary_key: id\nsource: {FILES}\n"
WIDE = f"""
    columns: {{id: BIGINT, a: INT, a_at: INT, b: INT, b_at: INT}}
    primary_key: id
    parts:
      first: {{source: {FILES}, columns: a, order_by: a_at}}
      second: {{source: {{type: files, path: 'other/*.csv'}}, columns: b, order_by: b_at}}
"""


@pytest.fixture
def failing(quick, monkeypatch):
    """The second batch of a run fails."""
    plan, planned = FileLoads.plan, []

    def one_batch(loads, step):
        planned.append(step)
        if len(planned) > 1:
            raise PipelineError("the source is gone")
        return replace(plan(loads, step), has_more=True)

    quick.declare("shop.t", TABLE)
    quick.declare("shop.wide", WIDE)
    quick.file("in/1.csv", "id,a\n1,2\n2,3\n")
    monkeypatch.setattr(FileLoads, "plan", one_batch)
    return quick


def test_the_error_of_a_table_has_the_result_of_its_committed_batches(failing):
    with pytest.raises(TablesFailed, match=r"^the source is gone; committed before, and kept: shop\.t \(snapshot 1\)$"):
        failing.load("shop.t")
    assert failing.rows("shop.t") == [(1, 2), (2, 3)]


def test_the_error_of_one_part_has_the_result_of_its_committed_batches(failing):
    failing.file("in/1.csv", "id,a,a_at\n1,2,1\n")
    with pytest.raises(PartsFailed, match=r"1 rows written; .*; part first failed: the source is gone$") as failed:
        failing.load("shop.wide", part="first")
    assert failed.value.result.commits == (1,)


@pytest.mark.parametrize(("name", "as_json", "told"), [
    ("shop.t", [], "load shop.t: 2 rows written; "),
    ("shop.t", ["--json"], '"rows_written": 2'),
    ("shop.wide", ["--json"], '"rows_written": 1'),
])  # fmt: skip
def test_the_command_line_prints_what_was_committed_and_exits_1(failing, monkeypatch, capsys, name, as_json, told):
    monkeypatch.setattr(command_line, "start_session", lambda settings: failing.session)
    if name == "shop.wide":
        failing.file("in/1.csv", "id,a,a_at\n1,2,1\n")
    part = ["--part", "first"] if name == "shop.wide" else []
    asked = ["load", "--table", name, *part, *as_json, "--configs", str(failing.folder), "--warehouse"]
    assert command_line.main([*asked, failing.settings.warehouse]) == 1
    printed = capsys.readouterr()
    assert told in printed.out
    assert "the source is gone" in printed.err


def test_follow_tells_what_was_committed_and_then_the_failure(failing):
    run = Follow(failing.spark, failing.settings, ["shop.t"], every=0.01, seconds=30.0).run()
    assert next(run).commits == (1,)
    with pytest.raises(PipelineError, match=r"^the source is gone$"):
        next(run)


def test_a_first_batch_that_fails_raises_its_own_error(failing):
    failing.file("in/1.csv", "id,a\nx,2\n")
    with pytest.raises(AuditFailed):
        failing.load("shop.t")


def test_a_failure_right_after_a_commit_does_not_hide_it(quick, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    quick.declare("shop.t", TABLE + "rejects: {max_share: 0.5}\n")
    quick.file("in/1.csv", "id,a\n1,2\nx,3\n")
    with monkeypatch.context() as patched:
        patched.setattr(load, "publish_rejects", full)
        with pytest.raises(TablesFailed, match=r"No space .*; committed before, and kept: shop\.t \(snapshot 1\)$"):
            quick.load("shop.t")
    assert quick.rows("shop.t") == [(1, 2)]
    quick.load("shop.t")
    assert len(quick.rows("shop.t__rejects")) == 1
