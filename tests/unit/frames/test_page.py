"""The examples of docs/frames.md run."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "frames.md"


@pytest.mark.long
@pytest.mark.programs
def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (script,) = [block for block in blocks if "__main__" in block]
    Path("examples.py").write_text("\n".join(block for block in blocks if block != script))
    runpy.run_path("examples.py")
    Path("prices.py").write_text(script)
    done = subprocess.run([sys.executable, "prices.py"], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "16.75\n"
