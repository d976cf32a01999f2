"""Apache Paimon's Java code under the clock: one warm JVM that runs tests/oracle/PaimonBench.java's commands."""

import json
from typing import Any

from tests.support.oracle import JavaServer

ANSWER_SECONDS = 3600


class JavaSide:
    """Runs one command at a time; idle between them, so that the other side has the machine to itself."""

    def __init__(self) -> None:
        self._server = JavaServer("PaimonBench")

    def run(self, *words: object) -> list[dict[str, Any]]:
        """The timings that the command printed, each with ``op``, ``rows`` and ``seconds``."""
        lines = self._server.ask(
            "\t".join(map(str, words)), lambda line: line.startswith(('{"done"', '{"error"')), ANSWER_SECONDS
        )
        *timings, end = map(json.loads, lines)
        assert "error" not in end, f"PaimonBench {words}: {end['error']}"
        return timings

    def seconds(self, *words: object) -> list[float]:
        """The seconds of each timing that the command printed."""
        return [timing["seconds"] for timing in self.run(*words)]

    def close(self) -> None:
        """Ends the JVM."""
        self._server.close()
