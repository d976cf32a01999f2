"""Upserts of rows that lack columns are told (resembles issue 29)."""

import logging

import pyarrow as pa
import pytest

import paimon_core as paimon

COLUMNS = {"id": "BIGINT", "n": "INT", "s": "STRING"}


def table_of(warehouse, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog.create_table("db.t", COLUMNS, **options)


@pytest.mark.parametrize("rows", [[{"id": 1, "n": 1}], pa.table({"id": [1], "n": [1]})], ids=["dicts", "arrow"])
def test_columns_that_an_upsert_sets_to_null_are_told(warehouse, caplog, rows):
    table = table_of(warehouse, primary_key="id")
    with caplog.at_level(logging.WARNING):
        table.write([{"id": 1, "n": 1, "s": "a"}, {"id": 2, "n": None, "s": None}])
        assert caplog.messages == []
        table.write(rows)
    [message] = caplog.messages
    assert message.startswith("write to db.t: the rows have no value of s, which becomes null")


@pytest.mark.parametrize("options", [{}, {"options": {"write.merge-schema": "true"}}], ids=["plain", "merging"])
def test_columns_that_some_rows_set_to_null_are_told(warehouse, caplog, options):
    table = table_of(warehouse, primary_key="id", **options)
    with caplog.at_level(logging.WARNING):
        table.write(iter([{"id": 1, "s": "a"}, {"id": 2, "n": 2, "s": "b"}, {"id": 3, "n": 3}]))
    [message] = caplog.messages
    assert message.startswith("write to db.t: some rows have no value of n, s, which becomes null")


@pytest.mark.parametrize("order", [1, -1])
def test_columns_that_some_batches_set_to_null_are_told(warehouse, caplog, order):
    table = table_of(warehouse, primary_key="id")
    batches = [pa.table({"id": [1], "n": [1], "s": ["a"]}), pa.table({"id": [2], "n": [2]})]
    with caplog.at_level(logging.WARNING):
        table.write(iter(batches[::order]))
    [message] = caplog.messages
    assert message.startswith("write to db.t: some rows have no value of s, which becomes null")


def test_a_column_that_the_write_adds_is_lost_by_no_row(warehouse, caplog):
    table = table_of(warehouse, primary_key="id", options={"write.merge-schema": "true"})
    batches = [pa.table({"id": [1], "n": [1], "s": ["a"]}), pa.table({"id": [2], "n": [2], "s": ["b"], "new": [1]})]
    with caplog.at_level(logging.WARNING):
        table.write(iter(batches))
    assert caplog.messages == []


@pytest.mark.parametrize(
    "options",
    [{}, {"primary_key": "id", "options": {"merge-engine": "partial-update"}}],
    ids=["append", "partial-update"],
)
def test_other_tables_lose_no_value(warehouse, caplog, options):
    table = table_of(warehouse, **options)
    with caplog.at_level(logging.WARNING):
        table.write([{"id": 1, "n": 1}, {"id": 2}])
    assert caplog.messages == []


def test_deletes_and_overwrites_tell_nothing(warehouse, caplog):
    table = table_of(warehouse, primary_key="id")
    with caplog.at_level(logging.WARNING):
        table.overwrite([{"id": 1}])
        table.write([{"id": 1}], kinds=["-D"])
    assert caplog.messages == []
