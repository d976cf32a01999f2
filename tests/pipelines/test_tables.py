"""Tables of a lake: created from declarations, described and counted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption
from paimon_lake import tables
from paimon_lake.protocol import LevelSize, PipelineError
from paimon_lake.tables import counted_rows, open_table, state_of
from tests.support.lakes import SmallLake

KEYED = "columns: {id: BIGINT, text: STRING}\nprimary_key: [id]\noptions: {write-only: 'true'}\n"
LOOSE = "columns: {id: BIGINT, text: STRING}\nnatural_key: [id]\n"


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "text": ["x"] * len(ids)})


def test_a_table_is_created_only_when_that_is_asked_for(dry_lake: SmallLake) -> None:
    dry_lake.declare("shop.orders", KEYED)
    with pytest.raises(PipelineError, match=r"shop\.orders is not in the lake .*warehouse yet: load it first"):
        open_table(dry_lake.settings, "shop.orders")
    created = open_table(dry_lake.settings, "shop.orders", create=True)
    assert (created.schema.names, created.schema.primary_keys) == (["id", "text"], ("id",))
    assert open_table(dry_lake.settings, "shop.orders").location == created.location


def test_columns_to_infer_are_told(dry_lake: SmallLake) -> None:
    dry_lake.declare("shop.orders", "columns: infer\nprimary_key: [id]\nsource: {type: files, path: 'in/*.csv'}\n")
    with pytest.raises(PipelineError, match=r"`paimon-lake infer --table shop\.orders` writes them down"):
        open_table(dry_lake.settings, "shop.orders", create=True)


def test_a_state_sums_the_files_of_each_level(dry_lake: SmallLake) -> None:
    dry_lake.declare("shop.orders", KEYED)
    table = dry_lake.create("shop.orders")
    assert (state_of(table).snapshot_id, state_of(table).levels) == (None, {})
    table.write(rows(1, 2))
    table.write(rows(2))
    size = sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
    assert state_of(table).levels == {0: LevelSize(2, 3, size)}
    assert state_of(table).files == 2


def test_rows_that_must_be_merged_are_counted_only_up_to_a_bound(
    dry_lake: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    dry_lake.declare("shop.orders", KEYED)
    table = dry_lake.create("shop.orders")
    table.write(rows(1, 2))
    table.write(rows(2))
    monkeypatch.setattr(tables, "MOST_COUNTED", 3)
    assert counted_rows(table, state_of(table)) == 2
    monkeypatch.setattr(tables, "MOST_COUNTED", 2)
    assert counted_rows(table, state_of(table)) is None
    table.compact(full=True)
    monkeypatch.setattr(tables, "MOST_COUNTED", 1)
    assert counted_rows(table, state_of(table)) == 2, "nothing is merged to count them"


def test_rows_without_a_key_are_always_counted(dry_lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    dry_lake.declare("log.events", LOOSE)
    table = dry_lake.create("log.events")
    table.write(rows(1, 1))
    monkeypatch.setattr(tables, "MOST_COUNTED", 1)
    assert counted_rows(table, state_of(table)) == 2


def test_options_of_the_catalog(dry_lake: SmallLake, tmp_path: Path) -> None:
    dry_lake.declare("shop.orders", KEYED)
    dry_lake.create("shop.orders").write(rows(1))
    options = {"local-cache.enabled": "true", "local-cache.dir": str(tmp_path / "cache")}
    table = open_table(dry_lake.settings.model_copy(update={"catalog": options}), "shop.orders")
    assert table.scan().count() == 1
    assert list((tmp_path / "cache").iterdir())
    with pytest.raises(InvalidOption, match=r"local-cache\.dir needs local-cache\.enabled"):
        open_table(dry_lake.settings.model_copy(update={"catalog": {"local-cache.dir": "/x"}}), "shop.orders")
