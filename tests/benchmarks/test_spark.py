import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.processes import Seconds
from benchmarks.spark.case import Case, Mark, Measured
from benchmarks.spark.cases import CASES, chosen
from benchmarks.spark.cluster import Sides
from benchmarks.spark.report import markdown, picture, text, write
from benchmarks.spark.results import Results
from tests.support.standalone import quick_java

ROOT = Path(__file__).resolve().parents[2]
PEER = Case("peer", lambda lake: None)
HALF = Case("half", lambda lake: None, "peer", Mark(times=0.5))
LATE = Case("late", lambda lake: None, "peer", Mark(times=2, plus=4), wall=True)
FIXED = Case("fixed", lambda lake: None, "peer", Mark(plus=20))
FAKES = [PEER, HALF, LATE, FIXED]


def results(scale=1.0):
    found = Results(scale)
    found.add(
        "4",
        {
            "peer": Measured(Seconds(2.0, 1.0, 1.0), 3.0),
            "half": Measured(Seconds(1.0, 0.0, 0.0), 1.0),
            "late": Measured(Seconds(1.0, 0.0, 0.0), 20.0),
            "fixed": Measured(Seconds(5.0, 3.0, 2.0), 8.0, (3_000_000, 2_000_000, 1_000_000)),
        },
    )
    return found


def run(*arguments, timeout=120):
    command = [sys.executable, "-m", "benchmarks.spark", *arguments]
    quick = os.environ | {"JAVA_TOOL_OPTIONS": quick_java()}
    return subprocess.run(command, cwd=ROOT, env=quick, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.parametrize(
    ("case", "scale", "share"),
    [(PEER, 1.0, None), (HALF, 1.0, 0.5), (LATE, 1.0, 2.0), (FIXED, 1.0, 0.5), (FIXED, 0.1, None)],
    ids=["no mark", "of processor seconds", "of the clock and more seconds", "seconds", "seconds at another scale"],
)
def test_a_case_is_compared_with_the_seconds_that_its_mark_allows(case, scale, share):
    assert results(scale).share("4", case) == share


def test_a_peer_without_seconds_has_no_ratio():
    found = Results(1.0)
    found.add("4", {"peer": Measured(Seconds(0.0, 0.0, 0.0), 0.0), "half": Measured(Seconds(1.0, 0.0, 0.0), 1.0)})
    assert found.ratio("4", HALF) is None
    assert found.share("4", HALF) is None


def test_the_table_names_reached_and_missed_marks_and_the_memory():
    lines = text(results(), "4", FAKES).splitlines()
    assert lines[2].endswith("0.25  0.5 times, reached")
    assert lines[3].endswith("6.67  2 times + 4 s, missed by 100%")
    assert lines[5] == "  most memory: JVM 3 MB, largest worker 2 MB, driver 1 MB"
    table = markdown(results(), FAKES)
    assert "| half | 1.00 | 0.00 | 0.00 | 1.00 | 1.00 | 0.25 | peer | 0.5 times, reached |" in table
    assert "- Most memory of fixed: JVM 3 MB" in table


def test_the_picture_has_a_bar_for_each_case_with_a_mark():
    root = ET.fromstring(picture(results(), FAKES))
    bars = [found.get("class") for found in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars == ["reached", "missed", "reached"]


def test_a_later_run_completes_the_results_of_a_folder(tmp_path):
    write(results(), FAKES, tmp_path)
    again = Results.load(tmp_path, 1.0)
    assert again == results()
    again.add("4", {"half": Measured(Seconds(9.0, 0.0, 0.0), 9.0)})
    assert again.of("4", "half") != results().of("4", "half")
    assert again.of("4", "peer") == results().of("4", "peer")
    with pytest.raises(ValueError, match=r"results of scale 1, not 0\.1"):
        Results.load(tmp_path, 0.1)


def test_the_names_of_cases_are_unique_and_their_peers_exist():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert {case.peer for case in CASES} - {None} <= set(names)


def test_peers_of_chosen_cases_are_measured_too():
    assert [case.name for case in chosen(["orders: upsert of 10 %, from files"])] == [
        "orders: plain Parquet through Spark",
        "orders: from a DataFrame",
        "orders: upsert of 10 %, from files",
    ]


def test_the_processor_seconds_of_a_worker_include_ended_processes_that_it_started(tmp_path):
    # /proc rounds each time down to a hundredth of a second, so the test waits for less than a process uses.
    busy = "import time\nwhile time.process_time() < 0.5: pass\ninput()"
    code = f"import subprocess, sys\nfor _ in range(2): subprocess.run([sys.executable, '-c', {busy!r}])"
    worker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True)
    master = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True)
    try:
        for name, process in (("worker-0", worker), ("master", master)):
            (tmp_path / f"{name}.pid").write_text(str(process.pid))
        sides = Sides(tmp_path, 1)
        until = time.monotonic() + 60
        while (used := sides.used())[1] < 0.4 and time.monotonic() < until:
            time.sleep(0.05)
        worker.stdin.write("\n")
        worker.stdin.flush()
        while (more := sides.used())[1] < used[1] + 0.2 and time.monotonic() < until:
            time.sleep(0.05)
        assert more[1] >= used[1] + 0.2
        assert more[0] >= used[0] > 0
    finally:
        for process in (worker, master):
            process.stdin.close()
            process.wait()


@pytest.mark.long
def test_each_case_has_a_line_with_its_seconds(tmp_path):
    names = ["orders: from files", "orders: compacted, sum by group"]
    options = ["--scale", "0.001", "--repeats", "1", "--partitions", "4", "--output", str(tmp_path)]
    done = run(*options, "--cases", *names, timeout=300)
    assert done.returncode == 0, done.stderr
    cases = chosen(names)
    head, *lines = [line for line in done.stdout.splitlines() if line][-1 - len(cases) :]
    assert head.split()[:3] == ["shuffle", "partitions", "4"]
    assert [line[:58].strip() for line in lines] == [case.name for case in cases]
    assert set(Results.load(tmp_path, 0.001).found["4"]) == {case.name for case in cases}
    assert {path.name for path in tmp_path.iterdir()} == {"spark.json", "spark.md", "spark.svg"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "order of"], CASES[0].name),
        (["--partitions", "4", "many"], "must be whole numbers from 1 on, or default, not 'many'"),
        (["--repeats", "0"], "--repeats must be at least 1, not 0"),
    ],
    ids=["a case", "partitions", "repeats"],
)
def test_wrong_arguments_are_refused(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
