"""benchmarks.small_files: a small run reports every case beside its limit."""

from benchmarks.small_files import main


def test_each_case_has_a_line(capsys):
    main(["--files", "3", "--partitions", "4", "--rounds", "1"])
    head, *lines, modules = capsys.readouterr().out.splitlines()
    assert head.split() == ["processor", "seconds", "ours", "limit", "ratio"]
    cases = ["wide cold", "wide warm", "buckets 1", "buckets 3", "first row"]
    assert [line[:20].strip() for line in lines] == cases
    assert all(float(line.split()[-3]) > 0 for line in lines)
    assert modules.startswith("modules of paimon_core")
