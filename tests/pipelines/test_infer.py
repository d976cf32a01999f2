"""Declared tables and the tables of the lake: what differs, what is created, and columns written down from files."""

import datetime
import gzip
import io
import os
import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import StorageError
from paimon_lake.cli import main as cli_main
from paimon_lake.cli.main import main
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import load_settings
from paimon_lake.declarations.yaml_file import read_yaml
from paimon_lake.differences import differences
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.apply import PartlyApplied, apply
from paimon_lake.steps.infer import _write_columns, infer
from paimon_lake.tables import open_lake, open_table


@pytest.fixture(autouse=True)
def one_session(monkeypatch, spark):
    """Check queries in the session of the tests: a process has one session, whatever a lake declares."""
    monkeypatch.setattr(cli_main, "start_session", lambda settings: spark)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "lake"
    new_lake(path)
    return path


def change(folder, old, new, table="shop.orders"):
    path = folder / "tables" / f"{table}.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.long
def test_a_new_lake_is_checked_applied_and_agrees(folder, capsys):
    assert main(["check", "--configs", str(folder)]) == 1
    assert capsys.readouterr().out == (
        "shop.orders is not in the lake: apply creates it\nshop.revenue is not in the lake: apply creates it\n"
    )
    assert main(["apply", "--configs", str(folder)]) == 0
    assert capsys.readouterr().out == "created shop.orders\ncreated shop.revenue\n"
    assert main(["check", "--configs", str(folder)]) == 0
    assert capsys.readouterr().out == "2 tables agree with their declarations\n"
    assert open_lake(load_settings("local", configs=folder)).list_tables("shop") == ["orders", "revenue"]


def test_what_is_wrong_in_sources_and_checks_is_told(folder, capsys):
    change(folder, "data/orders/{date}.csv", "data/others/{date}.csv")
    change(
        folder, "{type: range, column: revenue, min: 0}", "{type: range, column: revenue, min: none}", "shop.revenue"
    )
    change(folder, "inputs: [shop.orders]", "inputs: [shop.orders]\n  read: whole", "shop.revenue")
    assert main(["check", "--configs", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "shop.orders: no file matches source.path data/others/{date}.csv: " in out
    assert "data has no others; did you mean orders?\n" in out
    assert "shop.revenue: checks[0]: " in out


@pytest.mark.parametrize("form", [["shop.orders"], ["--table", "shop.orders"]])
def test_check_of_one_table_tells_only_what_is_wrong_in_it(folder, capsys, form):
    change(folder, "min: 0", "min: none", "shop.revenue")
    assert main(["apply", "--configs", str(folder)]) == 0
    capsys.readouterr()
    assert main(["check", *form, "--configs", str(folder)]) == 0
    assert capsys.readouterr().out == "1 table agrees with its declaration\n"
    assert main(["check", "tag:none", "--configs", str(folder)]) == 2
    assert main(["check", "shop.orders+", "--configs", str(folder)]) == 1
    assert "shop.revenue: checks[0]: " in capsys.readouterr().out


def test_a_folder_with_files_is_not_overwritten(folder):
    with pytest.raises(PipelineError, match=r"lake exists already and is not empty: name a new folder"):
        new_lake(folder)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("  status: STRING", "  status: STRING\n  note: STRING", "has no column note, which is declared as STRING"),
        ("amount: DECIMAL(10, 2)", "amount: DECIMAL(12, 2)", "has column amount as DECIMAL(10, 2), and it is declared"),
        (
            "comment: orders, each as last reported",
            "comment: orders",
            "has the comment 'orders, each as last reported'",
        ),
        (
            "backfill_per_run: 31",
            "options: {snapshot.time-retained: 2 h}",
            "has option snapshot.time-retained = None, and",
        ),
    ],
)
def test_a_difference_is_told_and_apply_alters_the_table(folder, old, new, sentence):
    apply(load_settings("local", configs=folder))
    change(folder, old, new)
    settings = load_settings("local", configs=folder)
    assert differences(settings)["shop.orders"][0].startswith(sentence)
    (told,) = apply(settings)
    assert told.startswith(f"altered shop.orders, which {sentence}")
    assert differences(settings)["shop.orders"] == []
    assert apply(settings) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("primary_key: [order_id]", "primary_key: [order_id, status]", r"the primary key of a table cannot change"),
        (
            "amount: DECIMAL(10, 2)",
            "amount: BINARY(4)",
            r"shop\.orders cannot be altered as .*yaml declares it: .*amount",
        ),
        ("  customer: STRING\n", "", r"has column customer, which is not declared, and nothing was changed: .*--drop"),
    ],
)
def test_a_change_that_is_not_allowed_changes_no_table(folder, old, new, why):
    apply(load_settings("local", configs=folder))
    change(folder, old, new)
    (folder / "tables" / "shop.more.yaml").write_text("columns: {id: INT}\nprimary_key: id\n")
    settings = load_settings("local", configs=folder)
    with pytest.raises(PipelineError, match=why):
        apply(settings)
    assert not open_lake(settings).table_exists("shop.more")


