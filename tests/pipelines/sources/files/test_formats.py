"""Format options: known by kind, and refused by name."""

from dataclasses import fields

import pytest

from paimon_lake.declarations.sources.source import EVENT_FORMATS
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import FileFormat, file_format
from paimon_lake.sources.files.formats import OPTIONS, compression_of, option_kinds


def test_options_of_a_declaration():
    form = file_format("csv", {"delimiter": ";", "header": False, "null_value": ["", "NULL"], "skip_lines": 2})
    assert form == FileFormat("csv", delimiter=";", header=False, null_value=("", "NULL"), skip_lines=2)
    assert file_format("csv", {"null_value": "-"}).null_value == ("-",)
    assert file_format("jsonl") == FileFormat("jsonl")


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        ("xml", {}, "file format 'xml' is not one of csv, json"),
        ("csv", {"delimeter": ";"}, "format option 'delimeter' is not an option of csv; the options are delimiter"),
        ("csv", {"kind": "x"}, "format option 'kind' is not an option"),
        ("jsonl", {"delimiter": ";"}, "format option 'delimiter' is not an option of jsonl"),
        ("parquet", {"date_format": "%F"}, "the options are ignore_extra_columns"),
        ("csv", {"delimiter": "||"}, "format option delimiter must be one ASCII character, not '||'"),
        ("csv", {"delimiter": ""}, "format option delimiter must be one ASCII character"),
        ("csv", {"delimiter": "\n"}, "format option delimiter must be one ASCII character"),
        ("csv", {"quote": "é"}, "format option quote must be one ASCII character"),
        ("csv", {"quote": ","}, "must be three different characters"),
        ("csv", {"header": "yes"}, "format option header must be true or false, not 'yes'"),
        ("csv", {"skip_lines": -1}, "format option skip_lines must be a number of lines, not -1"),
        ("csv", {"skip_lines": True}, "format option skip_lines must be a whole number, not True"),
        ("csv", {"null_value": [1]}, "format option null_value must be a text or a list of texts"),
        ("csv", {"decimal_point": ";"}, "format option decimal_point must be '.' or ','"),
        ("csv", {"encoding": "utf-16"}, "'utf-16' is not a known encoding that contains ASCII"),
        ("csv", {"encoding": "klingon"}, "'klingon' is not a known encoding"),
        ("csv", {"date_format": "%Y-%m"}, "format option date_format: '%Y-%m' must state a year, a month and a day"),
        ("csv", {"date_format": "%Y-%m-%d %Q"}, "format option date_format: '%Q' is repeated or not one of"),
        ("jsonl", {"table": "t"}, "format option 'table' is not an option of jsonl"),
        ("canal-json", {"timestamp_unit": "ms"}, "format option 'timestamp_unit' is not an option of canal-json"),
        ("debezium-json", {"timestamp_unit": "s"}, "format option timestamp_unit must be ms, us or ns, not 's'"),
        ("debezium-json", {"table": ["a"]}, "format option table must be a text, not ['a']"),
        ("maxwell-json", {"delimiter": ";"}, "format option 'delimiter' is not an option of maxwell-json"),
        ("json", {"timestamp_format": "%F %I:%M"}, "must state the hour by %H, or by %I with %p"),
    ],
)
def test_wrong_options(kind, options, text):
    with pytest.raises(PipelineError) as error:
        file_format(kind, options)
    assert text in str(error.value)


def test_a_format_made_by_hand_is_checked_too():
    with pytest.raises(PipelineError, match="format option 'multiline' is not an option of jsonl"):
        FileFormat("jsonl", multiline=True)


def test_compressions():
    assert compression_of("/a/b.csv.GZ", "csv") == "gzip"
    assert compression_of("/a.gz/b.jsonl.zst", "jsonl") == "zstd"
    assert compression_of("/a.gz/b.csv", "csv") is None
    assert compression_of("part-0.snappy.parquet", "parquet") is None
    with pytest.raises(PipelineError, match=r"file b\.csv\.snappy: \.snappy files cannot be read; use \.gz"):
        compression_of("b.csv.snappy", "csv")
    with pytest.raises(PipelineError, match="a parquet file that is compressed as a whole cannot be read"):
        compression_of("b.parquet.gz", "parquet")


def test_every_option_is_described():
    assert set(OPTIONS) == {f.name for f in fields(FileFormat)} - {"kind"}
    assert option_kinds("date_format") == ["csv", "json", "jsonl", *EVENT_FORMATS]
