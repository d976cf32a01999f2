import ast
import subprocess
import sys

import pytest


@pytest.mark.long
@pytest.mark.programs
@pytest.mark.parametrize("kind", ["ours", "foreign"])
def test_a_bit_that_flips_in_a_footer_is_found_and_ends_no_process(kind):
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.flips", kind, "400"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = ast.literal_eval(done.stdout)
    assert "silent" not in counts
    assert counts["found"] > 200
