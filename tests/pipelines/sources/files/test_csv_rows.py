"""CSV: each row is read or rejected with its line, whatever the splits and blocks."""

import bz2
import gzip

import pytest

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.text import blocks
from tests.pipelines.sources.files.reading import columns, read

TWO = columns(a="INT", b="STRING")
MIXED = b'a,b\n1,x\n\n2,"y\n3\n4,"q""r"\n5,6,7\nz,1\n\xff,2\n"",""\n8\r,9\n10,"a\rb"\r\n2147483648,x\n11,last'
MIXED_ROWS = [
    {"a": 1, "b": "x"},
    {"a": 4, "b": 'q"r'},
    {"a": None, "b": ""},
    {"a": 10, "b": "a\rb"},
    {"a": 11, "b": "last"},
]
MIXED_REJECTS = [
    (4, None, "a quote is not closed on its line", '2,"y'),
    (5, None, "1 columns instead of 2", "3"),
    (7, None, "3 columns instead of 2", "5,6,7"),
    (8, "a", "'z' is not valid for INT", "z,1"),
    (9, None, "not valid utf-8", "\\xff,2"),
    (11, None, "a carriage return is not followed by a line feed", "8\r,9"),
    (13, "a", "'2147483648' is not valid for INT", "2147483648,x"),
]


@pytest.mark.parametrize("split_bytes", [1, 2, 3, 7, 20, 1000])
@pytest.mark.parametrize("block_bytes", [1, 5, 64, 1000])
def test_rows_and_rejects_do_not_depend_on_splits_and_blocks(tmp_path, split_bytes, block_bytes):
    found = read(tmp_path / "a.csv", MIXED, TWO, "csv", split_bytes=split_bytes, block_bytes=block_bytes)
    assert found == (MIXED_ROWS, MIXED_REJECTS)


@pytest.mark.parametrize("block_bytes", [1, 3, 8, 1000])
def test_multiline_cells_and_the_lines_of_their_rejects(tmp_path, block_bytes):
    data = b'a,b\n1,"x\ny"\n\n2,"a""\n\nb"\nz,"\n"\n3,5"\n4,"open\n5,6\n'
    rows, rejects = read(tmp_path / "a.csv", data, TWO, "csv", block_bytes=block_bytes, multiline=True)
    assert rows == [{"a": 1, "b": "x\ny"}, {"a": 2, "b": 'a"\n\nb'}, {"a": 3, "b": '5"'}]
    assert rejects == [
        (8, "a", "'z' is not valid for INT", 'z,"\n"'),
        (11, None, "a quote is not closed before the end of the file", '4,"open\n5,6'),
    ]


def test_header_in_any_order_and_case_with_a_byte_order_mark(tmp_path):
    rows, _ = read(tmp_path / "a.csv", b"\xef\xbb\xbf B ,A\r\nx,1\r\n", TWO, "csv")
    assert rows == [{"a": 1, "b": "x"}]


def test_a_header_of_many_columns_with_quotes_and_without_names(tmp_path):
    names = ["a", '"b"', '"c,""1"', "", *(f"column {number}" for number in range(10_000))]
    data = (",".join(names) + "\n1,x" + "," * (len(names) - 2) + "\n").encode()
    assert read(tmp_path / "a.csv", data, TWO, "csv", ignore_extra_columns=True) == ([{"a": 1, "b": "x"}], [])
    with pytest.raises(PipelineError, match="does not have: 'c,\"1'"):
        read(tmp_path / "a.csv", data, TWO, "csv")


def test_the_exact_name_wins_over_one_that_differs_in_case(tmp_path):
    rows, _ = read(tmp_path / "a.csv", b"A,a,b\n9,1,x\n", TWO, "csv", ignore_extra_columns=True)
    assert rows == [{"a": 1, "b": "x"}]


def test_without_header_columns_are_by_position(tmp_path):
    rows, rejects = read(tmp_path / "a.csv", b"1,x\n2\n", TWO, "csv", header=False)
    assert (rows, rejects) == ([{"a": 1, "b": "x"}], [(2, None, "1 columns instead of 2", "2")])


def test_a_missing_column_is_an_error_unless_the_source_allows_it(tmp_path):
    with pytest.raises(PipelineError, match=r"a\.csv has no column 'b'; its columns are 'a', 'bb'; set the option"):
        read(tmp_path / "a.csv", b"a,bb\n1,x\n", TWO, "csv")
    with pytest.raises(PipelineError, match=r"did you mean bb\?$"):
        read(tmp_path / "a.csv", b"a,bb\n1,x\n", TWO, "csv")
    assert read(tmp_path / "a.csv", b"a\n1\n", TWO, "csv", allow_missing_columns=True) == ([{"a": 1, "b": None}], [])


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        (b"b\n1\n", {"not_null": ("a",)}, "has no column 'a', which must not be null"),
        (b"a,b,c\n1,x,2\n", {}, "has columns that the table does not have: 'c'"),
        (b"a,b,a\n1,x,2\n", {}, "the column 'a' occurs 2 times"),
        (b'a,"b\n1,x\n', {}, "is not a header"),
        (b"\xff,b\n1,x\n", {}, "the header is not valid utf-8"),
        (b"\n1,x\n", {}, "is not a header"),
        (b"a,b\n1,x\n", {"not_null": ("z",)}, "NOT NULL names the column 'z'"),
    ],
)
def test_a_file_that_does_not_fit_the_table_is_refused(tmp_path, data, options, text):
    with pytest.raises(PipelineError, match=text):
        read(tmp_path / "a.csv", data, TWO, "csv", **options)


