# ruff: noqa: E501
"""Declarations of parts with ``key_from``: what follows from them, and one sentence for each wrong declaration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paimon_lake.declarations import Settings, SettingsError, load_settings
from paimon_lake.declarations.agreement.tables import tables_before
from paimon_lake.declarations.part_spec import load_specs

WIDE = """\
columns:
  order: BIGINT
  amount: INT
  amount_at: INT
  customer: STRING
  city: STRING
  customer_load: BIGINT
primary_key: order
parts:
  amounts:
    source: {type: files, path: amounts/*.csv}
    columns: amount
    order_by: amount_at
  customers:
    source:
      type: table
      table: d.customers
      rename: {name: customer}
      key_from: {table: d.orders, on: {id: customer_id}, columns: {order: id}}
    columns: [customer, city]
    order_by: customer_load
schedule: {on: inputs}
"""
TABLES = {
    "d.customers": "columns: {id: BIGINT, name: STRING, city: STRING, rate: DOUBLE}\nprimary_key: id\nsource: {type: files, path: customers/*.csv}\n",
    "d.orders": "columns: {id: BIGINT, customer_id: BIGINT, line: BIGINT, day: DATE}\nprimary_key: id\nsource: {type: files, path: orders/*.csv}\n",
    "d.lines": "columns: {id: BIGINT, line: INT, customer_id: BIGINT}\nprimary_key: [id, line]\nsource: {type: files, path: lines/*.csv}\n",
    "d.log": "columns: {id: BIGINT}\nsource: {type: files, path: log/*.csv}\nmode: append\n",
    "d.days": "columns: {id: BIGINT, customer_id: BIGINT, day: DATE}\nprimary_key: id\npartition_by: day\noptions: {bucket: '-1'}\nsource: {type: files, path: days/*.csv}\n",
}


def lake(folder: Path, text: str) -> Settings:
    (folder / "tables").mkdir(parents=True)
    (folder / "base.yaml").write_text("warehouse: warehouse\n")
    (folder / "local.yaml").write_text("")
    for name, one in {**TABLES, "d.wide": text}.items():
        (folder / "tables" / f"{name}.yaml").write_text(one)
    return load_settings("local", configs=folder)


def test_the_options_and_the_inputs_follow_from_the_part(tmp_path: Path) -> None:
    spec = lake(tmp_path, WIDE).table("d.wide")
    assert spec.table_options["fields.customer_load.sequence-group"] == "customer,city"
    assert tables_before(spec) == ("d.customers", "d.orders")
    _, part = load_specs(spec)
    assert (part.load_name, part.adds_up, part.partitions) == ("d.wide part customers", False, None)


BIGINT = "must be one column of the type BIGINT, which loads fill: when the mapping changes, an older row of the source replaces a newer one, so a column of the source cannot order them"
MISTAKES = [
    ("customer_load: BIGINT", "customer_load: INT", ":21: parts.customers.order_by: " + BIGINT),
    ("    order_by: customer_load\n", "", ":14: parts.customers.order_by: " + BIGINT),
    ("[customer, city]", "[customer, city, customer_load]", ":21: parts.customers.order_by: 'customer_load' is filled by loads: remove it from columns and from source.rename"),
    ("    order_by: customer_load\n", "    order_by: customer_load\n    kinds: {column: op}\n", ":22: parts.customers.kinds: is not allowed beside key_from: the changes of both tables say what is deleted"),
    ("    order_by: customer_load\n", "    order_by: customer_load\n    deletes: row\n", ":22: parts.customers.deletes: must be columns: a row of the source that is deleted does not end the rows it belongs to"),
    ("{name: customer}", "{name: customers}", ":18: parts.customers.source.rename.name: 'customers' is not in the columns of this part"),
    ("{name: customer}", "{name: customer, city: customer}", ":18: parts.customers.source.rename: gives one column two values"),
    ("{name: customer}", "{nam: customer}", ":18: parts.customers.source.rename: 'nam' is not a column of d.customers; did you mean name?"),
    ("{name: customer}", "{rate: customer}", ":18: parts.customers.source.rename: customer of d.wide is STRING, and rate of d.customers is DOUBLE: both must have the same type"),
    ("table: d.customers", "table: d.customer", ":17: parts.customers.source.table: d.customer is not declared; did you mean d.customers?"),
    ("table: d.customers", "table: customers", ":17: parts.customers.source.table: must be <database>.<table>, not 'customers'"),
    ("table: d.customers", "table: d.log", ":17: parts.customers.source.table: d.log has no primary_key, by which its rows are found"),
    ("table: d.orders", "table: d.wide", ":19: parts.customers.source.key_from.table: is this table itself: name a smaller table that has the keys, so that the wide table is not read"),
    ("table: d.orders", "table: d.days", ":19: parts.customers.source.key_from.table: d.days has partition_by with columns outside of its primary_key: its changes have no order then"),
    ("table: d.orders", "table: d.lines", ":19: parts.customers.source.key_from.columns: gives id of d.lines, and it must give each column of its primary key once: id, line; else a row of this table could have several rows there"),
    ("{id: customer_id}", "{city: customer_id}", ":19: parts.customers.source.key_from.on: gives city of d.customers, and it must give each column of its primary key: id"),
    ("{id: customer_id}", "{id: day}", ":19: parts.customers.source.key_from.on: id of d.customers is BIGINT, and day of d.orders is DATE: both must have the same type"),
    ("{order: id}", "{orders: id}", ":19: parts.customers.source.key_from.columns.orders: 'orders' is not in the primary_key of this table; did you mean order?"),
    ("customer_load: BIGINT\nprimary_key: order\n", "customer_load: BIGINT\n  line: BIGINT\nprimary_key: [order, line]\n", ":20: parts.customers.source.key_from.columns: 'line' is missing: the mapping table gives each column of the primary_key"),
    ("      key_from: {table: d.orders, on: {id: customer_id}, columns: {order: id}}\n", "", ":15: parts.customers.source.key_from is missing"),
    ("      rename: {name: customer}\n", "      lookup: []\n", ":18: unknown key parts.customers.source.lookup: only files, databases, changes and messages have it, below source; a query joins its inputs (known here: cache_bytes, key_from, rename, table, type)"),
    ("path: amounts/*.csv}", "path: amounts/*.csv, lookup: [{table: d.customers, on: {x: id}, columns: {amount: id}, refresh: true}]}", ":11: unknown key parts.amounts.source.lookup[0].refresh: written rows are not looked up again; to update them when the other table changes, fill these columns by a part with `source: {type: table, key_from: ...}` (known here: after_wait, cache_bytes, columns, max_wait, missing, on, table)"),
    ("  amounts:\n", "  amounts:\n    key_from: {table: d.orders}\n", ":11: unknown key parts.amounts.key_from: only a source of type table has it, in a part of a wide table (known here: columns, deletes, kinds, order_by, source)"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[f"{n}" for n in range(len(MISTAKES))])
def test_a_wrong_declaration(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert WIDE.count(old) == 1
    with pytest.raises(SettingsError) as refused:
        lake(tmp_path / "lake", WIDE.replace(old, new, 1))
    assert re.sub(r"^\S*/tables/d\.wide\.yaml|; 1 more$", "", str(refused.value).splitlines()[0]) == message


def test_only_a_part_has_its_key_from_a_mapping_table(tmp_path: Path) -> None:
    source = "source: {type: table, table: d.customers, key_from: {table: d.orders, on: {id: customer_id}, columns: {id: id}}}\n"
    with pytest.raises(SettingsError, match=r":3: source\.type: table fills only parts of a wide table: use a source"):
        lake(tmp_path, "columns: {id: BIGINT, name: STRING}\nprimary_key: id\n" + source)