@pytest.mark.parametrize("damage", ["schema", "storage"])
def test_a_damaged_table_does_not_hinder_the_others(folder, capsys, monkeypatch, damage):
    settings = load_settings("local", configs=folder)
    apply(settings)
    if damage == "schema":
        context = open_table(settings, "shop.revenue").context
        Path(context.paths.schema(0)).write_text("{")
    else:
        catalog = type(open_lake(settings))
        opened = catalog.table
        monkeypatch.setattr(catalog, "table", lambda c, name: fails() if "revenue" in name else opened(c, name))
    change(folder, "  status: STRING", "  status: STRING\n  note: STRING")
    (folder / "tables" / "shop.more.yaml").write_text("columns: {id: INT}\nprimary_key: id\n")
    assert main(["apply", "--configs", str(folder)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[2][:16] for line in out] == ["cannot be opened", "shop.more", "shop.orders, whi"]
    assert out[0].startswith("shop.revenue ")
    assert "note" in open_table(settings, "shop.orders").schema.names
    with pytest.raises(PartlyApplied, match=r"shop\.revenue cannot be opened") as partly:
        apply(load_settings("local", configs=folder))
    assert partly.value.done == ()
    change(folder, "amount: DECIMAL(10, 2)", "amount: BINARY(4)")
    with pytest.raises(PipelineError, match=r"shop\.orders cannot be altered"):
        apply(load_settings("local", configs=folder))


def fails():
    raise StorageError("no answer")


def test_a_type_that_loses_values_is_applied_only_by_name(folder, capsys):
    settings = load_settings("local", configs=folder)
    apply(settings)
    order = {"order_id": 1, "amount": Decimal("1.50"), "reported_on": datetime.date(2024, 1, 1)}
    open_lake(settings).table("shop.orders").write([order])
    change(folder, "amount: DECIMAL(10, 2)", "amount: INT")
    (folder / "tables" / "shop.more.yaml").write_text("columns: {id: INT}\nprimary_key: id\n")
    at = ["apply", "--configs", str(folder)]
    assert main(at) == 2
    told = capsys.readouterr()
    assert "1.50" in told.err + told.out
    assert "apply --lossy shop.orders.amount" in told.err + told.out
    assert not open_lake(settings).table_exists("shop.more")
    assert main([*at, "--lossy", "shop.orders.amounts"]) == 2
    assert main([*at, "--lossy", "shop.orders.status"]) == 2
    assert open_lake(settings).table("shop.orders").schema.by_name["amount"].type.sql == "DECIMAL(10, 2)"
    assert main([*at, "--lossy", "shop.orders.amount"]) == 0
    assert open_lake(settings).table("shop.orders").scan(["amount"]).to_arrow()["amount"].to_pylist() == [1]


@pytest.mark.long
def test_apply_drops_columns_when_it_is_told_to(folder):
    apply(load_settings("local", configs=folder))
    change(folder, "  customer: STRING\n", "")
    settings = load_settings("local", configs=folder)
    assert apply(settings, drop=True) == ["altered shop.orders, which has column customer, which is not declared"]
    assert "customer" not in open_lake(settings).table("shop.orders").schema.names


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{date}", "{month}", "source.path has the placeholder {month}, and the partitions are by day: write {date}"),
        ("{date}", "{day}", "source.path has the placeholder {day}, and the partitions are by day: write {date}"),
        ("{date}", "*", "source.path data/orders/*.csv has no placeholder for partitions by day, such as {date}"),
        ("partitions: {by: day, start: 2024-01-01, end: 2024-01-03}\nbackfill_per_run: 31\n", "", "source.path has the placeholder {date}, and the table has no partitions: declare them by day, or write *"),  # noqa: E501
        ("by: day, start: 2024-01-01, end: 2024-01-03", "by: dynamic", "source.path has the placeholder {date}, a time, and the partitions are dynamic: write {name}"),  # noqa: E501
        ("{date}.csv", "*.csv\n  late: tell",
         "source.late needs a placeholder in source.path: without one, no file is late"),
    ],
)  # fmt: skip
def test_a_path_that_does_not_fit_the_partitions_is_told(folder, capsys, old, new, told):
    change(folder, "  add: {reported_on: partition}\n", "")
    change(folder, old, new)
    assert main(["check", "--configs", str(folder)]) == 1
    assert f"shop.orders: {told}\n" in capsys.readouterr().out


