"""FileFormat: options that a kind of files does not have, and wrong values, are refused by name."""

import pytest

from paimon_core.errors import InvalidOption, InvalidRequest, UnsupportedFeature
from paimon_core.files.file_format import FileFormat


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("csv", {"sep": ";"}, "'sep' is not an option of csv files; the options are: delimiter"),
        ("parquet", {"header": True}, "not an option of parquet files; the options are: none"),
        ("json", {"null_value": ""}, "not an option of json"),
        ("csv", {"header": "true"}, "header must be True or False"),
        ("csv", {"delimiter": "||"}, "one ASCII character"),
        ("csv", {"delimiter": ""}, "one ASCII character"),
        ("csv", {"quote": ","}, "different characters"),
        ("csv", {"null_value": [None]}, "a text or a list of texts"),
        ("csv", "header", "must map names to values"),
    ],
)
def test_wrong_options_are_refused(kind, options, message):
    with pytest.raises(InvalidOption, match=message):
        FileFormat.of(kind, options)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InvalidRequest, match="'xml' is not one of parquet, orc, csv, json"):
        FileFormat.of("xml", None)


@pytest.mark.parametrize(("kind", "path"), [("csv", "a.csv.zip"), ("parquet", "a.parquet.gz"), ("json", "a.snappy")])
def test_compressed_files_that_cannot_be_read_are_refused(kind, path):
    with pytest.raises(UnsupportedFeature, match="unpack it first"):
        FileFormat.of(kind, None).compression(path)


def test_null_values_may_be_one_text_or_several():
    assert FileFormat.of("csv", {"null_value": "NULL"}).null_value == ("NULL",)
    assert FileFormat.of("csv", {"null_value": ["", "-"]}).null_value == ("", "-")
