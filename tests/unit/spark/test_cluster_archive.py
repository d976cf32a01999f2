"""The archive of packages for a cluster: what it has, and requests that cannot be met."""

import pytest

from paimon_core.cli.main import main
from paimon_core.errors import InvalidRequest
from paimon_core.spark.cluster_archive import required, write_archive


def names(*extras):
    return {one.metadata["Name"].lower() for one in required(extras)}


def test_it_has_what_the_core_requires_and_no_spark():
    assert {"pyarrow", "numpy", "fsspec", "fastavro", "pyroaring"} <= names()
    assert not {"pyspark", "s3fs", "paimon-core"} & names("spark")
    assert {"s3fs", "aiobotocore", "botocore"} <= names("s3")
    assert {"pyyaml", "pydantic"} <= names("lake")


def test_requests_that_cannot_be_met_write_nothing(tmp_path, capsys):
    with pytest.raises(InvalidRequest, match=r"has no extra 's4'; its extras are all, azure"):
        write_archive(tmp_path / "paimon.tar.gz", ["s4"])
    assert main(["cluster-archive", str(tmp_path / "paimon.zip")]) == 2
    assert "must end with .tar.gz" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
