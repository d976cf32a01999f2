"""Splits of files on other stores are read like local ones, with bounded memory."""

import pytest

from paimon_core.schema import DataField
from paimon_core.storage.open import open_storage
from paimon_core.types import parse_type
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import (
    REJECTS,
    FileFormat,
    FileSplit,
    RowRules,
    SourceFile,
    list_files,
    plan_splits,
    read_split,
    table_schema,
)
from paimon_lake.sources.files.text.blocks import TextFile, cut_lines
from tests.pipelines.sources.files.reading import columns

DATA = b"a,b\n" + b"".join(b"%d,x\n" % at for at in range(200_000)) + b"bad,y\n"
SCHEMA = columns(a="INT", b="STRING")


def read_all(url, options, split_bytes):
    form = FileFormat("csv")
    splits = plan_splits(list_files(url, options), form, split_bytes)
    parsed = [p for split in splits for p in read_split(split, form, SCHEMA, RowRules(), options)]
    return sum(len(p.rows) for p in parsed), [row for p in parsed for row in p.rejects.to_pylist()]


def test_s3(s3):
    storage, root = open_storage(s3.url, s3.options)
    storage.write(f"{root}/a.csv", DATA)
    count, rejects = read_all(f"{s3.url}/*.csv", s3.options, 500_000)
    assert count == 200_000
    reason = "'bad' is not valid for INT"
    assert rejects == [{"file": f"{root}/a.csv", "line": 200_002, "column": "a", "reason": reason, "raw": "bad,y"}]


def test_memory():
    storage, root = open_storage("memory://reading")
    storage.write(f"{root}/a.csv", DATA)
    count, rejects = read_all("memory://reading/a.csv", {}, 300_000)
    assert (count, rejects[0]["file"], rejects[0]["line"]) == (200_000, "memory://reading/a.csv", 200_002)


def test_a_file_that_was_deleted_after_the_listing(tmp_path):
    split = FileSplit(SourceFile(str(tmp_path / "gone.csv"), 5, "5-1"), 0, 5)
    with pytest.raises(PipelineError, match=r"gone\.csv does not exist any more: list the source again"):
        list(read_split(split, FileFormat("csv"), SCHEMA, RowRules(), {}))


def test_blocks_are_not_longer_than_asked_but_for_the_end_of_a_line(tmp_path):
    (tmp_path / "a.csv").write_bytes(DATA)
    (split,) = plan_splits(list_files(str(tmp_path / "a.csv"), {}), FileFormat("csv"))
    blocks = list(TextFile(split, FileFormat("csv"), {}, 10_000).blocks(4, cut_lines))
    assert b"".join(block.data for block in blocks) == DATA[4:]
    assert max(len(block.data) for block in blocks) < 10_020
    assert [block.line for block in blocks[:2]] == [0, blocks[0].data.count(b"\n")]


def test_the_schema_of_rejects():
    assert [(f.name, str(f.type)) for f in REJECTS] == [
        ("file", "string"),
        ("line", "int64"),
        ("column", "string"),
        ("reason", "string"),
        ("raw", "string"),
    ]


def test_a_table_schema_keeps_lengths_and_digits():
    fields = [DataField(0, "c", parse_type("CHAR(2) NOT NULL")), DataField(1, "t", parse_type("TIMESTAMP(0)"))]
    schema = table_schema(fields)
    assert [field.nullable for field in schema] == [True, True]
    assert [field.metadata for field in schema] == [{b"paimon.type": b"CHAR(2)"}, {b"paimon.type": b"TIMESTAMP(0)"}]
