"""benchmarks.longevity: a small run compares two tables with equal rows, and draws both."""

import sys

from benchmarks.longevity import main


def test_a_small_run(monkeypatch, capsys, tmp_path):
    picture = tmp_path / "longevity.svg"
    small = ["--rows", "2000", "--rounds", "3", "--picture", str(picture)]
    monkeypatch.setattr(sys, "argv", ["longevity", *small])
    main()
    shown = capsys.readouterr().out
    assert "bound: write amplification" in shown
    assert "ratio: write amplification" in shown
    assert "size ratio alone" in picture.read_text()
