"""A cluster whose workers have a bare Python: ``spark-submit`` with the archive of packages, as docs/spark.md says."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import paimon_core as paimon
from paimon_core.cli.main import main
from tests.support.project import ROOT
from tests.support.standalone import ClusterUnavailable, standalone_cluster

JOB = """
import sys
from pyspark.sql import SparkSession
import paimon_core as paimon
from paimon_core.spark import compact_spark, read_spark, write_spark

spark = SparkSession.builder.getOrCreate()
assert spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("sys").prefix).first() == sys.argv[2]
catalog = paimon.open_catalog(sys.argv[1])
catalog.create_database("db")
table = catalog.create_table("db.t", {"id": "BIGINT", "v": "STRING"}, primary_key=["id"], options={"bucket": "4"})
for version in range(3):
    write_spark(spark.range(1000).selectExpr("id", f"'{version}' as v"), table)
assert read_spark(spark, table).where("v = '2'").count() == 1000
compact_spark(spark, table, full=True)
"""


def bare_python() -> tuple[Path, str]:
    """Return the Python from which this environment was made, and its prefix; it has none of the packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = Path(sys.base_prefix) / "bin" / version
    if not python.exists() or subprocess.run([python, "-c", "import pyarrow"], capture_output=True).returncode == 0:
        pytest.skip(f"{python} is missing or has pyarrow itself")
    return python, sys.base_prefix


@pytest.mark.cluster
def test_workers_with_a_bare_python(tmp_path):
    python, prefix = bare_python()
    archive = tmp_path / "paimon.tar.gz"
    assert main(["cluster-archive", str(archive)]) == 0
    job = tmp_path / "job.py"
    job.write_text(JOB)
    submit = [
        *("spark-submit", "--archives", f"{archive}#paimon", "--conf", "spark.executorEnv.PYTHONPATH=paimon"),
        *("--conf", f"spark.pyspark.python={python}", "--conf", f"spark.pyspark.driver.python={sys.executable}"),
    ]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("PYSPARK_")}
    try:
        with standalone_cluster(tmp_path) as url:
            done = subprocess.run(
                [Path(pyspark.__file__).parent / "bin" / submit[0], *submit[1:], "--master", url, job, "lake", prefix],
                cwd=tmp_path,
                env=environment | {"PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
    except ClusterUnavailable as reason:
        pytest.skip(str(reason))
    assert done.returncode == 0, done.stderr[-3000:]
    rows = paimon.open_catalog(tmp_path / "lake").table("db.t").scan().to_arrow()
    assert sorted(rows["id"].to_pylist()) == list(range(1000))
    assert set(rows["v"].to_pylist()) == {"2"}
