"""The client with answers that Paimon's own server never sends: busy, failing, lost, invalid."""

import pickle

import pytest

import paimon_core as paimon
from paimon_core.catalog.rest.client import RestClient
from paimon_core.storage.secret import Secret
from tests.support.rest_server import Reply, ScriptedServer

CANARY = "canary-7f3a"
LOST = Reply(lost=True)


@pytest.fixture
def server():
    started = ScriptedServer()
    yield started
    started.close()


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def client(server, pauses):
    return RestClient(server.uri, Secret(CANARY), (("X-Key", Secret(f"{CANARY}-header")),), "p", sleep=pauses.append)


def test_a_request(server, client):
    server.on("GET", Reply(body={"a": 1}))
    assert client.get("databases", "a b/c*") == {"a": 1}
    (request,) = server.requests
    assert request.path == "/v1/p/databases/a+b%2Fc*"
    assert request.headers["Authorization"] == f"Bearer {CANARY}"
    assert request.headers["X-Key"] == f"{CANARY}-header"


def test_credentials_of_netrc_are_not_used(server, client, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("default login other password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server.on("GET", Reply())
    client.get("databases")
    assert server.requests[0].headers["Authorization"] == f"Bearer {CANARY}"


def test_pages(server, client):
    server.on(
        "GET",
        Reply(body={"tables": ["a", "b"], "nextPageToken": "t 1"}),
        Reply(body={"tables": ["c"], "nextPageToken": "t 2"}),
        Reply(body={"tables": [], "nextPageToken": "t 3"}),
    )
    assert client.pages("tables", "databases", "db", "tables") == ["a", "b", "c"]
    assert [r.path.partition("?")[2] for r in server.requests] == ["", "pageToken=t+1", "pageToken=t+2"]
    server.on("GET", Reply(body={"tables": ["a"], "nextPageToken": "for ever"}))
    assert client.pages("tables", "databases") == ["a", "a"]


@pytest.mark.parametrize("first", [Reply(503), Reply(429), LOST])
def test_a_read_is_retried(server, client, pauses, first):
    server.on("GET", first, first, Reply(body={"a": 1}))
    assert client.get("databases") == {"a": 1}
    assert pauses == [1, 2]


def test_a_read_fails_after_all_retries(server, client, pauses):
    server.on("GET", Reply(503, {"message": "busy"}, {"Retry-After": "7"}))
    with pytest.raises(paimon.StorageError, match="503 busy"):
        client.get("databases")
    assert pauses == [7, 7, 7, 7]


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        (Reply(400, {"message": "bad"}), paimon.InvalidRequest, "400 bad"),
        (Reply(401), paimon.InvalidRequest, "401.*not permitted"),
        (Reply(403, {"message": "no"}), paimon.InvalidRequest, "403 no.*not permitted"),
        (Reply(404, {"resourceType": "DATABASE", "message": "m"}), paimon.DatabaseNotFound, "404 m"),
        (Reply(404, {"resourceType": "TABLE"}), paimon.TableNotFound, "404"),
        (Reply(404, {"resourceType": "SNAPSHOT"}), paimon.SnapshotNotFound, "404"),
        (Reply(404, {"resourceType": "BRANCH"}), paimon.BranchNotFound, "404"),
        (Reply(404, b"<html>"), paimon.NotFound, "404 without a message"),
        (Reply(409, {"message": "m"}), paimon.AlreadyExists, "409 m"),
        (Reply(501, {"message": "m"}), paimon.UnsupportedFeature, "501 m"),
        (Reply(429), paimon.StorageError, "429"),
        (Reply(302, headers={"Location": "http://127.0.0.1:1/"}), paimon.StorageError, "302"),
        (Reply(500, {"message": "m"}), paimon.CommitStateUnknown, "500 m: the request may have been executed"),
        (Reply(503), paimon.CommitStateUnknown, "the request may have been executed"),
        (Reply(504, b"gateway"), paimon.CommitStateUnknown, "the request may have been executed"),
        (Reply(200, b"{torn"), paimon.CommitStateUnknown, "the answer is not a JSON object"),
        (Reply(200, b"[1]"), paimon.CommitStateUnknown, "the answer is not a JSON object"),
        (LOST, paimon.CommitStateUnknown, "answer was lost"),
    ],
)
def test_a_change_is_sent_once(server, client, pauses, reply, error, message):
    server.on("POST", reply)
    with pytest.raises(error, match=message) as raised:
        client.post("databases", body={})
    assert type(raised.value) is error
    assert (len(server.requests), pauses) == (1, [])


def test_a_server_that_cannot_be_reached(pauses):
    client = RestClient("http://127.0.0.1:1", sleep=pauses.append)
    with pytest.raises(paimon.StorageError, match="cannot be reached"):
        client.post("databases", body={})
    assert pauses == []
    with pytest.raises(paimon.StorageError, match="cannot be reached"):
        client.get("databases")
    assert len(pauses) == 4


def test_secrets_are_not_shown(server, client):
    server.on("GET", Reply(400, {"message": f"you sent {CANARY} and {CANARY}-header?X-Signature=0123456789abcdef"}))
    with pytest.raises(paimon.InvalidRequest) as error:
        client.get("databases")
    assert CANARY not in f"{error.value!r} {error.value.facts} {client!r}"
    assert "0123456789abcdef" not in str(error.value)
    assert pickle.loads(pickle.dumps(RestClient(server.uri, Secret(CANARY)))).token == client.token  # noqa: S301


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "host:80",
        "ftp://h",
        f"http://u:{CANARY}@h",
        f"http://h?token={CANARY}",
        "http://",
        "http://h:x",
        None,
        "http://[",
    ],
)
def test_addresses_that_are_refused(uri):
    with pytest.raises(paimon.InvalidRequest, match="http://host:port") as error:
        RestClient.checked_uri(uri)
    assert CANARY not in str(error.value)
