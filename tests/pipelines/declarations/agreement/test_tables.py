# ruff: noqa: E501
# The sentences are literal.
import sys
from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError, load_settings
from paimon_lake.declarations.agreement.tables import disagreements
from paimon_lake.declarations.lake.functions import function_of


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables").mkdir()
    (tmp_path / "base.yaml").write_text("")
    (tmp_path / "local.yaml").write_text("")
    declare(tmp_path, "shop.orders", "partitions: {by: day, start: 2024-01-01}")
    return tmp_path


def declare(lake: Path, name: str, *more: str) -> None:
    text = "\n".join(["columns: {id: INT, day: DATE}", "primary_key: id", *more, ""])
    (lake / "tables" / f"{name}.yaml").write_text(text)


def sql(inputs: str, more: str = "") -> str:
    return f"source: {{type: sql, query: SELECT 1, inputs: {inputs}{more}}}"


def refused(lake: Path) -> str:
    with pytest.raises(SettingsError) as raised:
        load_settings(configs=lake)
    return str(raised.value)


def found(lake: Path) -> list[str]:
    return disagreements(load_settings(configs=lake))


def test_a_lake_that_agrees(lake: Path) -> None:
    (lake / "daily.sql").write_text("SELECT 1")
    declare(lake, "shop.daily", sql("shop.orders"), "partitions: {by: day, start: 2024-01-01}")
    declare(lake, "shop.monthly", "source: {type: sql, file: daily.sql, inputs: shop.daily}")
    assert found(lake) == []


BAD = "source: {type: files, path: x.csv}\nrejects: {table: "


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"shop.day": sql("shop.order")}, "shop.day.yaml:3: source.inputs names shop.order, which is not declared; did you "
         "mean shop.orders?"),
        ({"shop.day": sql("shop.orders__rejects")}, "shop.day.yaml:3: source.inputs names shop.orders__rejects: tables of "
         "rejects cannot be inputs yet"),
        ({"shop.day": "source: {type: sql, file: /etc/day.sql, inputs: shop.orders}"}, "shop.day.yaml:3: source.file: "
         "'/etc/day.sql' must be a path relative to the folder"),
        ({"shop.day": sql("[shop.orders, shop.orders]")}, "shop.day.yaml:3: source.inputs names shop.orders twice"),
        ({"shop.day": sql("shop.day")}, "shop.day.yaml:3: the inputs form a cycle: shop.day <- shop.day"),
        ({"a.a": sql("a.c"), "a.b": sql("[a.a, shop.orders]"), "a.c": "source: {type: python, function: m:f, inputs: a.b}"},
         "a.a.yaml:3: the inputs form a cycle: a.a <- a.c <- a.b <- a.a"),
        ({"shop.Orders": ""}, "shop.orders.yaml: the name differs from shop.Orders only by case: some file systems treat both "
         "as one; 1 more"),
        ({"Shop.day": ""}, "shop.orders.yaml: the database shop differs from Shop only by case"),
        ({"shop.day": BAD + "shop.bad}", "shop.week": BAD + "shop.bad}"}, "shop.week.yaml:4: the rejected "
         "rows go to shop.bad, like the rejected rows of shop.day"),
        ({"shop.day": BAD + "shop.orders}"}, "shop.day.yaml:4: the table of rejected rows, shop.orders, is declared "
         "as a table"),
        ({"shop.orders__rejects": ""}, "shop.orders.yaml: the table of rejected rows, shop.orders__rejects, is declared as a "
         "table"),
        ({"shop.day": sql("[a.b, a.c]")}, "shop.day.yaml:3: source.inputs names a.b, which is not declared; 1 more"),
    ],
    ids=lambda one: str(one)[:30],
)  # fmt: skip
def test_what_loading_refuses(lake: Path, tables: dict[str, str], message: str) -> None:
    for name, text in tables.items():
        declare(lake, name, text)
    assert refused(lake) == f"tables/{message}"


def test_a_long_chain_of_inputs_and_two_cycles(lake: Path) -> None:
    for number in range(150):
        declare(lake, f"c.t{number:03}", sql(f"c.t{number + 1:03}"))
    declare(lake, "c.t150", sql("shop.orders"))
    assert found(lake) == []
    declare(lake, "c.t150", sql("[c.t000, c.t149]"))
    assert refused(lake).endswith("; 1 more")


