import ast
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("kind", "silent"), [("ours", 0), ("foreign", 20)])
def test_a_bit_that_flips_in_an_orc_file_ends_no_process_and_is_found_in_ours(kind, silent):
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.orc_flips", kind, "2000"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    counts = ast.literal_eval(done.stdout)
    assert counts.get("silent", 0) <= silent
    assert counts["found"] > (1950 if kind == "ours" else 900)
