import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.lake import ROOT


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingest-flights", "--from", "2013-02-30"], "argument --from: '2013-02-30' is not a day such as 2013-01-31"),
        (["ingest-flights", "--from", "2013-02-02", "--to", "2013-02-01"], "2013-02-01 lies before the first day"),
        (["ingest-flights", "--from", "2012-12-31", "--to", "2013-01-01"], "the source has no day 2012-12-31"),
        (["ingest-weather", "--env", "moon"], "no environment 'moon': configs/ has local, prod, s3, standalone"),
        (["aggregate-carrier-day"], "ods.flights is not in the lake"),
        (["compact", "--table", "ods.trains"], "no table 'ods.trains' is declared in configs/tables"),
        (["compact", "--table", "ods.flights"], "ods.flights is not in the lake"),
        (["compact"], "the following arguments are required: --table"),
        (["tag", "--table", "ods.flights", "--name", "x"], "ods.flights is not in the lake"),
        (["show"], "there is no table in"),
        (["polish"], "invalid choice: 'polish'"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_exit_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments != ["polish"]:
        arguments = [*arguments, "--warehouse", str(tmp_path / "lake")]
    try:
        code: object = main(arguments)
    except SystemExit as exited:
        code = exited.code
    said = capsys.readouterr()
    assert code == 2
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "lake").exists()


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipelines", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "ingest-flights" in done.stdout
