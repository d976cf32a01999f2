import ast
import subprocess
import sys

import pytest

from tests.support.long_cases import long_cases


@pytest.mark.programs
@pytest.mark.parametrize("flips", long_cases([2000]))
@pytest.mark.parametrize(("kind", "silent"), [("ours", 0), ("foreign", 0.01)])
def test_a_bit_that_flips_in_an_orc_file_ends_no_process_and_is_found_in_ours(kind, silent, flips):
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.orc_flips", kind, str(flips)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    counts = ast.literal_eval(done.stdout)
    assert counts.get("silent", 0) <= silent * flips
    assert counts["found"] > (0.975 if kind == "ours" else 0.45) * flips