@pytest.mark.long
def test_a_table_whose_rows_depend_on_the_order_of_loads_is_told(folder, capsys):
    apply(load_settings("local", configs=folder))
    assert main(["check", "--configs", str(folder)]) == 0
    assert "note:" not in capsys.readouterr().out
    change(folder, "order_by: [reported_on]\n", "options: {sequence.field: reported_on}\n")
    main(["check", "--configs", str(folder)])
    assert "note:" not in capsys.readouterr().out
    change(folder, "options: {sequence.field: reported_on}\n", "")
    main(["check", "--configs", str(folder)])
    assert "note: shop.orders: a day that is loaded after a later one, such as a late file, " in capsys.readouterr().out


def test_columns_are_inferred_and_written_down_for_review(folder):
    path = folder / "tables" / "shop.orders.yaml"
    before = path.read_text()
    columns = before[before.index("columns:") : before.index("primary_key:")]
    change(folder, columns, "columns: infer  # from the files\n")
    found = infer(load_settings("local", configs=folder), "shop.orders").columns
    assert list(found) == ["order_id", "order_date", "customer", "amount", "status", "reported_on"]
    assert [found[c] for c in ("order_id", "order_date", "customer", "reported_on")] == [
        "BIGINT",
        "DATE",
        "STRING",
        "DATE",
    ]
    settings = load_settings("local", configs=folder)
    assert dict(settings.table("shop.orders").columns) == found
    assert open_table(settings, "shop.orders", create=True).schema.names == list(found)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("id,n\n1,\n", "id,n\n2,5\n", {"id": "BIGINT", "n": "BIGINT"}),
        ("id,n\n1,2024-01-01\n", "id,n\n2,\n", {"id": "BIGINT", "n": "DATE"}),
        ("id,n\n1,\n", "id,n\n2,\n", {"id": "BIGINT", "n": "STRING"}),
        ("id,n\n1,2024-01-01\n", "id,n\n2,2024-01-01 10:00\n", {"id": "BIGINT", "n": "TIMESTAMP(3)"}),
    ],
)
def test_a_column_that_is_empty_in_one_file_has_the_type_of_the_others(folder, first, second, found):
    (folder / "tables" / "shop.more.yaml").write_text("source: {type: files, path: more/*.csv}\nnatural_key: id\n")
    (folder / "more").mkdir()
    (folder / "more" / "1.csv").write_text(first)
    (folder / "more" / "2.csv").write_text(second)
    assert infer(load_settings("local", configs=folder), "shop.more").columns == found


def sampled_lines(folder, files, capsys, code=0):
    """Infer the columns of files by name, with the command; return the lines below the columns."""
    ending = next(iter(files)).partition(".")[2]
    (folder / "tables" / "shop.more.yaml").write_text(
        f"source: {{type: files, path: more/*.{ending}}}\nnatural_key: id\n"
    )
    (folder / "more").mkdir()
    for name, data in files.items():
        (folder / "more" / name).write_bytes(data)
    assert main(["infer", "--configs", str(folder), "--table", "shop.more"]) == code
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith(("read", "note"))]


def test_infer_says_that_it_read_everything(folder, capsys):
    files = {"1.csv": b"id,n,z\n1,,\n", "2.csv": b"", "3.csv": b"id,n,z\n2,5,\n"}
    assert sampled_lines(folder, files, capsys) == [
        "read all 2 rows in 2 of 3 files, 23 B of 23 B",
        "note: without a value in what was read, so STRING is a guess: z",
    ]


def test_infer_says_which_types_rest_on_a_sample(folder, capsys):
    row = b"%d,2024-01-01,true,9.5,x,\n"
    big = b"id,day,paid,price,name,z\n" + b"".join(row % n for n in range(100_000))
    files = {"1.csv": big, "2.csv": big[:1000], "3.csv": big, "4.csv": big}
    assert sampled_lines(folder, files, capsys) == [
        f"read 20,037 rows in 3 of 4 files, 2.1 MB of {(3 * len(big) + 1000) / 1e6:.1f} MB",
        "note: without a value in what was read, so STRING is a guess: z",
        "note: only whole numbers in the rows read: id; declare DECIMAL or DOUBLE for a column that may have fractions",
        "note: types that fit the rows read, and perhaps not all rows: day DATE, paid BOOLEAN, price DOUBLE",
    ]


