"""Declarations of tables whose files are change events."""

from argparse import Namespace

import pytest

from paimon_lake.cli.lake_commands import lines_of
from paimon_lake.declarations import SettingsError
from tests.support.declared_lakes import EVENTS

NAME, PRODUCTS = EVENTS


def test_the_mode_is_changes_and_may_be_stated(dry_lake):
    for text in (PRODUCTS, PRODUCTS + "mode: changes\n"):
        dry_lake.declare(NAME, text)
        assert dry_lake.settings.table(NAME).write_mode == "changes"


def test_canal_has_no_bytes(dry_lake):
    for kind in ("BYTES", "ARRAY<BINARY(2)>"):
        text = PRODUCTS.replace("debezium", "canal").replace("name: STRING", f"name: '{kind}'")
        dry_lake.declare(NAME, text)
        with pytest.raises(SettingsError, match=r":1: columns\.name: canal-json has no exact values of the type "):
            dry_lake.settings.table(NAME)


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
    dry_lake.declare(NAME, f"{PRODUCTS}  options: {options}\n")
    dry_lake.file("in/a.json", "")
    told, is_good = lines_of(dry_lake.spark, dry_lake.settings, Namespace(command="check", table=None, state=None))
    assert not is_good
    assert told[0].startswith(f"{NAME}: {message}")
