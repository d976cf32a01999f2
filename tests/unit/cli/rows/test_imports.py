"""``import --rejects``: rows that fit are written, and all others are in the file of rejects with their reasons."""

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import paimon_core as paimon
from paimon_core import progress_meter
from paimon_core.errors import AfterCommitFailed, CommitConflict, CommitStateUnknown, NotFound, StorageError
from paimon_core.files import columnar, lines
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

HEAD = "id,name,price\n"


@pytest.fixture
def table(place, command):
    columns = "id INT NOT NULL, name VARCHAR(5), price DECIMAL(5, 2)"
    assert command("create", "shop.orders", columns, "--create-database")[0] == 0
    return paimon.open_catalog(place).table("shop.orders")


def ids(table):
    return sorted(table.scan(["id"]).to_arrow()["id"].to_pylist())


def rejects(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.csv",
            HEAD + "1,a,1.5\nx,b,2\n\n,c,3\n2,toolong,2\n3,b\n4,d,9999999\n99999999999,e,1\n5,f,1\n",
            [
                ("line 3", "id", "invalid value 'x'", "x,b,2"),
                ("line 5", "id", "NOT NULL", ",c,3"),
                ("line 6", "name", "VARCHAR(5) but a value has the length 7; the value is toolong", "2,toolong,2"),
                ("line 7", None, "Expected 3 columns, got 2", "3,b"),
                ("line 8", "price", "'9999999' to decimal128(5, 2)", "4,d,9999999"),
                ("line 9", "id", "'99999999999'", "99999999999,e,1"),
            ],
        ),
        (
            "a.jsonl",
            '{"id":1,"name":"a","price":1}\n{"id":"x"}\n{"id":null}\n{"id":2,"price":1.555}\n{"id":2,"z":1}\n{"id":5}\n{"id"',
            [
                ("line 2", "id", 'the value is "x"', '{"id":"x"}'),
                ("line 3", "id", "NOT NULL", '{"id":null}'),
                ("line 4", "price", "the value is 1.555", '{"id":2,"price":1.555}'),
                ("line 5", None, "the object has the member 'z'", '{"id":2,"z":1}'),
                ("line 7", None, "JSON parse error", '{"id"'),
            ],
        ),
    ],
)
def test_rows_that_do_not_fit_are_rejected_and_the_others_written(table, command, tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    kept = tmp_path / "rejects.jsonl"
    code, printed = command("import", "shop.orders", tmp_path / name, "--rejects", kept, "--json")
    found = rejects(kept)
    assert (code, json.loads(printed)["rejected"], json.loads(printed)["rows"]) == (3, len(expected), 2)
    assert ids(table) == [1, 5]
    for one, (place, column, reason, row) in zip(found, expected, strict=True):
        assert (one["file"], one["place"], one["column"], one["row"]) == (str(tmp_path / name), place, column, row)
        assert reason in one["reason"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [name, "rejects.jsonl"]


def test_rows_of_parquet_are_rejected_with_their_values(table, command, tmp_path):
    rows = {"id": pa.array([1, None, 3, 4], pa.int64()), "name": ["a", "b", "toolong", "d"], "price": [1, 2, 3, 99999]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    kept = tmp_path / "rejects.jsonl"
    code, printed = command("import", "shop.orders", tmp_path / "a.parquet", "--rejects", kept)
    assert (code, ids(table)) == (3, [1])
    assert "3 rows rejected, with the reasons in" in printed
    assert [(r["place"], r["column"]) for r in rejects(kept)] == [
        ("row 1", "id"),
        ("row 2", "name"),
        ("row 3", "price"),
    ]
    assert rejects(kept)[1]["row"] == {"id": 3, "name": "toolong", "price": 3}


def test_rows_are_not_replaced_by_nothing_when_no_row_fits(table, command, tmp_path):
    table.write([{"id": 1}])
    (tmp_path / "a.csv").write_text(HEAD + "x,a,1\ny,b,2\n")
    files = (tmp_path / "a.csv", "--rejects", tmp_path / "no")
    code, out = command("import", "shop.orders", *files, "--overwrite")
    assert (code, ids(table)) == (3, [1])
    assert "0 rows of 1 file: nothing was committed; 2 rows rejected" in out
    assert [r["place"] for r in rejects(tmp_path / "no")] == ["line 2", "line 3"]


def test_no_file_is_written_without_rejects(table, command, tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + "1,a,1\n")
    assert command("import", "shop.orders", tmp_path / "a.csv", "--rejects", tmp_path / "r")[0] == 0
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_without_rejects_nothing_is_written_and_the_value_is_named(table, command, tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + "1,a,1\n2,toolong,1\n")
    code, printed = command("import", "shop.orders", tmp_path / "a.csv")
    assert (code, table.latest_snapshot()) == (2, None)
    assert f"file {tmp_path / 'a.csv'}, line 3: column 'name' is VARCHAR(5)" in printed
    assert "the value is toolong" in printed


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        (HEAD + 'x,a,1\n2,"b,2\n3,c",3\n', [], "line 3: a quote is not closed"),
        (HEAD + "1,a,1\n", ["--file-option", "multiline=true"], "the file option multiline is not supported with it"),
        ("id,name\n1,a\n", [], "has no column 'price'"),
    ],
)
def test_a_file_whose_rows_are_not_known_is_refused(table, command, tmp_path, text, options, problem):
    (tmp_path / "a.csv").write_text(text)
    code, printed = command("import", "shop.orders", tmp_path / "a.csv", "--rejects", tmp_path / "r", *options)
    assert (code, table.latest_snapshot()) == (2, None)
    assert problem in printed
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(("file", "more"), [("no.csv", []), ("a.csv", ["--columns", "id,cost"])])
def test_wrong_arguments_leave_no_file_of_rejects(table, command, tmp_path, file, more):
    (tmp_path / "a.csv").write_text(HEAD + "1,a,1\n")
    assert command("import", "shop.orders", tmp_path / file, "--rejects", tmp_path / "r", *more)[0] == 2
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_another_file_is_not_replaced(table, command, tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + "x,a,1\n")
    (tmp_path / "r").write_text("mine")
    code, printed = command("import", "shop.orders", tmp_path / "a.csv", "--rejects", tmp_path / "r")
    assert (code, (tmp_path / "r").read_text()) == (2, "mine")
    assert "exists: --rejects writes a new file" in printed
    code, printed = command("import", "shop.orders", tmp_path / "a.csv", "--rejects", tmp_path / "no" / "r")
    assert (code, "No such file or directory" in printed) == (2, True)


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (CommitConflict, ""),
        (StorageError, ""),
        (NotFound, ""),
        (CommitStateUnknown, "it is not known whether the other rows were committed"),
        (AfterCommitFailed, "the other rows were committed"),
        (KeyboardInterrupt, "it is not known whether the other rows were committed"),
    ],
)
def test_rejects_stay_when_the_rows_may_have_been_committed(table, command, tmp_path, monkeypatch, error, stays):
    (tmp_path / "a.csv").write_text(HEAD + "x,a,1\n1,b,2\n")

    def write(self, data):
        data.read_all()
        raise error("a fault")

    monkeypatch.setattr(paimon.Table, "write", write)
    code, printed = command("import", "shop.orders", tmp_path / "a.csv", "--rejects", tmp_path / "r")
    assert (code, (tmp_path / "r").exists()) == (2 if error is NotFound else 1, bool(stays))
    assert (f"rejected rows are in {tmp_path / 'r'}" in printed) is bool(stays)
    assert stays in printed
    assert sorted(p.name for p in tmp_path.iterdir()) == (["a.csv", "r"] if stays else ["a.csv"])


