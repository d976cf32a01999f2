"""Commands that import and export files and copy tables (resembles issue 29)."""

import datetime
import json
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

import paimon_core as paimon

ROWS = [
    {"id": 1, "day": datetime.date(2024, 1, 1), "price": Decimal("2.50"), "note": 'a "b", c'},
    {"id": 2, "day": None, "price": None, "note": "ü\n"},
]


@pytest.fixture
def table(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    columns = {"id": "BIGINT NOT NULL", "day": "DATE", "price": "DECIMAL(10, 2)", "note": "STRING"}
    return catalog.create_table("db.t", columns, primary_key="id", comment="c", options={"bucket": "1"})


def content(table):
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])


@pytest.mark.parametrize("name", ["t.parquet", "t.json", "t.jsonl"])
def test_a_file_that_was_exported_can_be_imported(table, place, command, tmp_path, name):
    table.write(ROWS)
    code, out = command("export", "db.t", tmp_path / name)
    assert (code, out) == (0, f"2 rows of db.t at snapshot 1 written to {tmp_path / name}\n")
    assert [file.name for file in tmp_path.iterdir()] == [name]
    table.delete("id > 0")
    assert command("import", "db.t", tmp_path / name) == (0, "2 rows of 1 file: snapshot 3\n")
    assert content(table) == ROWS


def test_csv(table, command, tmp_path):
    table.write(ROWS)
    assert command("export", "db.t", tmp_path / "t.csv", "--where", "id = 1")[0] == 0
    assert (tmp_path / "t.csv").read_text() == '"id","day","price","note"\n1,2024-01-01,2.50,"a ""b"", c"\n'
    (tmp_path / "more.csv").write_text("id;price\n7;1.25\n")
    code, out = command(
        "import", "db.t", tmp_path / "more.csv", "--columns", "id,price", "--file-option", "delimiter=;"
    )
    assert (code, out) == (0, "1 row of 1 file: snapshot 2; null or the default: day, note\n")
    assert content(table)[-1] == {"id": 7, "day": None, "price": Decimal("1.25"), "note": None}


def test_a_file_that_does_not_fit_writes_nothing(table, command, tmp_path):
    (tmp_path / "a.csv").write_text("id,day,price,note\n1,2024-01-01,1.00,a\n")
    (tmp_path / "b.csv").write_text("id,day,price,note\n2,2024-01-01,1.00,b\n3,2024-01-01,abc,c\n")
    code, out = command("import", "db.t", tmp_path / "a.csv", tmp_path / "b.csv")
    assert code == 2
    assert "b.csv, line 3: column 'price'" in out
    assert table.latest_snapshot() is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["import", "db.t", "x.txt"], "does not tell the format"),
        (["import", "db.t", "/nope/x.csv"], "does not exist"),
        (["import", "db.t", "x.csv", "--columns", "id,nope"], "nope"),
        (["import", "db.t", "x.csv", "--file-option", "delim=;"], "'delim' is not an option of csv files"),
        (["import", "db.t", "x.csv", "--file-option", "delimiter"], "must be KEY=VALUE"),
        (["export", "db.t", "/nope/x.csv"], "cannot write /nope/x.csv"),
        (["export", "db.t", "x.orc"], "export writes parquet, csv, json files, not orc"),
        (["copy", "db.t", "nope.t"], "nope"),
        (["copy", "db.t", "db.t"], "already exists"),
    ],
)
def test_wrong_arguments_are_named(table, command, arguments, problem):
    code, out = command(*arguments)
    assert code == 2
    assert problem in out
    assert out.count("\n") == 1


def test_an_export_replaces_only_what_it_may(table, command, tmp_path):
    table.write(ROWS)
    file = tmp_path / "t.parquet"
    file.write_text("mine")
    code, out = command("export", "db.t", file)
    assert code == 2
    assert "add --replace" in out
    assert file.read_text() == "mine"
    assert command("export", "db.t", file, "--replace", "--columns", "id")[0] == 0
    assert pq.read_table(file).column_names == ["id"]


def test_a_copy_has_the_definition_and_rows_of_a_version(table, place, command):
    table.write(ROWS)
    table.write([{**ROWS[0], "note": "later"}])
    code, out = command("copy", "db.t", "other.copy", "--snapshot", 1, "--create-database")
    assert (code, out) == (
        0,
        "2 rows of db.t copied to other.copy; snapshots, tags and branches were not copied\n",
    )
    copied = paimon.open_catalog(place)["other.copy"]
    assert content(copied) == ROWS
    assert (copied.schema.primary_keys, copied.schema.comment) == (table.schema.primary_keys, "c")
    assert copied.schema.options["bucket"] == "1"
    assert json.loads(command("count", "other.copy", "--json")[1]) == {"rows": 2}


