"""Hadoop: the places of raw files that Spark's own readers can open, on this machine and on object stores.

An object store needs Hadoop's connector in the classes of the session. The credentials of the catalog are passed as
options of one read: the settings of the session do not change, and query plans and logs do not show the credentials.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from paimon_core.spark.tasks import spark_context
from paimon_core.storage.object_stores.object_storage import ObjectStorage
from paimon_core.storage.rooted_storage import RootedStorage
from paimon_core.storage.secret import Secret
from paimon_core.storage.storage import Storage

_LOG = logging.getLogger(__name__)
_CONNECTORS = {"s3": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
"""For each kind of store: the class of Hadoop's connector."""
_S3_OPTIONS = {
    "s3.endpoint": "fs.s3a.endpoint",
    "s3.access-key": "fs.s3a.access.key",
    "s3.secret-key": "fs.s3a.secret.key",
    "s3.session-token": "fs.s3a.session.token",
    "s3.region": "fs.s3a.endpoint.region",
    "s3.path.style.access": "fs.s3a.path.style.access",
}
_PROVIDER = "fs.s3a.aws.credentials.provider"
_PROVIDERS = "org.apache.hadoop.fs.s3a.{}AWSCredentialsProvider"


@dataclass(frozen=True)
class Place:
    """How Spark opens the files of a table."""

    scheme: str = "file:"
    """The beginning of a URL in Spark."""
    own_scheme: str = ""
    """The beginning of a path in this library, which ``scheme`` replaces."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of the read, with credentials."""

    @property
    def is_local(self) -> bool:
        """Whether the files are on this machine."""
        return not self.own_scheme

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return self.scheme + path.removeprefix(self.own_scheme)


def place_of(spark: SparkSession, storage: Storage) -> Place | None:
    """Return how Spark opens the files of ``storage``; None if only Python tasks can read the files.

    None for a storage with temporary credentials of a REST server too, because only Python tasks renew the credentials.
    If the session lacks a connector, this is logged once.
    """
    if storage.is_local:
        return Place()
    inner = storage.warehouse if isinstance(storage, RootedStorage) else storage
    if not isinstance(inner, ObjectStorage):
        return None
    name = _CONNECTORS.get(inner.kind)
    if name is None:
        _say_once(f"Spark reads tables on {inner.base.partition(':')[0]}:// in Python tasks")
        return None
    context = spark_context(spark)
    if context is None:
        return None
    if not _has_class(context.applicationId, name, spark):
        _say_once(
            f"the Spark session lacks the class {name}: Python tasks read all files of s3://, also the raw files that "
            "Spark's Parquet reader reads in less time. Add the package org.apache.hadoop:hadoop-aws to the session"
        )
        return None
    return Place("s3a:", "s3:", s3_options(inner.options))


def s3_options(options: tuple[tuple[str, str | Secret], ...]) -> dict[str, str]:
    """Return the options of a storage as options of Hadoop's connector ``s3a``.

    Without an access key, the connector searches for credentials as it does by default. File systems of the connector
    are not shared between reads, because a shared one would have the credentials of its first read.
    """
    found = {
        _S3_OPTIONS[name]: value.reveal() if isinstance(value, Secret) else value
        for name, value in options
        if name in _S3_OPTIONS
    }
    if "fs.s3a.access.key" in found:
        kind = "Temporary" if "fs.s3a.session.token" in found else "Simple"
        found[_PROVIDER] = _PROVIDERS.format(kind)
    return {**found, "fs.s3a.impl.disable.cache": "true"}


@functools.cache
def _has_class(application: str, name: str, spark: SparkSession) -> bool:
    return bool(spark._jvm.org.apache.spark.util.Utils.classIsLoadable(name))


@functools.cache
def _say_once(text: str) -> None:
    _LOG.warning(text)
