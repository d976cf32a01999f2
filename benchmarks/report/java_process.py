"""The JVM with Apache Paimon's Java code, with the operations and answers of a library process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.java_side import JavaSide
from benchmarks.report.library_process import PeerUnavailable
from tests.support.oracle import SOURCES, OracleUnavailable

FIRST_TIMES = 3


class JavaProcess:
    """Processor seconds are those of the JVM with its compiler and garbage collector; creating rows is subtracted."""

    def __init__(self, folder: Path) -> None:
        try:
            self._java = JavaSide()
        except OracleUnavailable as reason:
            raise PeerUnavailable(str(reason)) from None
        self._process = psutil.Process(self._java.pid)
        self._warehouse = f"{folder}/java"
        self._created: dict[tuple[int, int], float] = {}
        pom = (SOURCES / "pom.xml").read_text()
        bundle = pom.split("<artifactId>paimon-bundle</artifactId><version>")[1]
        self.versions = {"Apache Paimon (Java)": bundle.partition("<")[0]}

    def ask(self, op: str, *arguments: Any, batch: list[int] | None = None, times: int = 1) -> dict[str, Any]:
        """Return the answer to one operation; ``unsupported`` or ``failed`` say why there is none."""
        try:
            return self._answer(op, *arguments, batch=batch, times=times)
        except AssertionError as error:
            return {"failed": str(error)[:300]}

    def _answer(self, op: str, *arguments: Any, batch: list[int] | None, times: int) -> dict[str, Any]:
        if op == "delete":
            return {"unsupported": "paimon-core in Java has no delete by a condition; Flink and Spark have it"}
        name = arguments[0]
        if op == "make":
            _, key, options = arguments
            how = f"pk:{','.join(key)}" if key else "append"
            self._java.run("create", self._warehouse, name, how, *(f"{n}={v}" for n, v in options.items()))
            return {}
        if op == "many":
            self._java.run("many", self._warehouse, *arguments)
            return {}
        if op in ("write", "upsert", "commit"):
            assert batch is not None
            return self._write(name, batch, times)
        if op == "compact":
            return self._spent(1, "compact", self._warehouse, name)[0]
        if op == "plan":
            return self._plan(*arguments)
        return self._query(op, name, arguments, times)

    def _write(self, name: str, batch: list[int], times: int) -> dict[str, Any]:
        first, rows, keys = batch[:3]  # Java knows from its table whether rows have nulls
        if (rows, keys) not in self._created:
            found = [self._spent(1, "rows", self._warehouse, name, rows, 1, keys)[0] for _ in range(FIRST_TIMES)]
            self._created[rows, keys] = min(answer["processor"] for answer in found)
        answer, _ = self._spent(times, "write", self._warehouse, name, rows, times, keys, first)
        return {**answer, "processor": answer["processor"] - self._created[rows, keys]}

    def _query(self, op: str, name: str, arguments: tuple[Any, ...], times: int) -> dict[str, Any]:
        columns = "*" if op == "find" or arguments[1] is None else ",".join(arguments[1])
        low, high = arguments[1:] if op == "find" else ("-", "-")
        answer, timings = self._spent(times, "query", self._warehouse, name, columns, low, high, 0, times)
        return {**answer, "rows": timings[-1]["rows"], "checksum": timings[-1]["checksum"]}

    def _plan(self, warehouse: str, name: str, warm: bool) -> dict[str, Any]:
        """The first plan of a command has a new catalog; a warm plan is the mean of ten more."""
        cold, _ = self._spent(1, "plan", warehouse, name, 1)
        if not warm:
            return cold
        many, _ = self._spent(1, "plan", warehouse, name, 11)
        return {**many, **{kind: max(0.0, many[kind] - cold[kind]) / 10 for kind in ("processor", "clock")}}

    def _spent(self, times: int, *command: object) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")
        used, clock = self._process.cpu_times(), time.perf_counter()
        timings = self._java.run(*command)
        clock, after = time.perf_counter() - clock, self._process.cpu_times()
        spent = after.user + after.system - used.user - used.system
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
        return {"processor": spent / times, "clock": clock / times, "peak": peak}, timings

    def close(self) -> None:
        """Stop the JVM."""
        self._java.close()