def test_a_copy_tells_which_keys_of_other_engines_it_leaves_out(table, place, command):
    context = table.context
    members = json.loads(context.storage.read(context.paths.schema(0)))
    members["options"] |= {"connector": "paimon", "custom.team": "x"}
    context.storage.overwrite(context.paths.schema(0), json.dumps(members).encode())
    code, out = command("copy", "db.t", "db.u")
    assert code == 0
    assert out.startswith("0 rows of db.t copied to db.u; not copied are the keys connector, which are no options of")
    assert paimon.open_catalog(place)["db.u"].schema.options == {"bucket": "1", "custom.team": "x"}


def test_a_copy_by_reference_shares_files(tmp_path, command, monkeypatch):
    monkeypatch.setenv("PAIMON_WAREHOUSE", str(tmp_path / "a"))
    catalog = paimon.open_catalog(tmp_path / "a")
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"id": "INT NOT NULL"}, primary_key="id", options={"bucket": "1"})
    table.write([{"id": 1}])
    code, out = command("copy", "db.t", "db.u", "--by-reference", "--json")
    assert (code, json.loads(out)) == (
        0,
        {"table": "db.u", "rows": 1, "snapshot": 1, "shared_files": 4, "options_not_copied": []},
    )
    context = table.context
    members = json.loads(context.storage.read(context.paths.schema(0)))
    members["options"] |= {"connector": "paimon"}
    context.storage.overwrite(context.paths.schema(0), json.dumps(members).encode())
    code, out = command("copy", "db.t", "db.w", "--by-reference")
    assert (code, "not copied are the keys connector, which are no options of Paimon" in out) == (0, True)
    assert catalog["db.w"].schema.options == {"bucket": "1"}
    to = ["--to-warehouse", tmp_path / "b", "--create-database"]
    code, out = command("copy", "db.t", "db.u", "--by-reference", *to)
    assert (code, "1 row of db.t copied to db.u; it shares 4 files with db.t; " in out) == (0, True)
    code, out = command("copy", "db.t", "db.v", "--by-reference", "--to-warehouse", "memory://no", "--create-database")
    assert (code, "table db.v is not on the local disk" in out) == (2, True)


def test_a_copy_takes_options_of_the_other_store(table, place, command, monkeypatch):
    table.write(ROWS)
    to = ["--to-warehouse", "s3://bucket/lake", "--to-option"]
    code, out = command("copy", "db.t", "db.u", "--to-option", "s3.endpoint=http://x")
    assert (code, "--to-option needs --to-warehouse" in out) == (2, True)
    code, out = command("copy", "db.t", "db.u", *to, "s3.secret-key=mine")
    assert (code, "put it into PAIMON_TO_S3_SECRET_KEY" in out, "mine" in out) == (2, True, False)
    code, out = command("copy", "db.t", "db.u", *to, "endpoint")
    assert (code, "--to-option must be KEY=VALUE" in out) == (2, True)
    opened = {}

    def open_catalog(warehouse, **given):
        opened[warehouse] = given["storage"]
        return paimon.open_catalog(place)

    monkeypatch.setattr("paimon_core.catalog.open.open_catalog", open_catalog)
    monkeypatch.setenv("PAIMON_S3_SECRET_KEY", "ours")
    monkeypatch.setenv("PAIMON_TO_S3_SECRET_KEY", "theirs")
    assert command("copy", "db.t", "db.u", *to, "s3.endpoint=http://x")[0] == 0
    assert opened == {place: None, "s3://bucket/lake": {"s3.endpoint": "http://x", "s3.secret-key": "theirs"}}


def test_import_overwrites_when_it_is_asked_to(table, command, tmp_path):
    table.write([{**ROWS[0], "id": 50}])
    (tmp_path / "a.csv").write_text("id,day,price,note\n1,2024-01-01,1.00,a\n")
    assert command("import", "db.t", tmp_path / "a.csv", "--overwrite")[0] == 0
    assert [row["id"] for row in content(table)] == [1]


def test_json_has_no_numbers_that_json_does_not_have(place, command, tmp_path):
    catalog = paimon.open_catalog(place)
    catalog.create_database("d")
    table = catalog.create_table("d.t", {"x": "DOUBLE", "y": "ARRAY<DOUBLE>"})
    table.write([{"x": float("nan"), "y": [float("inf"), 1.5]}])
    assert command("export", "d.t", tmp_path / "t.json")[0] == 0
    assert (tmp_path / "t.json").read_text() == '{"x": "nan", "y": ["inf", 1.5]}\n'


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet.zst", "-", "s3://bucket/t.json"])
def test_an_export_refuses_names_of_other_files(table, command, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code, out = command("export", "db.t", name, "--format", "json")
    assert (code, out.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []
