"""Fixtures of every test: a Spark session, the Java oracle and pypaimon, each started once and only when asked for.

A test that asks for one of them carries its marker by itself. Temporary files are in memory where there is room.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support import fake_tables, indexed_memory, longest_first
from tests.support.oracle import Oracle, OracleUnavailable
from tests.support.pypaimon_env import Pypaimon, PypaimonRust, PypaimonUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 4 * 2**30
"""Temporary files are kept in memory when it has room for so many bytes."""
MARKER_OF_FIXTURE = {"oracle": "java", "spark": "spark", "pypaimon": "pypaimon", "pypaimon_rust": "pypaimon"}
LONG = (
    "tests/assets/test_catalogs.py",
    "tests/assets/test_dagster_dev.py",
    "tests/assets/test_demo.py",
    "tests/assets/test_dg.py",
    "tests/assets/test_secrets.py",
    "tests/benchmarks/",
    "tests/cluster/",
    "tests/differential/",
    "tests/flights/test_main_job.py",
    "tests/fuzz/test_corpus.py",
    "tests/integration/",
    "tests/interop/",
    "tests/pipelines/loads/kafka/",
    "tests/pipelines/loads/keyed/test_histories.py",
    "tests/pipelines/loads/lookup/test_histories.py",
    "tests/pipelines/loads/lookup/test_part_histories.py",
    "tests/pipelines/loads/postgres/test_followed_lookups.py",
    "tests/pipelines/loads/postgres/test_group_histories.py",
    "tests/pipelines/loads/postgres/test_histories.py",
    "tests/pipelines/loads/postgres/test_inferred_columns.py",
    "tests/pipelines/loads/postgres/test_interrupted.py",
    "tests/pipelines/loads/postgres/test_killed.py",
    "tests/pipelines/loads/postgres/test_lag.py",
    "tests/pipelines/loads/postgres/test_part",
    "tests/pipelines/loads/postgres/test_left_slots.py",
    "tests/pipelines/loads/postgres/test_refusals.py",
    "tests/pipelines/loads/postgres/test_schema_changes.py",
    "tests/pipelines/loads/postgres/test_schema_histories.py",
    "tests/pipelines/loads/postgres/test_several_",
    "tests/pipelines/loads/postgres/test_shared_",
    "tests/pipelines/loads/test_part_histories.py",
    "tests/pipelines/test_extras.py",
    "tests/pipelines/test_s3.py",
    "tests/regressions/test_limits.py",
    "tests/object_stores/test_conformance.py",
    "tests/object_stores/test_faults.py",
    "tests/object_stores/test_java_there.py",
    "tests/object_stores/test_races.py",
    "tests/object_stores/test_table_life.py",
    "tests/simulator/test_dropped.py",
    "tests/simulator/test_every_call.py",
    "tests/simulator/test_mutants.py",
    "tests/simulator/test_power_loss.py",
    "tests/soak/",
    "tests/spark/test_engines.py",
    "tests/spark/test_sql_",
    "tests/spark/test_streams.py",
    "tests/unit/fsck/test_bit_rot.py",
    "tests/unit/maintain/expiry/test_known_bugs.py",
    "tests/unit/predicate/test_long_filters.py",
)
"""Tests of `make test-long`: many cases of what shorter tests cover, real clusters, and whole programs."""
NOT_LONG = (
    "tests/interop/test_bucket_functions.py",
    "tests/interop/test_codec.py",
    "tests/interop/test_java_both_ways.py",
    "tests/interop/test_java_maintenance.py",
    "tests/interop/test_options.py",
)
"""Files of the folders of LONG that `make test` has: Java and this library in turns, and what both compute alike."""


settings.register_profile("quick", max_examples=10, deadline=None)
settings.register_profile("long", max_examples=40, deadline=None)
settings.load_profile("quick")
indexed_memory.use()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help="write and print tests/support/durations.json")


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory, unless the caller says where they are (``--basetemp``)."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return longest_first.LongestFirst(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["controller"] = os.getpid()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without the garbage collector, and leave the collected tests out of its later runs."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze()
    if not hasattr(session.config, "workerinput"):
        longest_first.groups_path(os.getpid()).unlink(missing_ok=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    again = settings.get_current_profile_name() == "long"
    slow = longest_first.slow_files()
    for item in items:
        if longest_first.file_of(item.nodeid) in slow:
            item.add_marker("slow")
        is_random = hasattr(getattr(item, "function", None), "hypothesis")
        if (item.nodeid.startswith(LONG) and not item.nodeid.startswith(NOT_LONG)) or (again and is_random):
            item.add_marker("long")
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in MARKER_OF_FIXTURE:
                item.add_marker(MARKER_OF_FIXTURE[fixture])
    if hasattr(config, "workerinput"):
        longest_first.tell_groups(items, config.workerinput["controller"])


@pytest.fixture(scope="module", autouse=True)
def empty_memory() -> Iterator[None]:
    """No files of earlier modules in ``memory://``."""
    yield
    indexed_memory.clear()


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """An empty folder on a disk, for tests of the disk: ``tmp_path`` may be in memory."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """The path of an empty warehouse."""
    return str(tmp_path / "warehouse")


@pytest.fixture
def fake_rows() -> Iterator[None]:
    """Commits of the files of ``tests.support.fake_tables``, whichever was made first."""
    with fake_tables.fake_rows():
        yield


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """Apache Paimon in Java: ``oracle.run(warehouse, steps)``, ``oracle.dump(warehouse, table)``."""
    try:
        started = Oracle()
    except OracleUnavailable as reason:
        pytest.skip(str(reason))
    yield started
    started.close()


@pytest.fixture(scope="session")
def pypaimon() -> Pypaimon:
    """pypaimon in its own environment: ``pypaimon.count(warehouse, table)``, ``pypaimon.rows(...)``."""
    try:
        return Pypaimon()
    except PypaimonUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def pypaimon_rust() -> PypaimonRust:
    """pypaimon-rust in its own environment: ``pypaimon_rust.queries(warehouse, ["SELECT * FROM paimon.db.t"])``."""
    try:
        return PypaimonRust()
    except PypaimonUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of a test run: local[2], quick to start, UTC, no web UI."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else shutil.which("java")
    if java is None or not Path(java).exists():
        pytest.skip("no Java: Spark needs Java 17 or later")
    from pyspark.sql import SparkSession

    from paimon_lake.class_archive import archive_options

    folder = tmp_path_factory.mktemp("spark")
    java_options = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dderby.system.home={folder} {archive_options()}"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        environment.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
        session = (
            SparkSession.builder.master("local[2]")
            .appName("tests")
            .config("spark.driver.extraJavaOptions", java_options)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.local.dir", str(folder / "local"))
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "4")
            # The queries of tests have few rows: generating and compiling Java code for them takes longer.
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.python.daemon.module", "paimon_lake.daemon")
            .config("spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", "false")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the bad inputs of this run (``tests/bad_inputs``), also those that ran in other processes."""
    if terminalreporter.config.getoption("--record-durations"):
        found = (r for some in terminalreporter.stats.values() for r in some if isinstance(r, pytest.TestReport))
        for name, seconds in longest_first.record(found).items():
            terminalreporter.write_line(f"seconds of the files of `make {name}`: {seconds}")
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.stats.get(outcome, ())]
    noted = [pair for r in reports if r.when == "call" for pair in r.user_properties]
    found = [value for name, value in noted if name == "bad input"]
    if not found:
        return
    clear, silent = found.count("clear"), found.count("silent")
    text = f"bad inputs: {len(found)} tried, {clear} clear errors, {silent} silent"
    if unclear := len(found) - clear - silent:
        text += f", {unclear} unclear"
    if later := sum(value for name, value in noted if name == "not yet"):
        text += f"; {later} of 138 kinds not applicable yet"
    terminalreporter.write_line(text)
