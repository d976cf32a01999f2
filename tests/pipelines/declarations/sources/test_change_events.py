"""Declarations of tables whose files are change events: what does not fit is one sentence with file and line."""

from argparse import Namespace

import pytest

from paimon_lake.cli.lake_commands import lines_of
from paimon_lake.declarations import SettingsError

PRODUCTS = """\
columns: {id: BIGINT, name: STRING, at: TIMESTAMP(3)}
primary_key: id
source:
  type: files
  path: in/*.json
  format: debezium-json
"""
MISTAKES = [
    ("primary_key: id\n", "", ":5: source.format: debezium-json needs a primary_key: its events update and delete rows "
     "by their keys"),
    ("primary_key: id", "natural_key: id", ":6: source.format: debezium-json needs a primary_key"),
    (
        "primary_key: id",
        "primary_key: id\nkinds: {column: op}",
        ":3: kinds: the events of debezium-json say whether a row is inserted, updated or deleted: remove kinds",
    ),
    *(
        (
            "primary_key: id",
            f"primary_key: id\npartition_by: id\nmode: {mode}",
            f":4: mode: debezium-json inserts, updates and deletes rows, so {mode} does not fit: remove mode",
        )
        for mode in ("upsert", "append", "overwrite", "overwrite-partitions")
    ),
    (
        "{id: BIGINT, name: STRING, at: TIMESTAMP(3)}",
        "infer",
        ":1: columns: the columns of debezium-json cannot be inferred: write them down",
    ),
    *(
        (
            "primary_key: id",
            f"primary_key: id\noptions: {{merge-engine: {engine}}}",
            f":3: options.merge-engine: {engine} does not fit debezium-json: the events have whole rows, and deletes "
            "remove them; it must be deduplicate",
        )
        for engine in ("partial-update", "aggregation", "first-row")
    ),
    (
        "primary_key: id",
        "primary_key: id\noptions: {changelog-producer: input}",
        ":3: options.changelog-producer: input does not fit debezium-json: the events may lack the old rows; it must "
        "be none or lookup or full-compaction",
    ),
    (
        "primary_key: id",
        "primary_key: id\noptions: {rowkind.field: name}",
        ":3: options.rowkind.field: does not fit debezium-json: the events have the kinds of rows",
    ),
    (
        "  path: in/*.json",
        "  path: in/{name}.json\n  add: {id: partition}",
        ":6: source.add.id: is in the primary key: an event could not delete a row of another file",
    ),
    (
        "  type: files",
        "  type: files\n  changed: load",
        ":5: source.changed: load would apply the events of a changed file after the events of later files: load with "
        "`--reload`",
    ),
    ("debezium-json", "debezium", ":6: source.format must be one of csv, json, jsonl, parquet, orc, avro, "
     "debezium-json, canal-json, maxwell-json, not 'debezium'"),
    ("name: STRING", "name: VARIANT", ":1: columns.name: debezium-json has no values of the type VARIANT: load the "
     "table from parquet, a query or a function"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_declaration_that_change_events_do_not_fit(dry_lake, old, new, message):
    assert PRODUCTS.count(old) == 1
    dry_lake.declare("shop.products", PRODUCTS.replace(old, new))
    with pytest.raises(SettingsError) as raised:
        dry_lake.settings.table("shop.products")
    assert str(raised.value).partition("/lake/")[2].startswith(f"tables/shop.products.yaml{message}")


def test_the_mode_is_changes_and_may_be_stated(dry_lake):
    for text in (PRODUCTS, PRODUCTS + "mode: changes\n"):
        dry_lake.declare("shop.products", text)
        assert dry_lake.settings.table("shop.products").write_mode == "changes"


def test_canal_has_no_bytes(dry_lake):
    for kind in ("BYTES", "ARRAY<BINARY(2)>"):
        text = PRODUCTS.replace("debezium", "canal").replace("name: STRING", f"name: '{kind}'")
        dry_lake.declare("shop.products", text)
        with pytest.raises(SettingsError, match=r":1: columns\.name: canal-json has no exact values of the type "):
            dry_lake.settings.table("shop.products")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{timestamp_unit: s}", "format option timestamp_unit must be ms, us or ns, not 's'"),
        ("{tables: a}", "format option 'tables' is not an option of debezium-json; the options are encoding"),
        ("{delimiter: ;}", "format option 'delimiter' is not an option of debezium-json"),
        ("{table: 5}", "format option table must be a text, not 5"),
    ],
)
def test_the_check_of_a_lake_tells_wrong_options(dry_lake, options, message):
    dry_lake.declare("shop.products", f"{PRODUCTS}  options: {options}\n")
    dry_lake.file("in/a.json", "")
    told, is_good = lines_of(dry_lake.spark, dry_lake.settings, Namespace(command="check"))
    assert not is_good
    assert told[0].startswith(f"shop.products: {message}")
