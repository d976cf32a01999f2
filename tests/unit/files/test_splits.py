"""Splits: every byte of the files is in one part, in order, and paths are checked before a job starts."""

import itertools

import pytest

from paimon_core.errors import InvalidRequest, NotFound
from paimon_core.files import splits
from paimon_core.files.file_format import FileFormat
from paimon_core.files.splits import FileSplit, SourceFile, cut_files, list_files, task_count

MIB = 1 << 20


def files(*sizes, ending="parquet"):
    return [SourceFile(None, f"/{n}.{ending}", size, "") for n, size in enumerate(sizes)]


@pytest.mark.parametrize("tasks", [1, 2, 3, 7, 40])
def test_parts_contain_each_byte_once_and_in_order(monkeypatch, tasks):
    monkeypatch.setattr(splits, "_DIVIDED_BYTES", 10)
    given = files(100, 9, 1, 57, 1000)
    parts = cut_files(given, FileFormat("parquet"), tasks)
    found = [split for part in parts for split in part]
    assert [s for s in found if s.start] == [b for a, b in itertools.pairwise(found) if a.file is b.file]
    for a, b in itertools.pairwise(found):
        assert (a.file is b.file and a.end == b.start) or (a.end == a.file.size and b.start == 0)
    assert {s.file.path for s in found} == {f.path for f in given}
    assert len(parts) <= tasks
    assert max(sum(s.end - s.start for s in part) for part in parts) <= 1167 // tasks + 11


@pytest.mark.parametrize(("kind", "name"), [("csv", "a.csv.gz"), ("json", "a.json.zst")])
def test_a_compressed_file_is_read_by_one_task(kind, name):
    (part,) = cut_files([SourceFile(None, name, 900 * MIB, "")], FileFormat(kind), 5)
    assert part == [FileSplit(SourceFile(None, name, 900 * MIB, ""), 0, 900 * MIB)]


def test_csv_with_line_ends_in_values_is_read_by_one_task():
    assert len(cut_files(files(900 * MIB, ending="csv"), FileFormat("csv", multiline=True), 5)) == 1


def test_each_row_group_belongs_to_one_split():
    (file,) = files(1000)
    cuts = [FileSplit(file, 0, 10), FileSplit(file, 10, 700), FileSplit(file, 700, 1000)]
    for count in (1, 2, 7, 300):
        assert [sum(cut.holds(n, count) for cut in cuts) for n in range(count)] == [1] * count


def test_tasks_follow_the_bytes():
    assert task_count(files(5 * MIB), 8) == 1
    assert task_count(files(100 * MIB), 8) == 6
    assert task_count(files(100 * MIB), 2) == 2
    assert task_count(files(3000 * MIB), 2) == 24


def test_a_folder_is_listed_without_files_of_jobs(tmp_path):
    for name in ("b.csv", "a.csv", "_SUCCESS", ".a.csv.crc", "p=1/c.csv", "_temporary/d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    names = [file.path.removeprefix(f"{tmp_path}/") for file in list_files(str(tmp_path), None)]
    assert names == ["a.csv", "b.csv", "p=1/c.csv"]


def test_paths_without_files_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "link.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(NotFound, match=r"none does not exist$"):
        list_files([str(tmp_path / "a.csv"), str(tmp_path / "none")], None)
    with pytest.raises(NotFound, match="wildcards are not supported"):
        list_files(str(tmp_path / "*.csv"), None)
    with pytest.raises(InvalidRequest, match="empty has no files"):
        list_files(str(tmp_path / "empty"), None)
    with pytest.raises(InvalidRequest, match="symbolic link"):
        list_files(str(tmp_path / "linked"), None)
    with pytest.raises(InvalidRequest, match="written twice"):
        list_files([str(tmp_path / "a.csv"), str(tmp_path)], None)
    for wrong in ([], 3, [3]):
        with pytest.raises(InvalidRequest, match="a list of paths"):
            list_files(wrong, None)
