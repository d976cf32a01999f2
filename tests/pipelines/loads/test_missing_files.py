"""Sources without files: a wrong path is an error that names what is missing, an empty delivery is not."""

from __future__ import annotations

import pytest

from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_table

ONE = """
    columns: {id: BIGINT}
    primary_key: [id]
    source: {type: files, path: "data/orders.csv"}
"""
MANY = ONE.replace("orders.csv", "*.csv")
DAYS = ONE.replace("orders.csv", "{date}.csv") + "    partitions: {by: day, start: 2024-01-01}\n"

PARTS = """
    columns: {id: BIGINT, a: BIGINT, a_at: BIGINT, b: BIGINT, b_at: BIGINT}
    primary_key: [id]
    parts:
      a: {columns: [a, a_at], order_by: a_at, source: {type: files, path: "data/*.csv"}}
      b: {columns: [b, b_at], order_by: b_at, source: {type: files, path: "b/*.csv"}}
"""


def refused(lake, name, *partitions):
    with pytest.raises(PipelineError) as caught:
        lake.load(name, *partitions)
    return str(caught.value)


def test_a_path_of_one_file_that_does_not_exist_is_an_error_with_the_name_that_is_near(quick):
    quick.declare("shop.orders", ONE)
    quick.file("data/order.csv", "id\n1\n")
    text = refused(quick, "shop.orders")
    assert text.startswith("shop.orders: source.path data/orders.csv does not exist: ")
    assert text.endswith("data has no orders.csv; did you mean order.csv?")


def test_a_path_of_one_file_that_is_gone_is_an_error_after_loads_too(quick):
    quick.declare("shop.orders", ONE)
    path = quick.file("data/orders.csv", "id\n1\n")
    quick.load("shop.orders")
    path.unlink()
    assert "source.path data/orders.csv does not exist" in refused(quick, "shop.orders")


def test_a_link_is_named_as_the_reason(quick):
    quick.declare("shop.orders", ONE)
    quick.file("data/orders.csv", "id\n1\n").rename(quick.folder / "data" / "real.csv")
    (quick.folder / "data" / "orders.csv").symlink_to(quick.folder / "data" / "real.csv")
    assert "it is a symbolic link, which loads leave out" in refused(quick, "shop.orders")


def test_a_folder_without_files_is_named(quick):
    quick.declare("shop.orders", ONE.replace('orders.csv"', 'orders/", format: csv'))
    (quick.folder / "data" / "orders").mkdir(parents=True)
    assert refused(quick, "shop.orders").endswith("no file matches source.path data/orders/: the folder has no files")


def test_a_pattern_without_files_is_an_error_until_the_first_load(quick):
    quick.declare("shop.orders", MANY)
    assert "no file matches source.path data/*.csv: " in refused(quick, "shop.orders")
    path = quick.file("data/a.csv", "id\n1\n")
    quick.load("shop.orders")
    path.unlink()
    done = quick.load("shop.orders")
    assert (done.commits, done.skipped) == ((), ("no file matches data/*.csv",))


def test_a_part_without_files_is_told_and_no_error(quick):
    quick.declare("shop.wide", PARTS)
    quick.file("data/a.csv", "id,a,a_at\n1,2,3\n")
    done = quick.load("shop.wide")
    assert done.skipped == ("part b: no file matches b/*.csv",)
    (row,) = open_table(quick.settings, "shop.wide").scan().to_arrow().to_pylist()
    assert row == {"id": 1, "a": 2, "a_at": 3, "b": None, "b_at": None}


def test_a_day_without_a_file_is_an_error_only_when_no_day_has_a_file(quick):
    quick.declare("shop.orders", DAYS)
    assert "no file matches source.path data/{date}.csv" in refused(quick, "shop.orders", "2024-01-01")
    quick.file("data/2024-01-02.csv", "id\n1\n")
    done = quick.load("shop.orders", "2024-01-01")
    assert (done.commits, done.skipped) == ((), ("no file matches data/{date}.csv for 2024-01-01",))


def test_a_load_refuses_a_path_that_check_refuses(quick):
    quick.declare("shop.orders", DAYS.replace("partitions: {by: day, start: 2024-01-01}", "comment: all days"))
    quick.file("data/2024-01-02.csv", "id\n1\n")
    text = "shop.orders: source.path has the placeholder {date}, and the table has no partitions: declare them by day"
    assert refused(quick, "shop.orders").startswith(text)
