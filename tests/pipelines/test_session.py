"""The configuration of sessions."""

from __future__ import annotations

from pathlib import Path

from paimon_lake.session import _configuration
from tests.support.lakes import small_lake


def test_a_lake_on_an_object_store_needs_no_landing_directory_for_a_session(tmp_path: Path) -> None:
    lake = small_lake(tmp_path / "lake")
    (lake.folder / "base.yaml").write_text("warehouse: s3://bucket/lake\n")
    assert Path(_configuration(lake.settings)["spark.sql.warehouse.dir"]).is_absolute()


def test_the_warehouse_of_spark_is_beside_the_landing_directory(tmp_path: Path) -> None:
    lake = small_lake(tmp_path / "lake")
    expected = str(lake.folder / "warehouse" / "spark-warehouse")
    assert _configuration(lake.settings)["spark.sql.warehouse.dir"] == expected
