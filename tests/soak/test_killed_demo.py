from pathlib import Path

import pytest

from tests.soak.killed_demo import play


@pytest.mark.long
@pytest.mark.spark
def test_a_main_job_that_was_killed_is_completed_by_its_repetition(tmp_path: Path) -> None:
    assert len(list(play(2, seed=1, folder=tmp_path))) == 2
