"""Stores and catalogs that accept connections and never respond: every call ends with an error naming the time-out."""

import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

import paimon_core as paimon
from paimon_core.catalog.rest import client as rest_client
from paimon_core.catalog.rest.client import RestClient
from paimon_core.storage.open import open_storage
from tests.support.silent_server import silent_server

LATE = r"no answer within 0\.5 s \(option storage\.request-timeout = 0\.1 s a request\)"
STORES = {
    "s3": lambda port: (
        "s3://bucket/lake",
        {
            "s3.endpoint": f"http://127.0.0.1:{port}",
            "s3.access-key": "key-1",
            "s3.secret-key": "secret-1",
            "s3.region": "us-east-1",
            "s3.path.style.access": "true",
        },
    ),
    "gcs": lambda port: (
        "gs://bucket/lake",
        {"fs.gs.storage.root.url": f"http://127.0.0.1:{port}", "fs.gs.auth.type": "UNAUTHENTICATED"},
    ),
    "azure": lambda port: (
        "abfs://container@account.dfs.core.windows.net/lake",
        {
            "azure.endpoint": f"http://127.0.0.1:{port}/account",
            "azure.account-name": "account",
            "azure.account-key": "a2V5",
        },
    ),
}
CALLS = {
    "read": lambda s, at: s.read(f"{at}/x"),
    "exists": lambda s, at: s.exists(f"{at}/x"),
    "list": lambda s, at: s.list(at),
    "write": lambda s, at: s.write(f"{at}/x", b"x"),
    "open_input": lambda s, at: s.open_input(f"{at}/x"),
    "delete": lambda s, at: s.delete([f"{at}/x", f"{at}/y"]),
}


@pytest.fixture(params=STORES)
def silent(request):
    """Return the storage of a store that never responds, and its root."""
    with silent_server() as port:
        url, options = STORES[request.param](port)
        yield open_storage(url, {**options, "storage.request-timeout": "100 ms"})


def test_every_call_of_a_silent_store_ends(silent):
    storage, root = silent

    def outcome(name):
        with pytest.raises(paimon.StorageError, match=LATE) as error:
            CALLS[name](storage, root)
        return root in str(error.value)

    with ThreadPoolExecutor(len(CALLS)) as pool:
        assert all(pool.map(outcome, CALLS))


def test_a_publish_without_an_answer_is_not_known(silent):
    storage, root = silent
    with pytest.raises(paimon.CommitStateUnknown, match=r"no answer within 0\.1 s") as error:
        storage._create(f"{root}/snapshot-1", b"x")
    assert f"{root}/snapshot-1" in str(error.value)


@pytest.mark.parametrize("text", ["0 s", "soon", "5", "1.5 s", "5 h"])
def test_a_time_out_that_is_none(text):
    with pytest.raises(paimon.InvalidOption, match=r"storage\.request-timeout = "):
        open_storage("s3://bucket/lake", {"storage.request-timeout": text})


def test_a_silent_rest_server():
    with silent_server() as port:
        uri = f"http://127.0.0.1:{port}"
        client = RestClient(uri, timeout_millis=100, sleep=lambda seconds: None)
        with pytest.raises(paimon.StorageError, match=rf"{uri}.*no answer within 0\.1 s \(option request-timeout\)"):
            client.get("config")
        for change in (lambda: client.post("x", body={}), lambda: client.delete("x")):
            with pytest.raises(paimon.CommitStateUnknown, match=r"no answer within 0\.1 s \(option request-timeout\)"):
                change()


def test_the_time_out_of_a_rest_catalog_is_its_option(monkeypatch):
    monkeypatch.setattr(rest_client, "READ_TRIES", 1)
    options = {"request-timeout": "200 ms"}
    with silent_server() as port, pytest.raises(paimon.StorageError, match=r"no answer within 0\.2 s"):
        paimon.open_catalog("lake", type="rest", uri=f"http://127.0.0.1:{port}", options=options)


def postgres_greeting() -> bytes:
    """Return what a server sends when it accepts a connection without a password and is ready."""

    def message(kind: bytes, body: bytes) -> bytes:
        return kind + struct.pack("!i", len(body) + 4) + body

    status = [("server_version", "16.0"), ("client_encoding", "UTF8"), ("standard_conforming_strings", "on")]
    return b"".join(
        [
            message(b"R", struct.pack("!i", 0)),
            *(message(b"S", f"{key}\0{value}\0".encode()) for key, value in status),
            message(b"K", struct.pack("!ii", 1, 1)),
            message(b"Z", b"I"),
        ]
    )


@pytest.mark.parametrize("greeting", [b"", postgres_greeting()], ids=["never", "not after the greeting"])
def test_a_silent_postgresql(greeting):
    pytest.importorskip("psycopg")
    with silent_server(greeting) as port:
        uri = f"postgresql+psycopg://u:secret@127.0.0.1:{port}/db?sslmode=disable&gssencmode=disable"
        match = r"127\.0\.0\.1:\d+/db failed: .*no answer within 0\.3 s \(option request-timeout\)"
        with pytest.raises(paimon.StorageError, match=match) as error:
            paimon.open_catalog("lake", type="sql", uri=uri, options={"request-timeout": "300 ms"})
        assert "secret" not in str(error.value)
