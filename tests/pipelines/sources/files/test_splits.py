"""Splits cover files once; tasks have similar sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import (
    FileFormat,
    FileSplit,
    RowRules,
    SourceFile,
    file_format,
    list_files,
    pack,
    parse_pattern,
    plan_splits,
)
from paimon_lake.sources.files.text.blocks import TextFile, cut_lines


def file(path, size):
    return SourceFile(path, size, f"{size}-1")


def ranges(path, size, kind, target, **options):
    return [(split.start, split.end) for split in plan_splits([file(path, size)], file_format(kind, options), target)]


def test_text_lines_are_cut_in_equal_ranges():
    assert ranges("a.csv", 10, "csv", 4) == [(0, 3), (3, 6), (6, 10)]
    assert ranges("a.jsonl", 8, "jsonl", 4) == [(0, 4), (4, 8)]
    assert ranges("a.csv", 4, "csv", 4) == [(0, 4)]
    assert ranges("a.csv", 0, "csv", 4) == []


@pytest.mark.parametrize(
    ("path", "kind", "options"),
    [
        ("a.csv.gz", "csv", {}),
        ("a.csv", "csv", {"multiline": True}),
        ("a.json", "json", {}),
        ("a.snappy.parquet", "parquet", {}),
        ("a.orc", "orc", {}),
        ("a.avro", "avro", {}),
    ],
)
def test_other_files_are_whole(path, kind, options):
    assert ranges(path, 10, kind, 4, **options) == [(0, 10)]


def packed(sizes, tasks):
    splits = [FileSplit(file(f"{at:03}", 9), 0, size) for at, size in enumerate(sizes)]
    return [[split.size for split in group] for group in pack(list(reversed(splits)), tasks)]


def test_groups_follow_each_other_in_the_order_of_paths():
    assert packed([5, 4, 3, 2, 9, 1], 2) == [[5, 4, 3], [2, 9, 1]]
    assert packed([1, 1, 1, 1, 1, 1], 3) == [[1, 1], [1, 1], [1, 1]]
    assert packed([1, 2, 3], 100) == [[1], [2], [3]]
    assert packed([100, 1, 1], 2) == [[100], [1, 1]]
    assert packed([1, 1, 100], 2) == [[1, 1], [100]]
    assert pack([], 3) == []


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 8))
def test_groups_are_consecutive_and_none_is_much_larger_than_its_share(sizes, tasks):
    groups = packed(sizes, tasks)
    assert [size for group in groups for size in group] == sizes
    assert len(groups) <= tasks
    for group in groups:
        assert sum(group) <= sum(sizes) / tasks + max(sizes) + 1


def test_wrong_sizes():
    with pytest.raises(PipelineError, match="at least one byte"):
        ranges("a.csv", 10, "csv", 0)
    with pytest.raises(PipelineError, match="at least 1, not 0"):
        pack([], 0)


def test_all_values_can_be_pickled():
    split = FileSplit(file("a.csv", 3), 0, 3)
    for value in (split, FileFormat("csv"), RowRules(("a",)), parse_pattern("/a/{date}")):
        assert cloudpickle.loads(cloudpickle.dumps(value)) == value


def test_a_long_line_is_not_searched_for_its_end_after_each_block(tmp_path, monkeypatch):
    sizes = []
    read = TextFile.read
    monkeypatch.setattr(TextFile, "read", lambda self, s, size: sizes.append(size) or read(self, s, size))
    (tmp_path / "a").write_bytes(b"x" * (8 << 20) + b"\n")
    form = file_format("jsonl")
    (split,) = plan_splits(list_files(str(tmp_path / "a"), {}), form, 1 << 30)
    (block,) = TextFile(split, form, {}, 1 << 12).blocks(0, cut_lines)
    assert len(block.data) == (8 << 20) + 1
    assert len(sizes) < 20
