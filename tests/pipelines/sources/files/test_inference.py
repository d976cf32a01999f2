"""Columns proposed from a file accept the rows of this file."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import file_format, infer_columns, list_files, plan_splits
from paimon_lake.sources.files.inference import sample_columns
from tests.pipelines.sources.files.reading import columns, read


def infer(path, data, kind, rows=10_000, **options):
    path.write_bytes(data)
    form = file_format(kind, options)
    return infer_columns(plan_splits(list_files(str(path), {}), form)[0], form, {}, rows=rows)


CSV = b"""id,zip,p,ok,flag,d,t,u,s,e
1,007,1.5,true,1,2024-01-01,2024-01-01 10:00:00.123456,2024-01-01T10:00Z,x,
2,100,2,FALSE,0,2024-01-02,2024-01-01,2024-01-01 10:00,,
broken
"""


def test_csv(tmp_path):
    found = infer(tmp_path / "a", CSV, "csv")
    assert found == {
        "id": "BIGINT",
        "zip": "STRING",
        "p": "DOUBLE",
        "ok": "BOOLEAN",
        "flag": "BIGINT",
        "d": "DATE",
        "t": "TIMESTAMP(6)",
        "u": "TIMESTAMP(3)",
        "s": "STRING",
        "e": "STRING",
    }
    rows, rejects = read(tmp_path / "a", CSV, columns(**found), "csv")
    assert (len(rows), [line for line, *_ in rejects]) == (2, [4])


def test_csv_without_header_and_with_formats(tmp_path):
    found = infer(
        tmp_path / "a",
        b"1,5;31.01.2024\n",
        "csv",
        header=False,
        delimiter=";",
        decimal_point=",",
        date_format="%d.%m.%Y",
    )
    assert found == {"column_1": "DOUBLE", "column_2": "DATE"}


def test_only_the_first_rows_count(tmp_path):
    assert infer(tmp_path / "a", b"a\n1\n2\nx\n", "csv", rows=2) == {"a": "BIGINT"}
    assert infer(tmp_path / "a", b'{"a":1}\n{"a":"x"}', "jsonl", rows=1) == {"a": "BIGINT"}


def test_json_lines(tmp_path):
    data = b'{"a":1,"b":{"x":1.5,"y z":[1,2]},"c":"2024-01-01","d":null,"e":[],"f":{},"g":99999999999999999999,"h":"12"}\nbad\n{"a":2.5}'  # noqa: E501
    found = infer(tmp_path / "a", data, "jsonl")
    assert found == {
        "a": "DOUBLE",
        "b": "ROW<x DOUBLE, `y z` ARRAY<BIGINT>>",
        "c": "DATE",
        "d": "STRING",
        "e": "ARRAY<STRING>",
        "f": "MAP<STRING, STRING>",
        "g": "DECIMAL(38, 0)",
        "h": "STRING",
    }
    rows, rejects = read(tmp_path / "a", data, columns(**found), "jsonl")
    assert (len(rows), [line for line, *_ in rejects]) == (2, [2])


def test_json_document(tmp_path):
    assert infer(tmp_path / "a", b'[{"a":true},{"b":[{"t":"2024-01-01T00:00:00"}]}]', "json") == {
        "a": "BOOLEAN",
        "b": "ARRAY<ROW<t TIMESTAMP(3)>>",
    }


def test_typed_files(tmp_path):
    table = pa.table(
        {"a": pa.array([1], pa.uint32()), "b": [["x"]], "c": pa.nulls(1), "d": pa.array(["a"]).dictionary_encode()}
    )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    assert infer(tmp_path / "a", sink.getvalue(), "parquet") == {
        "a": "BIGINT",
        "b": "ARRAY<STRING>",
        "c": "STRING",
        "d": "STRING",
    }


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (
            b'{"a":1}\n{"a":"x"}',
            "jsonl",
            r"the member 'a' has numbers \(1 in row 1\) and texts \(\"x\" in row 2\): no column type accepts both",
        ),
        (b'{"a":{"b":[1]}}\n{"a":{"b":true}}', "jsonl", r"the member 'a.b' has arrays \(\[1\] in row 1\) and booleans"),
        (b"{}", "jsonl", "has no columns to infer"),
        (b"junk", "parquet", "cannot be read"),
    ],
)
def test_files_without_a_proposal(tmp_path, data, kind, text):
    with pytest.raises(PipelineError, match=text):
        infer(tmp_path / "a", data, kind)


CODES = b"id,zip,amount,name,day\n1,10115,1.5,a,2024-01-01\n2,04109,2,b,n/a\n,20095,TOTAL,c,2024-01-03\n"


def sample(path, data, kind):
    path.write_bytes(data)
    form = file_format(kind, {})
    return sample_columns(plan_splits(list_files(str(path), {}), form)[0], form, {})


def test_the_value_that_makes_a_column_a_text_is_found(tmp_path):
    forced = sample(tmp_path / "a", CODES, "csv").forced
    assert {name: (one.value, one.row, one.kind, one.is_code) for name, one in forced.items()} == {
        "zip": ("04109", 2, "BIGINT", True),
        "amount": ("TOTAL", 3, "DOUBLE", False),
        "day": ("n/a", 2, "DATE", False),
    }


def test_the_value_is_found_in_members_of_objects(tmp_path):
    data = b'{"a":{"d":"2024-01-01"}}\n{}\n{"a":{"d":"soon"}}\n{"a":{"d":"2024-01-02"}}'
    (found,) = sample(tmp_path / "a", data, "jsonl").forced.items()
    assert (found[0], found[1].value, found[1].row, found[1].kind) == ("a.d", "soon", 3, "DATE")
