"""benchmarks.reads: a small run without the other libraries has a line for each query."""

from benchmarks.reads import fill, queries, report


def test_each_query_has_a_line(tmp_path, capsys):
    asked = queries(60, fill(str(tmp_path), 20, 3, 60))
    report(str(tmp_path), asked, None, peers=False)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.partition("  ")[0] for line in lines] == [f"{q.table}: {q.name}" for q in asked]
