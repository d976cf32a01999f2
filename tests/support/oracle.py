"""Apache Paimon's Java code as an oracle: one JVM that runs JSON scripts (tests/oracle/README.md).

Maven downloads the jars into its cache, and the classes are compiled once per version of the sources into
``PAIMON_ORACLE_CACHE`` (default: ``~/.cache/paimon-oracle``). ``OracleUnavailable`` names in one sentence what is
missing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.one_at_a_time import one_at_a_time

SOURCES = Path(__file__).resolve().parent.parent / "oracle"
RESOLVE_SECONDS = 900
ANSWER_SECONDS = 300
QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Half the processor time of the tests, whose scripts are too short for more optimisation."""


class OracleUnavailable(Exception):
    """Java, a compiler, Maven or the jars are missing; the message says which."""


def java_command(main: str, *args: str) -> list[str]:
    """Return the command that runs class ``main`` of tests/oracle; the first call fetches jars and compiles classes."""
    java, javac = _jdk_tool("java"), _jdk_tool("javac")
    cache = _cache_folder()
    with one_at_a_time(cache / "lock"):
        classpath = os.pathsep.join([_classpath(cache), *_rocksdb()])
        classes = _classes(cache, javac, classpath)
    options = os.environ.get("ORACLE_JAVA_OPTS", "-Xmx2g").split()
    return [java, *options, "-cp", f"{classpath}{os.pathsep}{classes}", main, *args]


def _cache_folder() -> Path:
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paimon-oracle"
    folder = Path(os.environ.get("PAIMON_ORACLE_CACHE") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _jdk_tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else shutil.which(name)
    if found is None:
        raise OracleUnavailable(f"no {name}: the Java oracle needs a JDK 17 or later")
    return found


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:12]


def _rocksdb() -> list[str]:
    """Return the jar of RocksDB that PySpark contains, which Paimon's index of keys across partitions needs."""
    spec = importlib.util.find_spec("pyspark")
    folders = () if spec is None else spec.submodule_search_locations or ()
    return [str(jar) for folder in folders for jar in Path(folder).glob("jars/rocksdbjni-*.jar")]


def _classpath(cache: Path) -> str:
    pom = SOURCES / "pom.xml"
    kept = cache / f"classpath-{_digest(pom)}"
    if kept.exists():
        classpath = kept.read_text()
        if all(Path(jar).exists() for jar in classpath.split(os.pathsep)):
            return classpath
    maven = shutil.which("mvn")
    if maven is None:
        raise OracleUnavailable("no mvn: the Java oracle needs Maven to fetch Apache Paimon's jars")
    with tempfile.TemporaryDirectory(dir=cache) as work:
        out = Path(work) / "classpath"
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={out}"]
        _run([maven, "-q", "-B", "-f", str(pom), *goal], "Maven could not fetch Apache Paimon's jars", RESOLVE_SECONDS)
        out.replace(kept)
    return kept.read_text()


def _classes(cache: Path, javac: str, classpath: str) -> Path:
    sources = sorted(SOURCES.glob("*.java"))
    kept = cache / f"classes-{_digest(*sources)}"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=cache) as work:
            out = Path(work) / "classes"
            out.mkdir()
            command = [javac, "-nowarn", "-cp", classpath, "-d", str(out), *map(str, sources)]
            _run(command, "the oracle's sources do not compile", 120)
            try:
                out.rename(kept)
            except OSError:  # another session has created the same classes
                if not kept.exists():
                    raise
    return kept


def _run(command: Sequence[str], failure: str, seconds: int) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise OracleUnavailable(f"{failure}: no end after {seconds} s") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise OracleUnavailable(f"{failure}: {lines[0][:300] if lines else f'exit status {done.returncode}'}")


class JavaServer:
    """A JVM that reads one line and answers with lines; it is killed when an answer takes too long."""

    def __init__(self, main: str, java_options: Sequence[str] = ()) -> None:
        java, *rest = java_command(main, "-serve")
        command = [java, *java_options, *rest]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the JVM
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            encoding="utf-8",
        )

    def ask(self, line: str, is_last: Callable[[str], bool], seconds: float = ANSWER_SECONDS) -> list[str]:
        """Send ``line`` and return the lines of the answer, up to the one that ``is_last`` accepts."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        answer = []
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            while not answer or not is_last(answer[-1]):
                answer.append(self.process.stdout.readline())
                if not answer[-1]:
                    raise AssertionError(f"the JVM ended with status {self.process.wait()}: {self._last_errors()}")
        except BrokenPipeError:
            raise AssertionError(f"the JVM ended with status {self.process.wait()}: {self._last_errors()}") from None
        finally:
            timer.cancel()
        return answer

    def _last_errors(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:]

    def close(self) -> None:
        """End the JVM by closing its input."""
        try:
            self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self.errors.close()


class Oracle:
    """Runs scripts with Apache Paimon in Java, in one JVM, one after the other; nothing is kept between scripts."""

    def __init__(self, *java_options: str) -> None:
        self._server = JavaServer("PaimonOracle", (*QUICK_START, *java_options))
        self._turn = threading.Lock()

    def run(
        self,
        warehouse: str | Path,
        steps: Sequence[Mapping[str, Any]],
        *,
        allow_errors: bool = False,
        catalog_options: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return one result per step, with its ``op``; AssertionError for a failed step unless ``allow_errors``."""
        script = {"warehouse": str(warehouse), "catalogOptions": dict(catalog_options or {}), "steps": list(steps)}
        with self._turn:
            (line,) = self._server.ask(json.dumps(script), lambda _: True)
        results = json.loads(line)
        if isinstance(results, dict):
            raise AssertionError(f"Java could not run the script: {results['error']}")
        if not allow_errors:
            for step, result in zip(steps, results, strict=True):
                assert "error" not in result, f"Java failed at {json.dumps(step)[:500]}: {result['error']}"
        return results

    def dump(self, warehouse: str | Path, table: str, **fields: Any) -> list[list[Any]]:
        """Return the rows of the table as Java reads them, sorted, each ``[kind, v1, v2, ...]``."""
        return self.run(warehouse, [{"op": "dump", "table": table, **fields}])[0]["rows"]

    def close(self) -> None:
        """End the JVM."""
        self._server.close()