def test_infer_counts_stored_bytes_and_empty_members(folder, capsys):
    lines = b"".join(b'{"id":%d,"a":{"b":null,"c":[]}}\n' % n for n in range(12_000))
    packed = gzip.compress(lines)
    found = sampled_lines(folder, {"1.jsonl.gz": packed, "2.jsonl.gz": gzip.compress(b'{"id":1}')}, capsys)
    read, size = re.fullmatch(r"read 10,001 rows in 2 of 2 files, ([\d.]+) kB of ([\d.]+) kB", found[0]).groups()
    assert 0 < float(read) <= float(size) == round((len(packed) + len(gzip.compress(b'{"id":1}'))) / 1000, 1)
    assert found[1] == "note: without a value in what was read, so STRING is a guess: a.b, a.c[]"
    assert [line.partition(":")[2].partition(";")[0] for line in found[2:]] == [
        " only whole numbers in the rows read: id",
        " types that fit the rows read, and perhaps not all rows: a ROW<b STRING, c ARRAY<STRING>>",
    ]


def test_infer_names_the_value_that_makes_a_column_a_text(folder, capsys):
    files = {
        "1.csv": b"id,zip,price,name,day\n1,04109,1.5,a,2024-01-01\n2,10115,n/a,b,2024-01-02\n3,20095,2,c,2024-01-03\n",
        "2.csv": b"id,zip,price,name,day\nX1,10115,1.5,d,20.5\n",
    }
    assert sampled_lines(folder, files, capsys)[1:] == [
        "note: zip is STRING because of '04109' in more/1.csv, row 1: BIGINT would lose the zeros at its left",
        "note: price is STRING because of 'n/a' in more/1.csv, row 2; most other values are DOUBLE: declare DOUBLE to "
        "reject rows with such values, or name the value in source.options.null_value",
        "note: id is STRING, because the files have BIGINT ('1' in more/1.csv, row 1) and STRING ('X1' in more/2.csv, "
        "row 1)",
        "note: day is STRING, because the files have DATE ('2024-01-01' in more/1.csv, row 1) and DOUBLE ('20.5' in "
        "more/2.csv, row 1)",
    ]


def test_infer_says_that_files_state_their_types(folder, capsys):
    data = pa.table({"id": [1]})
    files = {}
    for n in range(4):
        sink = io.BytesIO()
        pq.write_table(data, sink)
        files[f"{n}.parquet"] = sink.getvalue()
    assert sampled_lines(folder, files, capsys) == [
        "read the columns that 3 of 4 files state; no row was read",
        "note: the other files may state other columns and types; a load names the first that differs",
    ]


@pytest.mark.parametrize(("text", "shown"), [("id;n\n1;2\n", ";"), ("id\tn\n1\t2\n", r"\\t")])
def test_a_file_with_another_delimiter_is_told(folder, text, shown):
    path = folder / "tables" / "shop.more.yaml"
    path.write_text("source: {type: files, path: more/*.csv}\nnatural_key: id\n")
    (folder / "more").mkdir()
    (folder / "more" / "1.csv").write_text(text)
    with pytest.raises(PipelineError, match=rf'1\.csv has one column, .* set source\.options\.delimiter: "{shown}"'):
        infer(load_settings("local", configs=folder), "shop.more")
    assert "columns" not in path.read_text()


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("# schema\n\n# Orders.\ncomment: orders # x\n# key\nkey: a\n", "# schema\n\n# Orders.\ncomment: orders # x\ncolumns:\n  id: INT\n# key\nkey: a\n"),  # noqa: E501
        ("comment: >\n  two\n  lines\nkey: a\n", "comment: >\n  two\n  lines\ncolumns:\n  id: INT\nkey: a\n"),
        ("comment: last", "comment: last\ncolumns:\n  id: INT\n"),
        ("# schema\nkey: a\n", "# schema\ncolumns:\n  id: INT\nkey: a\n"),
    ],
)  # fmt: skip
def test_columns_are_written_below_the_comment(tmp_path, text, changed):
    path = tmp_path / "shop.orders.yaml"
    path.write_text(text)
    _write_columns(path, {"id": "INT"})
    assert path.read_text() == changed


