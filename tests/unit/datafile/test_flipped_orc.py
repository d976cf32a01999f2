import ast
import subprocess
import sys


def test_a_bit_that_flips_in_an_orc_file_of_ours_is_found_and_ends_no_process():
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.orc_flips", "ours", "2000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = ast.literal_eval(done.stdout)
    assert "silent" not in counts
    assert counts["found"] > 1950
