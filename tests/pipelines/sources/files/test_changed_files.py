"""Files that are replaced or changed while their splits are read: no split mixes versions, and no two splits do."""

import gzip
import io
import json
import os
from dataclasses import replace
from types import SimpleNamespace

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from paimon_core.storage.open import open_storage
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import FileFormat, RowRules, list_files, plan_splits, read_split
from tests.pipelines.sources.files.reading import columns

SCHEMA = columns(a="INT", b="STRING")


def content_of(kind, letter):
    """Return a file of 20,000 rows; the size is the same for each letter."""
    rows = pa.table({"a": pa.array(range(100_000, 120_000), pa.int32()), "b": [letter] * 20_000})
    sink = io.BytesIO()
    match kind:
        case "parquet":
            pq.write_table(rows, sink, compression="none", use_dictionary=False)
        case "orc":
            orc.write_table(rows, sink, compression="uncompressed")
        case "avro":
            fields = [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]
            schema = {"type": "record", "name": "r", "fields": fields}
            fastavro.writer(sink, schema, rows.to_pylist(), sync_marker=b"0" * 16)
        case "jsonl" | "json":
            lines = [json.dumps(row) for row in rows.to_pylist()]
            sink.write(("\n".join(lines) if kind == "jsonl" else f"[{','.join(lines)}]").encode())
        case _:
            text = "a,b\n" + "".join(f"{row['a']},{row['b']}\n" for row in rows.to_pylist())
            sink.write(gzip.compress(text.encode(), 0, mtime=0) if kind == "csv.gz" else text.encode())
    return sink.getvalue()


def replaced_with_its_time(path, kind):
    """Replace a file by another of the same size and time."""
    before = path.stat()
    path.with_name("new").write_bytes(content_of(kind, "y"))
    os.utime(path.with_name("new"), ns=(before.st_atime_ns, before.st_mtime_ns))
    path.with_name("new").rename(path)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def written_over(path, kind):
    with path.open("r+b") as file:
        file.write(content_of(kind, "y"))


def appended_to(path, kind):
    with path.open("ab") as file:
        file.write(content_of(kind, "y"))


def cut_short(path, kind):
    os.truncate(path, path.stat().st_size // 2)


KINDS = ("csv", "csv.gz", "jsonl", "json", "parquet", "orc", "avro")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [replaced_with_its_time, written_over, appended_to, cut_short])
def test_a_file_that_was_changed_after_the_listing(tmp_path, kind, change):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content_of(kind, "x"))
    form = FileFormat(kind.removesuffix(".gz"))
    splits = plan_splits(list_files(str(path), {}), form, 150_000)
    if form.is_splittable and kind != "csv.gz":
        assert len(splits) > 1
        list(read_split(splits[0], form, SCHEMA, RowRules(), {}))
    change(path, kind)
    with pytest.raises(PipelineError, match=rf"file {path} cannot be read: .* was replaced or changed after it was"):
        list(read_split(splits[-1], form, SCHEMA, RowRules(), {}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [written_over, appended_to, cut_short])
def test_a_file_that_is_changed_while_a_split_is_read(tmp_path, kind, change):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content_of(kind, "x"))
    form = FileFormat(kind.removesuffix(".gz"))
    (split,) = plan_splits(list_files(str(path), {}), form)
    found = read_split(split, form, SCHEMA, RowRules(), {}, block_bytes=20_000)
    if kind == "json":  # the whole document is read first
        assert len(next(found).rows)
        assert all(set(parsed.rows["b"].to_pylist()) == {"x"} for parsed in found)
        return
    assert len(next(found).rows)
    change(path, kind)
    with pytest.raises(PipelineError, match="was replaced or changed after it was listed; load again"):
        list(found)


def test_a_file_that_is_replaced_while_a_split_is_read_gives_only_the_listed_version(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(content_of("csv", "x"))
    (split,) = plan_splits(list_files(str(path), {}), FileFormat("csv"))
    found = read_split(split, FileFormat("csv"), SCHEMA, RowRules(), {}, block_bytes=20_000)
    values = {*next(found).rows["b"].to_pylist()}
    replaced_with_its_time(path, "csv")
    values.update(*(parsed.rows["b"].to_pylist() for parsed in found))
    assert values == {"x"}


def test_another_machine_may_have_other_numbers_of_inodes(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,x\n")
    (split,) = plan_splits(list_files(str(tmp_path / "a.csv"), {}), FileFormat("csv"))
    size_and_time = split.file.stored.rsplit(":", 1)[0]
    elsewhere = replace(split, file=replace(split.file, stored=f"{size_and_time}:1@elsewhere"))
    assert [len(parsed.rows) for parsed in read_split(elsewhere, FileFormat("csv"), SCHEMA, RowRules(), {})] == [1]
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,xy\n")
    with pytest.raises(PipelineError, match="was replaced or changed"):
        list(read_split(elsewhere, FileFormat("csv"), SCHEMA, RowRules(), {}))


@pytest.mark.parametrize("name", ["s3", "memory"])
def test_an_object_that_is_replaced_while_its_splits_are_read(name, request):
    place = request.getfixturevalue("s3") if name == "s3" else SimpleNamespace(url="memory://replaced", options={})
    storage, root = open_storage(place.url, place.options)
    size = 4_000_000
    line = b"1,x\n"
    storage.write(f"{root}/a.csv", b"a,b\n" + line * (size // len(line)))
    splits = plan_splits(list_files(f"{place.url}/*.csv", place.options), FileFormat("csv"), size // 2)
    during = read_split(splits[0], FileFormat("csv"), SCHEMA, RowRules(), place.options, block_bytes=100_000)
    assert len(next(during).rows)
    storage.overwrite(f"{root}/a.csv", b"a,b\n" + b"1,y\n" * (size // len(line)))
    for found in (during, read_split(splits[1], FileFormat("csv"), SCHEMA, RowRules(), place.options)):
        with pytest.raises(PipelineError, match=r"a\.csv was replaced or changed after it was listed"):
            list(found)
