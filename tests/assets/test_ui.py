import socket

import pytest

from paimon_dagster.ui import check_port, main
from paimon_lake.protocol import PipelineError


def test_a_taken_port_is_said_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["--port", str(port)]) == 2
    assert capsys.readouterr().err == f"ui: port {port} is in use: choose another with --port\n"
    check_port(port)


def test_a_number_that_is_no_port() -> None:
    with pytest.raises(PipelineError, match="70000 is not a valid port"):
        check_port(70000)
