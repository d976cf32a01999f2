"""The benchmark of many files runs with few files; no time is checked."""

from benchmarks import million_files


def test_all_measures_of_few_files(tmp_path, capsys):
    million_files.main(["--files", "300", "--folder", str(tmp_path), "--here"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(million_files.MEASURES) + 2  # two have a second measure
    for what in million_files.MEASURES:
        assert any(line.startswith(f"{what}: ") for line in lines)