@pytest.mark.parametrize(
    ("given", "wanted", "more", "why"),
    [
        ("by: hour, start: 2024-01-01", "by: day, start: 2024-01-01", "", None),
        ("by: day, start: 2024-01-01", "by: week, start: 2024-01-01", "", None),
        ("by: day, start: 2024-01-01", "by: month, start: 2024-01-01", "", None),
        ("by: month, start: 2024-01-01", "by: day, start: 2024-01-01", "", "a day is not made of whole months"),
        ("by: month, start: 2024-01-01", "by: day, start: 2024-01-01", ", read: whole", None),
        ("by: week, start: 2024-01-01", "by: month, start: 2024-01-01", "", "a month is not made of whole weeks"),
        ("by: day, start: 2024-01-01", "by: day, start: 2024-01-01, timezone: Europe/Berlin", "", "their time zones are "
         "Europe/Berlin and UTC"),
        ("by: static, values: [a, b]", "by: static, values: b", "", None),
        ("by: static, values: [a, b]", "by: static, values: [b, c]", "", "the input has no partition 'c'"),
        ("by: static, values: [a, b]", "by: day, start: 2024-01-01", "", "they are day and static"),
        ("by: dynamic", "by: dynamic", "", None),
    ],
)  # fmt: skip
def test_partitions_of_an_input(lake: Path, given: str, wanted: str, more: str, why: str | None) -> None:
    declare(lake, "shop.orders", f"partitions: {{{given}}}")
    declare(lake, "shop.day", sql("shop.orders", more), f"partitions: {{{wanted}}}")
    said = f"tables/shop.day.yaml:4: the partitions do not fit the partitions of the input shop.orders: {why}"
    assert found(lake) == ([] if why is None else [said])


def test_a_file_of_sql_that_does_not_exist(lake: Path) -> None:
    declare(lake, "shop.day", "source: {type: sql, file: day.sql, inputs: shop.orders}")
    assert found(lake) == ["tables/shop.day.yaml:3: source.file: day.sql does not exist"]


def python(lake: Path, text: str, function: str = "made:day") -> list[str]:
    (lake / "made.py").write_text(text)
    declare(lake, "shop.day", f"source: {{type: python, function: '{function}'}}")
    return found(lake)


@pytest.mark.parametrize(
    ("text", "function", "message"),
    [
        ("def day(spark, step): ...", "made:day", None),
        ("def day(spark, step, more=1): ...", "made:day", None),
        ("def day(*both): ...", "made:day", None),
        ("class Day:\n def __call__(self, spark, step): ...\nday = Day()", "made:day", None),
        ("", "os.path:join", None),
        ("def day(spark): ...", "made:day", "day(spark) in made.py must take (spark, step)"),
        ("def day(spark, *, step): ...", "made:day", "day(spark, *, step) in made.py must take (spark, step)"),
        ("def days(spark, step): ...", "made:day", "made.py has no function day; did you mean days?"),
        ("day = 1", "made:day", "day in made.py is not a function"),
        ("def day(:", "made:day", "made.py cannot be imported: SyntaxError: invalid syntax (made.py, line 1)"),
        ("import no_such_package", "made:day", "made.py cannot be imported: No module named 'no_such_package'"),
        ("1 / 0", "made:day", "made.py cannot be imported: ZeroDivisionError: division by zero"),
        ("", "mode:day", "there is no module mode: neither mode.py exists nor is it installed"),
        ("", "made.more:day", "there is no module made.more: neither made/more.py exists nor is it installed"),
    ],
)  # fmt: skip
def test_a_function(lake: Path, text: str, function: str, message: str | None) -> None:
    assert [one.partition("source.function: ")[2] for one in python(lake, text, function)] == [message] * bool(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def bring(step): ...", None),
        ("def bring(spark, step): ...", "bring(spark, step) in brought.py must take (step)"),
        ("def brings(step): ...", "brought.py has no function bring; did you mean brings?"),
    ],
)
def test_a_function_that_brings_files(lake: Path, text: str, message: str | None) -> None:
    (lake / "brought.py").write_text(text)
    declare(lake, "shop.day", "source: {type: files, path: day.csv, fetch: 'brought:bring'}")
    said = f"tables/shop.day.yaml:3: source.fetch: {message}"
    assert found(lake) == ([] if message is None else [said])


def test_a_file_is_executed_once_and_may_import_its_neighbours(lake: Path) -> None:
    (lake / "beside_made.py").write_text("ONE = 1")
    python(lake, "import beside_made\nfrom pathlib import Path\nwith Path('runs').open('a') as f: f.write('x')\n"
           "def day(spark, step): return beside_made.ONE\ndef week(spark, step): ...", "made:day")  # fmt: skip
    assert function_of("made:day", lake)(None, None) == 1
    assert function_of("made:week", lake) is not function_of("made:day", lake)
    assert (lake / "runs").read_text() == "x"
    assert str(lake) not in sys.path


def test_two_lakes_with_files_of_the_same_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "twin_made.py").write_text(f"def day(spark, step): return {name!r}")
    assert [function_of("twin_made:day", tmp_path / name)(None, None) for name in ("one", "two")] == ["one", "two"]
