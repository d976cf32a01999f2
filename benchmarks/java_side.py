"""Timings of Apache Paimon's Java code: one warm JVM that runs the commands of tests/oracle/PaimonBench.java."""

import json
from typing import Any

from tests.support.oracle import JavaServer

ANSWER_SECONDS = 3600


class JavaSide:
    """Runs one command at a time; the JVM is idle in between, so that it does not slow down the other side."""

    def __init__(self) -> None:
        self._server = JavaServer("PaimonBench")

    @property
    def pid(self) -> int:
        """The number of the JVM's process."""
        return self._server.process.pid

    def run(self, *command: object) -> list[dict[str, Any]]:
        """Return the timings that the command printed, each with ``op``, ``rows`` and ``seconds``."""
        lines = self._server.ask(
            "\t".join(map(str, command)), lambda line: line.startswith(('{"done"', '{"error"')), ANSWER_SECONDS
        )
        *timings, end = map(json.loads, lines)
        assert "error" not in end, f"PaimonBench {command}: {end['error']}"
        return timings

    def seconds(self, *command: object) -> list[float]:
        """Return the seconds of each timing that the command printed."""
        return [timing["seconds"] for timing in self.run(*command)]

    def close(self) -> None:
        """Stop the JVM."""
        self._server.close()