@pytest.mark.parametrize(
    "written",
    [
        'columns: "infer"',
        "columns: 'infer' # later",
        "columns: {}",
        "columns:   # from the files\n  infer",
        '"columns": infer',
        "columns:\n  infer",
        "columns: {\n}",
        "",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_way_to_leave_columns_open_is_replaced(folder, written, newline):
    path = folder / "tables" / "shop.orders.yaml"
    before = path.read_text()
    columns = before[before.index("columns:") : before.index("primary_key:")]
    path.write_bytes(before.replace(columns, f"{written}\n").replace("\n", newline).encode())
    found = infer(load_settings("local", configs=folder), "shop.orders").columns
    settings = load_settings("local", configs=folder)  # a second key would be refused
    assert dict(settings.table("shop.orders").columns) == found
    assert settings.table("shop.orders").primary_key == ("order_id",)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(newline.encode())
    assert [one.name for one in path.parent.iterdir() if one.name.startswith(".")] == []


NAMES = ['say "hi"', "back\\slash", "a: b", "- x", "#no", "true", "tab\there", "größe", "😀", "{", "it's", "${HOME}"]


@pytest.mark.parametrize(
    "text",
    [
        "# first\n---\ncolumns: infer # all\nprimary_key: id\n",
        "columns:  # all\nprimary_key: id\n",
        "{columns: infer, primary_key: id}\n",
        "{primary_key: id}",
    ],
)
def test_unusual_names_of_columns_become_valid_yaml(tmp_path, text):
    path = tmp_path / "shop.orders.yaml"
    path.write_text(text)
    path.chmod(0o640)
    columns = {**dict.fromkeys(NAMES, "STRING"), "amount": "DECIMAL(10, 2)", "list": "ROW<`a: b` STRING, c INT>"}
    _write_columns(path, columns)
    assert read_yaml(path).values == {"columns": columns, "primary_key": "id"}
    assert path.read_text()[0] == text[0]
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_changed_safely_stays_as_it_is(tmp_path):
    path = tmp_path / "shop.orders.yaml"
    path.write_text("comment: &infer infer\ncolumns: *infer\n")
    with pytest.raises(PipelineError, match=r"shop\.orders\.yaml: the columns cannot be written here"):
        _write_columns(path, {"id": "INT"})
    assert path.read_text() == "comment: &infer infer\ncolumns: *infer\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_crash_while_columns_are_written_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "shop.orders.yaml"
    path.write_text("columns: infer\n")

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        _write_columns(path, {"id": "INT"})
    assert path.read_text() == "columns: infer\n"


def test_columns_that_are_there_are_not_replaced(folder):
    with pytest.raises(PipelineError, match=r"shop\.orders has columns already"):
        infer(load_settings("local", configs=folder), "shop.orders")


def test_a_table_without_columns_is_not_created(folder):
    text = (folder / "tables" / "shop.orders.yaml").read_text()
    columns = text[text.index("columns:") : text.index("primary_key:")]
    change(folder, columns, "columns: infer\n")
    with pytest.raises(PipelineError, match=r"shop\.orders has no columns: `paimon-lake infer"):
        apply(load_settings("local", configs=folder))
    assert not open_lake(load_settings("local", configs=folder)).table_exists("shop.revenue")


def test_another_length_of_a_text_is_a_difference(dry_lake):
    dry_lake.declare("shop.t", "columns: {id: BIGINT, name: VARCHAR}\nprimary_key: id")
    dry_lake.create("shop.t")
    dry_lake.declare("shop.t", "columns: {id: BIGINT, name: STRING}\nprimary_key: id")
    assert differences(dry_lake.settings)["shop.t"] == ["has column name as VARCHAR(1), and it is declared as STRING"]


def test_comments_of_columns_reach_the_table_and_change_it(folder):
    change(folder, "  status: STRING", "  status: {type: STRING, comment: paid or sent}")
    settings = load_settings("local", configs=folder)
    apply(settings)
    fields = {field.name: field for field in open_lake(settings).table("shop.orders").schema.fields}
    assert (fields["status"].description, fields["order_id"].description) == ("paid or sent", None)
    assert not any(differences(settings).values())
    change(folder, "comment: paid or sent", "comment: the last state")
    settings = load_settings("local", configs=folder)
    told = "has the comment 'paid or sent' of column status, and 'the last state' is declared"
    assert differences(settings)["shop.orders"] == [told]
    assert apply(settings) == [f"altered shop.orders, which {told}"]
    change(folder, "{type: STRING, comment: the last state}", "STRING")
    settings = load_settings("local", configs=folder)
    assert apply(settings) == [
        "altered shop.orders, which has the comment 'the last state' of column status, and '' is declared"
    ]
    assert [f.description for f in open_lake(settings).table("shop.orders").schema.fields] == [None] * len(fields)
