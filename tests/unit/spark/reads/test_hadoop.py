"""Which files Spark opens through Hadoop's connector; a session has the class of the connector or not."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from paimon_core import open_catalog
from paimon_core.spark.reads import hadoop
from paimon_core.spark.reads.hadoop import Place, place_of, s3_options
from paimon_core.storage.object_stores.object_storage import ObjectStorage
from paimon_core.storage.secret import Secret

S3 = ObjectStorage("s3", "s3://lake/w", (("s3.access-key", Secret("A")), ("s3.secret-key", Secret("B"))))


class Session:
    """A session whose Java classes are the given ones."""

    def __init__(self, *classes):
        self.asked = []
        self._jvm = Mock()
        utils = self._jvm.org.apache.spark.util.Utils
        utils.classIsLoadable = lambda name: self.asked.append(name) or name in classes
        self.sparkContext = SimpleNamespace(applicationId=str(id(self)))


@pytest.fixture(autouse=True)
def nothing_said():
    hadoop._say_once.cache_clear()


def test_the_connector_reads_files_of_s3_with_the_credentials_of_the_catalog(monkeypatch):
    monkeypatch.setitem(hadoop._CONNECTORS, "s3", "my.Connector")
    session = Session("my.Connector")
    place = place_of(session, S3)
    assert place.url("s3://lake/w/db.db/t/f.parquet") == "s3a://lake/w/db.db/t/f.parquet"
    assert (place.options["fs.s3a.access.key"], place.options["fs.s3a.secret.key"]) == ("A", "B")
    assert "A" not in repr(place)
    assert place_of(session, S3) == place
    assert session.asked == ["my.Connector"]


def test_without_the_connector_python_tasks_read_and_this_is_said_once(caplog):
    session = Session()
    with caplog.at_level(logging.WARNING):
        assert place_of(session, S3) is None
        assert place_of(session, S3) is None
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "the Spark session lacks the class org.apache.hadoop.fs.s3a.S3AFileSystem"
    ]


def test_other_stores_are_read_in_python_tasks_and_local_files_by_spark(tmp_path, caplog):
    assert place_of(Session(), ObjectStorage("gcs", "gs://lake/w")) is None
    assert "Spark reads tables on gs:// in Python tasks" in caplog.text
    assert place_of(Session(), open_catalog("memory://w").storage) is None
    local = place_of(Session(), open_catalog(str(tmp_path)).storage)
    assert (local, local.url("/a/b")) == (Place(), "file:/a/b")


def test_options_of_the_connector():
    options = (("s3.access-key", Secret("A")), ("s3.session-token", Secret("T")), ("s3.endpoint", "http://h:1"))
    found = s3_options(options)
    assert found["fs.s3a.aws.credentials.provider"].endswith(".TemporaryAWSCredentialsProvider")
    assert (found["fs.s3a.session.token"], found["fs.s3a.endpoint"]) == ("T", "http://h:1")
    assert s3_options(()) == {"fs.s3a.impl.disable.cache": "true"}
