"""Splits cover files once; tasks have similar sizes."""

import pytest
from pyspark import cloudpickle

from pipelines.protocol import PipelineError
from pipelines.sources.files import (
    FileFormat,
    FileSplit,
    RowRules,
    SourceFile,
    file_format,
    pack,
    parse_pattern,
    plan_splits,
)


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


def test_pack_balances_and_keeps_the_order_of_paths():
    splits = [FileSplit(file(name, 9), 0, size) for name, size in zip("fedcba", (1, 9, 2, 3, 4, 5), strict=True)]
    groups = pack(splits, 2)
    assert [[split.file.path for split in group] for group in groups] == [["a", "b", "d", "f"], ["c", "e"]]
    assert [sum(split.size for split in group) for group in groups] == [12, 12]
    assert len(pack(splits, 100)) == 6
    assert pack([], 3) == []


def test_wrong_sizes():
    with pytest.raises(PipelineError, match="at least one byte"):
        ranges("a.csv", 10, "csv", 0)
    with pytest.raises(PipelineError, match="at least 1, not 0"):
        pack([], 0)


def test_all_values_can_be_pickled():
    split = FileSplit(file("a.csv", 3), 0, 3)
    for value in (split, FileFormat("csv"), RowRules(("a",)), parse_pattern("/a/{date}")):
        assert cloudpickle.loads(cloudpickle.dumps(value)) == value
