"""benchmarks.commits: a small run without Java reports every table and counts the reads of a commit."""

from benchmarks.commits import arguments, report


def test_a_small_run_reports_every_table_and_lists_no_history():
    args = ["--snapshots", "4", "40", "--files", "3", "--commits", "2", "--expire", "6", "--skip-java"]
    lines = report(arguments(args)).splitlines()
    assert [line.split("  ")[0] for line in lines[2:] if not line.startswith("  ")] == [
        "table of 4 snapshots",
        "table of 40 snapshots",
        "table of 3 live files",
        "expiry of 6 snapshots",
    ]
    short, long = (line for line in lines if "bytes read" in line and "files left out" in line and line != lines[-2])
    assert short.split(", ")[:4] == long.split(", ")[:4]