def test_nested_columns_are_refused(tmp_path):
    with pytest.raises(PipelineError, match="cannot contain the column 'l' of the type ARRAY<INT>; use jsonl"):
        read(tmp_path / "a.csv", b"l\n1\n", columns(l="ARRAY<INT>"), "csv")


@pytest.mark.parametrize("data", [b"", b"a,b\n", b"a,b", b"a,b\n\n\r\n"])
def test_files_without_rows(tmp_path, data):
    assert read(tmp_path / "a.csv", data, TWO, "csv") == ([], [])


def test_null_in_a_key_is_rejected(tmp_path):
    rows, rejects = read(tmp_path / "a.csv", b"a,b\n,x\nz,y\n1,y\n", TWO, "csv", not_null=("a",))
    assert rows == [{"a": 1, "b": "y"}]
    assert [reject[:3] for reject in rejects] == [
        (2, "a", "null in a column that must not be null"),
        (3, "a", "'z' is not valid for INT"),
    ]


def test_a_row_with_two_bad_cells_is_rejected_once(tmp_path):
    _, rejects = read(tmp_path / "a.csv", b"a,c\nx,y\n", columns(a="INT", c="DATE"), "csv")
    assert rejects == [(2, "a", "'x' is not valid for INT", "x,y")]


def test_delimiter_quote_escape_nulls_and_skipped_lines(tmp_path):
    data = b"exported today\nby \"me\na;b\n1;'x;y'\n2;'it\\'s'\nNULL;NULL\nNULL;'NULL'\n'NULL';\n"
    rows, rejects = read(
        tmp_path / "a.csv", data, TWO, "csv", delimiter=";", quote="'", escape="\\", null_value="NULL", skip_lines=2
    )
    assert rejects == []
    assert [tuple(row.values()) for row in rows] == [(1, "x;y"), (2, "it's"), (None, None), (None, "NULL"), (None, "")]


def test_without_quotes_a_quote_is_text(tmp_path):
    assert read(tmp_path / "a.csv", b'a,b\n1,"x\n', TWO, "csv", quote="")[0] == [{"a": 1, "b": '"x'}]


def test_other_encodings_and_bytes_that_they_do_not_have(tmp_path):
    rows, rejects = read(tmp_path / "a.csv", "a,b\n1,é\n2,x\n".encode("cp1252"), TWO, "csv", encoding="cp1252")
    assert (rows, rejects) == ([{"a": 1, "b": "é"}, {"a": 2, "b": "x"}], [])
    rows, rejects = read(tmp_path / "a.csv", b"a,b\n1,\x81\n2,x\nz,y", TWO, "csv", encoding="cp1252", split_bytes=3)
    assert rows == [{"a": 2, "b": "x"}]
    assert [reject[:3] for reject in rejects] == [
        (2, None, "not valid cp1252"),
        (4, "a", "'z' is not valid for INT"),
    ]


@pytest.mark.parametrize(("name", "pack"), [("a.csv.gz", gzip.compress), ("a.csv.bz2", bz2.compress)])
def test_compressed_files(tmp_path, name, pack):
    packed = pack(b"a,b\n1,x\n") + pack(b"2,y\nz,\n")
    rows, rejects = read(tmp_path / name, packed, TWO, "csv", split_bytes=3, block_bytes=4)
    assert rows == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert rejects == [(4, "a", "'z' is not valid for INT", "z,")]


def test_a_damaged_compressed_file_is_named(tmp_path):
    with pytest.raises(PipelineError, match=r"a\.csv\.gz cannot be read: Truncated compressed stream"):
        read(tmp_path / "a.csv.gz", gzip.compress(b"a,b\n1,x\n" * 99)[:-20], TWO, "csv")


def test_a_long_raw_text_is_cut(tmp_path):
    _, rejects = read(tmp_path / "a.csv", b"a,b\nz," + b"x" * 70_000 + b"\n", TWO, "csv")
    assert len(rejects[0][3]) == 64 * 1024
    assert rejects[0][3].endswith("x [cut]")


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LINE_BYTES", 100)
    with pytest.raises(PipelineError, match="is longer than"):
        read(tmp_path / "a.csv", b"a,b\n1," + b"x" * 300, TWO, "csv", block_bytes=50)
