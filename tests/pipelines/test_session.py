"""The configuration of sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from paimon_lake.protocol import PipelineError
from paimon_lake.session import _configuration, start_session
from tests.support.lakes import small_lake


def test_a_lake_on_an_object_store_needs_no_landing_directory_for_a_session(tmp_path: Path) -> None:
    lake = small_lake(tmp_path / "lake")
    (lake.folder / "base.yaml").write_text("warehouse: s3://bucket/lake\n")
    assert Path(_configuration(lake.settings)["spark.sql.warehouse.dir"]).is_absolute()


def test_the_warehouse_of_spark_is_beside_the_landing_directory(tmp_path: Path) -> None:
    lake = small_lake(tmp_path / "lake")
    expected = str(lake.folder / "warehouse" / "spark-warehouse")
    assert _configuration(lake.settings)["spark.sql.warehouse.dir"] == expected


@pytest.mark.parametrize(
    ("master", "key", "value"),
    [("local[1]", "spark.master", None), ("local[2]", "spark.driver.memory", "3g"), ("local[2]", "spark.x", "1")],
)
def test_a_running_session_with_other_settings_is_not_taken(
    spark: SparkSession, tmp_path: Path, master: str, key: str, value: str | None
) -> None:
    settings = small_lake(tmp_path).settings
    conf = {} if value is None else {key: value}
    wanted = settings.model_copy(update={"spark": settings.spark.model_copy(update={"master": master, "conf": conf})})
    with pytest.raises(PipelineError, match=f"has another {key.replace('.', '[.]')} than {tmp_path}") as told:
        start_session(wanted)
    assert value is None or repr(value) not in str(told.value)


def test_a_running_session_is_taken_whose_other_settings_can_change(spark: SparkSession, tmp_path: Path) -> None:
    settings = small_lake(tmp_path).settings
    conf = {"spark.sql.shuffle.partitions": "4", "spark.driver.extraJavaOptions": "-Dlake=2"}
    wanted = settings.model_copy(update={"spark": settings.spark.model_copy(update={"conf": conf})})
    before = spark.conf.getAll
    try:
        assert start_session(wanted).sparkContext is spark.sparkContext
    finally:
        for key, value in spark.conf.getAll.items():
            if before.get(key) != value and spark.conf.isModifiable(key):
                spark.conf.set(key, before[key]) if key in before else spark.conf.unset(key)
