"""`merge`: counts first, merges with --apply, from files and from queries, and refuses what it cannot do."""

import json

import pytest

import paimon_core as paimon

ROWS = [{"id": n, "price": n * 10, "note": f"n{n}"} for n in (1, 2, 3)]


@pytest.fixture(params=["append", "vectors", "keyed"])
def goods(place, request):
    catalog = paimon.open_catalog(place)
    catalog.create_database("shop")
    kind = {
        "append": {},
        "vectors": {"options": {"deletion-vectors.enabled": "true"}},
        "keyed": {"primary_key": "id", "options": {"bucket": "1"}},
    }[request.param]
    columns = {"id": "INT NOT NULL", "price": "INT", "note": "STRING"}
    catalog.create_table("shop.goods", columns, **kind).write(ROWS)
    return lambda: catalog.table("shop.goods").scan().to_arrow().sort_by("id").to_pylist()


@pytest.fixture
def changes(tmp_path):
    path = tmp_path / "changes.csv"
    path.write_text("id,price\n2,99\n4,40\n")
    return path


PARTIAL = ("--on", "id", "--columns", "id,price")


def test_rows_of_a_file_are_counted_and_then_merged(command, goods, changes):
    code, text = command("merge", "shop.goods", changes, *PARTIAL)
    assert (code, goods()) == (0, ROWS)
    assert text == (
        "2 rows of the source: would update 1 row, would insert 1 row, would delete 0 rows of shop.goods\n"
        "nothing was changed: add --apply\n"
    )
    code, text = command("merge", "shop.goods", *PARTIAL, changes, "--apply")  # the file may come last
    assert (code, text.rsplit(": ", 1)[0]) == (
        0,
        "2 rows of the source: updated 1 row, inserted 1 row, deleted 0 rows of shop.goods",
    )
    expected = [ROWS[0], {"id": 2, "price": 99, "note": "n2"}, ROWS[2], {"id": 4, "price": 40, "note": None}]
    assert goods() == expected


@pytest.mark.parametrize(
    ("arguments", "numbers", "ids"),
    [
        ((), (1, 1, 0), [1, 2, 3, 4]),
        (("--matched", "ignore"), (0, 1, 0), [1, 2, 3, 4]),
        (("--not-matched", "ignore"), (1, 0, 0), [1, 2, 3]),
        (("--matched", "delete"), (0, 1, 1), [1, 3, 4]),
        (("--matched", "delete", "--not-matched", "ignore"), (0, 0, 1), [1, 3]),
        (("--by-source", "delete"), (1, 1, 2), [2, 4]),
        (("--matched", "ignore", "--not-matched", "ignore", "--by-source", "delete"), (0, 0, 2), [2]),
    ],
)
def test_the_numbers_are_those_of_the_merge(command, goods, changes, arguments, numbers, ids):
    given = ("merge", "shop.goods", changes, *PARTIAL, *arguments, "--json")
    for applied in (False, True):
        code, text = command(*given, *(["--apply"] if applied else []))
        told = json.loads(text)
        assert code == 0
        assert (told["updated"], told["inserted"], told["deleted"]) == numbers
        assert (told["source_rows"], told["applied"], told["snapshot"] is None) == (2, applied, not applied)
    assert [row["id"] for row in goods()] == ids


def test_an_error_about_the_columns_of_a_file_names_the_option(command, goods, changes):
    for verb in (("merge", "shop.goods", changes, "--on", "id"), ("import", "shop.goods", changes)):
        code, text = command(*verb)
        assert (code, "has no column 'note'" in text, "--columns COLUMN,... names the columns" in text) == (
            2,
            True,
            True,
        )
    assert goods() == ROWS


@pytest.mark.parametrize("extra", [(), ("--apply",)])
@pytest.mark.parametrize("number", [1, 4], ids=["update", "insert"])
def test_rows_of_a_query_that_do_not_fit_are_refused_by_the_count_too(command, place, number, extra):
    pytest.importorskip("duckdb")
    catalog = paimon.open_catalog(place)
    catalog.create_database("shop")
    catalog.create_table("shop.goods", {"id": "INT", "price": "INT NOT NULL"}).write([{"id": 1, "price": 10}])
    query = f"SELECT {number} AS id, NULL::INT AS price UNION ALL SELECT 7, 1"
    code, text = command("merge", "shop.goods", query, "--sql", "--on", "id", *extra)
    assert (code, "column 'price' is NOT NULL but 1 values are null" in text) == (2, True), text
    assert catalog.table("shop.goods").scan().to_arrow().num_rows == 1


def test_a_query_is_a_source(command, goods):
    pytest.importorskip("duckdb")
    query = "SELECT id, price + 1 AS price FROM shop.goods WHERE id > 1"
    assert command("merge", "shop.goods", query, "--sql", "--on", "id", "--apply")[0] == 0
    assert [row["price"] for row in goods()] == [10, 21, 31]
    code, text = command("merge", "shop.goods", "SELECT 1 AS id WHERE false", "--sql", "--on", "id", "--matched=delete")
    assert (code, "0 rows of the source: would update 0 rows" in text) == (0, True)


WRONG = {
    "two queries": (("SELECT 1 AS id", "x", "--sql"), "merge --sql takes one SELECT, not 2 arguments"),
    "columns of a query": (("SELECT 1 AS id", "--sql", "--columns", "id"), "--columns is for files"),
    "format of a query": (("SELECT 1 AS id", "--sql", "--format", "csv"), "--format is for files"),
    "options of a query": (("SELECT 1 AS id", "--sql", "--file-option", "a=b"), "--file-option is for files"),
    "only the key": (
        ("SELECT 1 AS id", "--sql"),
        "only the columns --on, so an Update would set nothing: add --matched",
    ),
    "another column": (("SELECT 1 AS id, 2 AS other", "--sql"), "the table has no column 'other'"),
    "another type": (("SELECT 'x' AS id, 1 AS price", "--sql"), "column 'id' is INT and does not accept string"),
    "a missing file": (("none.csv",), "none.csv does not exist"),
    "a column less": (("CHANGES",), "has no column 'note'"),
    "an unknown column": (("CHANGES", "--columns", "id,prize"), "table shop.goods has no column 'prize'"),
    "nothing to do": (("CHANGES", "--matched=ignore", "--not-matched=ignore"), "merge would do nothing"),
}


@pytest.mark.parametrize("goods", ["append"], indirect=True)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_and_change_nothing(command, goods, changes, name):
    given, message = WRONG[name]
    if "--sql" in given:
        pytest.importorskip("duckdb")
    words = [str(changes) if word == "CHANGES" else word for word in given]
    code, text = command("merge", "shop.goods", *words, "--on", "id", "--apply")
    assert (code, message in text, goods()) == (2, True, ROWS), text


def test_a_row_that_two_rows_would_change_is_refused_before_it_is_counted(command, goods, tmp_path):
    path = tmp_path / "twice.json"
    path.write_text('{"id": 1, "price": 1, "note": "a"}\n{"id": 1, "price": 2, "note": "b"}\n')
    code, text = command("merge", "shop.goods", path, "--on", "id")
    assert (code, "several rows of the source change the row with" in text, goods()) == (2, True, ROWS)


def test_keys_are_named_in_the_words_of_the_command(command, place, orders, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('{"day": "mon", "id": 1, "note": "x"}\n')
    code, text = command("merge", "shop.orders", path, "--on", "note")
    assert (code, "--on must be ['day', 'id']" in text, "add --not-matched ignore" in text) == (2, True, True)
    assert command("merge", "shop.orders", path)[0] == 2  # without --on
