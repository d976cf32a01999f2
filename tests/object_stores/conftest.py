"""Stores for tests, each in its own process and started once; every test gets an empty warehouse."""

from __future__ import annotations

import itertools
import json
import urllib.request
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from paimon_core.storage.object_stores.connections import connection
from paimon_core.storage.open import open_storage
from paimon_core.storage.storage import Storage
from tests.support.faulty_storage import FaultyStorage
from tests.support.object_servers import (
    AZURITE_ACCOUNT,
    AZURITE_KEY,
    S3_OPTIONS,
    ServerUnavailable,
    azure_server,
    gcs_server,
    make_bucket,
    s3_server,
)

_numbers = itertools.count()


class Place(NamedTuple):
    """A storage and the path of an empty warehouse in it."""

    storage: Storage
    root: str


class S3Warehouse(NamedTuple):
    """The URL and options with which a process opens a warehouse."""

    url: str
    options: dict[str, str]
    endpoint: str


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    with s3_server() as endpoint:
        make_bucket(endpoint, "lake")
        yield endpoint


@pytest.fixture
def s3(s3_endpoint: str) -> S3Warehouse:
    return S3Warehouse(f"s3://lake/w{next(_numbers)}", {**S3_OPTIONS, "s3.endpoint": s3_endpoint}, s3_endpoint)


@pytest.fixture(scope="session")
def gcs_options() -> Iterator[dict[str, str]]:
    try:
        with gcs_server() as endpoint:
            body = json.dumps({"name": "lake"}).encode()
            head = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{endpoint}/storage/v1/b?project=p", data=body, headers=head)
            with urllib.request.urlopen(request, timeout=10):
                pass
            yield {"fs.gs.storage.root.url": endpoint, "fs.gs.auth.type": "UNAUTHENTICATED"}
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def azure_options() -> Iterator[dict[str, str]]:
    try:
        with azure_server() as endpoint:
            options = {
                "azure.endpoint": endpoint,
                "azure.account-name": AZURITE_ACCOUNT,
                "azure.account-key": AZURITE_KEY,
            }
            storage, _ = open_storage("abfs://lake/any", options)
            store = connection(storage.kind, storage.bucket, storage.options)
            store._run(lambda: store.client.service_client.create_container("lake"))
            yield options
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


def open_place(kind: str, request: pytest.FixtureRequest) -> Place:
    match kind:
        case "local":
            return Place(*open_storage(str(request.getfixturevalue("tmp_path") / "w")))
        case "memory":
            return Place(*open_storage(f"memory://w{next(_numbers)}"))
        case "faulty":
            storage, root = open_storage(f"memory://w{next(_numbers)}")
            return Place(FaultyStorage(storage), root)
        case "s3":
            warehouse = request.getfixturevalue("s3")
            return Place(*open_storage(warehouse.url, warehouse.options))
        case "gcs":
            return Place(*open_storage(f"gs://lake/w{next(_numbers)}", request.getfixturevalue("gcs_options")))
        case _:
            return Place(*open_storage(f"abfs://lake/w{next(_numbers)}", request.getfixturevalue("azure_options")))