def test_a_storage_error_of_the_commit_leaves_no_rejects(table, command, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text(HEAD + "x,a,1\n1,b,2\n")

    def fail(self, *arguments, **more):
        raise StorageError("the disk is gone")

    monkeypatch.setattr(SnapshotStore, "create", fail)
    code, printed = command("import", "shop.orders", tmp_path / "a.csv", "--rejects", tmp_path / "r")
    assert (code, "the disk is gone" in printed) == (1, True), printed
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    assert table.latest_snapshot() is None


@pytest.mark.parametrize(
    ("name", "unit", "total"),
    [("a.parquet", "rows", 4000), ("a.orc", "rows", 4000), ("a.csv", "bytes", None), ("a.csv.gz", "bytes", None)],
)
def test_the_progress_of_one_file_counts_parts_of_it(table, command, tmp_path, monkeypatch, name, unit, total):
    monkeypatch.setattr(progress_meter, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(columnar, "_BATCH_ROWS", 1000)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 4096)
    data = pa.table({"id": pa.array(range(4000), pa.int32()), "name": ["a"] * 4000, "price": [1] * 4000})
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(data, path)
    elif name == "a.orc":
        orc.write_table(data, path, stripe_size=1000)
    else:
        with pa.CompressedOutputStream(path, "gzip") if name.endswith(".gz") else path.open("wb") as stream:
            pa.csv.write_csv(data, stream)
    told = []
    with progress_meter.progress(told.append):
        assert command("import", "shop.orders", path)[0] == 0
    own = [state for state in told if state.operation == "import"]
    assert {(state.unit, state.total) for state in own} == {(unit, total or path.stat().st_size)}
    assert [state.done for state in own] == sorted(state.done for state in own)
    assert own[-1].is_complete
    assert own[-1].done == own[-1].total
    if name in ("a.parquet", "a.csv"):  # the ORC file is one stripe, the compressed one a single block
        assert len({state.done for state in own}) > 2
        assert own[0].seconds_left is not None
