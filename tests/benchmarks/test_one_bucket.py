"""benchmarks.one_bucket: a small run reports each work."""

import sys

from benchmarks.one_bucket import main


def test_a_small_run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["one_bucket", "--rows", "2000", "--runs", "2", "--rounds", "1"])
    main()
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("merge", "compaction", "write"))
