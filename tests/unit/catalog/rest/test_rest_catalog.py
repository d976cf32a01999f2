"""The REST catalog: configuration, the three results of a commit, temporary credentials."""

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.rest import table_store as rest_storage
from paimon_core.catalog.rest.client import RestClient
from paimon_core.catalog.rest.table_store import TableStore
from paimon_core.catalog.rest.token_storage import TemporaryStorage, TokenStorage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.fsspec_storage import MEMORY, FsspecStorage
from tests.support.rest_server import CommittingServer, Reply, ScriptedServer

CANARY = "canary-7f3a"
SCHEMA = pa.schema([("k", pa.int64())])
TABLE = "/v1/databases/db/tables/t"
NO_SNAPSHOT = Reply(404, {"resourceType": "SNAPSHOT"})


@pytest.fixture
def server():
    started = ScriptedServer()
    started.on("GET /v1/config", Reply(body={"defaults": {}, "overrides": {}}))
    yield started
    started.close()


@pytest.fixture
def table(server, tmp_path):
    """Create a table with files on the local disk, which the server describes."""
    files = paimon.open_catalog(tmp_path)
    files.create_database("db")
    options = {"write-only": "true", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "1 ms"}
    made = files.create_table("db.t", SCHEMA, options=options)
    told = {"id": "the-id", "name": "t", "path": f"file:{made.location}", "isExternal": False, "schemaId": 0}
    server.on(f"GET {TABLE}", Reply(body=told))
    server.on(f"GET {TABLE}/snapshot", NO_SNAPSHOT)
    return made


def opened(server, **options):
    return paimon.open_catalog("lake", type="rest", uri=server.uri, options=options)


# -- configuration


def test_the_server_sends_defaults_and_overrides(server):
    server.on(
        "GET /v1/config",
        Reply(
            body={
                "defaults": {"prefix": "a", "header.x": "default", "s3.region": "r", "other": "o", "no": None},
                "overrides": {"header.y": "decided"},
            }
        ),
    )
    catalog = opened(server, **{"header.x": "mine", "header.y": "mine", "token": CANARY})
    assert {name: value.reveal() for name, value in catalog.client.headers} == {"x": "mine", "y": "decided"}
    assert catalog.client.prefix == "a"
    assert server.requests[0].path == "/v1/config?warehouse=lake"
    assert server.requests[0].headers["x"] == "mine"
    assert CANARY not in repr(catalog)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token.provider": "dlf"}, r"token\.provider = 'dlf' must be 'bear'"),
        ({"dlf.region": "r"}, r"'dlf\.region'"),
        ({"lock.enabled": "true"}, r"'lock\.enabled'"),
        ({"token": " "}, "token must be"),
        ({"token": f"{CANARY}\n"}, "token must be one line"),
        ({"header.x": f"{CANARY}\r\ny: z"}, r"'header\.x' must be one line"),
        ({"header.x: y": CANARY}, "must be named after a header"),
    ],
)
def test_options_that_are_refused(server, options, message):
    with pytest.raises(paimon.InvalidOption, match=message) as error:
        opened(server, **options)
    assert server.requests == []
    assert CANARY not in str(error.value)


@pytest.mark.parametrize("wrong", [5, "token", ["token"]])
@pytest.mark.parametrize("name", ["options", "storage"])
def test_options_must_be_a_mapping(tmp_path, name, wrong):
    with pytest.raises(paimon.InvalidOption, match="must map strings to strings"):
        paimon.open_catalog(tmp_path, **{name: wrong})


def test_an_option_of_the_server_that_is_not_obeyed(server):
    server.on("GET /v1/config", Reply(body={"overrides": {"token.provider": "dlf"}}))
    with pytest.raises(paimon.InvalidOption, match=r"token\.provider"):
        opened(server)


# -- commits


def test_a_commit(server, table):
    server.on(f"POST {TABLE}/commit", Reply(body={"success": False}))
    opened_table = opened(server).table("db.t")
    snapshot = Snapshot(1, 0, "base", "delta", "u", 1, paimon.CommitKind.APPEND, 0, 0, 0)
    publisher = opened_table.context.snapshots.publisher
    assert pickle.loads(pickle.dumps(publisher)).table_id == "the-id"  # noqa: S301
    lists = opened_table.context.manifests
    name, size = lists.write_list([])
    snapshot = Snapshot(1, 0, name, name, "u", 1, paimon.CommitKind.APPEND, 0, 0, 0, size, size)
    assert publisher.publish(opened_table.context.paths.snapshot(1), snapshot, None) is False
    sent = server.requests[-1].body
    assert sent == {"tableId": "the-id", "baseSnapshotUuid": None, "snapshot": snapshot.to_members(), "statistics": []}
    branch = opened_table.context.paths.root + "/branch/branch-b/snapshot/snapshot-1"
    server.on(f"POST {TABLE}%24branch_b/commit", Reply(body={"success": True}))
    assert publisher.publish(branch, snapshot, None) is True


@pytest.mark.parametrize("reply", [Reply(500), Reply(504), Reply(lost=True), Reply(200, {}), Reply(200, b"torn")])
def test_after_a_lost_answer_the_snapshot_file_is_read(server, table, reply):
    """The server may have created the snapshot: its file is checked, and nothing is committed twice."""
    opened_table = opened(server).table("db.t")
    server.on(f"POST {TABLE}/commit", reply)
    with pytest.raises(paimon.CommitStateUnknown):
        opened_table.write(pa.table({"k": [1]}))
    offered = [r.body["snapshot"]["uuid"] for r in server.requests if r.method == "POST"]
    assert len(offered) > 1
    assert len(set(offered)) == 1
    assert table.latest_snapshot() is None
    manifests = list(table.context.storage.list(f"{table.location}/manifest"))
    assert manifests != []


@pytest.mark.parametrize("keeps_uuid", [True, False])
def test_a_lost_answer_of_a_commit_that_succeeded(server, table, keeps_uuid):
    opened_table = opened(server).table("db.t")
    answer = server.answer

    def commit(handler, line):
        if line.startswith("POST"):
            members = dict(server.requests[-1].body["snapshot"])
            if not keeps_uuid:
                del members["uuid"]
            snapshot = Snapshot.from_members(members)
            table.context.storage.create_exclusive(table.context.paths.snapshot(1), snapshot.to_json().encode())
        answer(handler, line)

    server.answer = commit
    server.on(f"POST {TABLE}/commit", Reply(lost=True))
    assert opened_table.write(pa.table({"k": [1]})).id == 1
    assert sum(r.method == "POST" for r in server.requests) == 1
    assert table.scan().count() == 1


def test_a_server_that_compares_the_base(server, table):
    CommittingServer(server, TABLE, table.context)
    opened_table = opened(server).table("db.t")
    for value in (1, 2, 3):
        assert opened_table.write(pa.table({"k": [value]})).id == value
    assert table.scan().count() == 3


def test_a_snapshot_without_a_uuid_is_a_base_too(server, table):
    old = replace(table.write(pa.table({"k": [1]})), uuid=None)  # as Paimon before 2.0 writes it
    table.context.storage.overwrite(table.context.paths.snapshot(1), old.to_json().encode())
    CommittingServer(server, TABLE, table.context)
    assert opened(server).table("db.t").write(pa.table({"k": [2]})).id == 2


def test_a_base_that_was_rolled_back_before_the_commit_arrived(server, table):
    """The server's refusal is final: the commit is retried on the current latest snapshot."""
    committing = CommittingServer(server, TABLE, table.context)
    opened_table = opened(server).table("db.t")
    for value in (1, 2):
        opened_table.write(pa.table({"k": [value]}))
    committing.before = lambda: table.rollback(snapshot=1)
    assert opened_table.write(pa.table({"k": [3]})).id == 2
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 3]
    bases = [r.body["baseSnapshotUuid"] for r in server.requests if r.method == "POST"]
    assert bases[-1] == table.at(snapshot=1).latest_snapshot().uuid


def test_a_commit_that_was_never_sent(server, table):
    opened_table = opened(server).table("db.t")
    server.on(f"POST {TABLE}/commit", Reply(429))
    with pytest.raises(paimon.StorageError, match="429"):
        opened_table.write(pa.table({"k": [1]}))
    assert table.latest_snapshot() is None


def test_the_history_of_the_server_is_not_changed_without_the_server(server, table):
    for value in (1, 2):
        table.write(pa.table({"k": [value]}))
    latest = {"snapshot": {"snapshot": table.latest_snapshot().to_members()}}
    server.on(f"GET {TABLE}/snapshot", Reply(body=latest))
    opened_table = opened(server).table("db.t")
    with pytest.raises(paimon.UnsupportedFeature, match="owns the history of this table: cannot roll back"):
        opened_table.rollback(snapshot=1)
    with pytest.raises(paimon.UnsupportedFeature, match="cannot take over branch 'b'"):
        opened_table.branches.fast_forward("b")
    assert table.context.snapshots.ids() == [1, 2]


# -- the server's description of a table


def test_an_external_table_is_committed_by_its_files(server, table):
    told = {"id": "the-id", "path": table.location, "isExternal": True, "schemaId": 0}
    server.on(f"GET {TABLE}", Reply(body=told))
    assert opened(server).table("db.t").write(pa.table({"k": [1]})).id == 1
    assert all(r.method == "GET" for r in server.requests)


def test_snapshots_that_are_stored_elsewhere(server, table):
    snapshot = Snapshot(5, 0, "base", "delta", "u", 1, paimon.CommitKind.APPEND, 0, 0, 0)
    server.on(f"GET {TABLE}/snapshot", Reply(body={"snapshot": {"snapshot": snapshot.to_members()}}))
    with pytest.raises(paimon.UnsupportedFeature, match="snapshot 5"):
        opened(server).table("db.t")


def test_a_schema_that_is_stored_elsewhere(server, table):
    server.on(f"GET {TABLE}", Reply(body={"id": "i", "path": table.location, "schemaId": 3}))
    with pytest.raises(paimon.UnsupportedFeature, match="schema 3"):
        opened(server).table("db.t")
    server.on(f"GET {TABLE}", Reply(body={"id": "i", "schemaId": 0}))
    with pytest.raises(paimon.CorruptTable, match="contains no path or no id of table"):
        opened(server).table("db.t")


# -- credentials


def test_credentials_are_renewed_before_they_expire():
    now, loans = [0.0], []

    def borrow():
        loans.append(now[0])
        return TemporaryStorage(FsspecStorage(MEMORY), int(now[0] * 1000) + 2 * 3_600_000)

    storage = TokenStorage(borrow, lambda: now[0])
    path = "/credentials/a"
    storage.overwrite(path, b"x")
    now[0] = 3599
    assert storage.read(path) == b"x"
    assert loans == [0]
    now[0] = 3600
    assert storage.exists(path)
    assert loans == [0, 3600]


def test_short_credentials_are_renewed_after_half_of_their_lifetime():
    now, loans = [0.0], []

    def borrow():
        loans.append(now[0])
        return TemporaryStorage(FsspecStorage(MEMORY), int(now[0] * 1000) + 600_000)

    storage = TokenStorage(borrow, lambda: now[0])
    for moment in (0, 299, 301, 500, 602):
        now[0] = moment
        assert not storage.is_local
    assert loans == [0, 301, 602]


def test_every_method_is_forwarded(tmp_path):
    storage = TokenStorage(lambda: TemporaryStorage(FsspecStorage(), 2**60))
    root = str(tmp_path)
    storage.make_directory(f"{root}/d")
    storage.write(f"{root}/d/a", b"1")
    assert storage.create_exclusive(f"{root}/d/b", b"2")
    assert not storage.create_exclusive(f"{root}/d/b", b"3")
    storage.move(f"{root}/d/a", f"{root}/d/c")
    with storage.open_output(f"{root}/d/e") as out:
        out.write(b"4")
    assert storage.open_input(f"{root}/d/e").read() == b"4"
    assert [i.name for i in storage.list(f"{root}/d")] == ["b", "c", "e"]
    assert sorted(i.name for i in storage.walk(root)) == ["b", "c", "e"]
    assert storage.delete([f"{root}/d/b", f"{root}/d/x"]) == 1
    storage.move_directory(f"{root}/d", f"{root}/f")
    storage.delete_directory(f"{root}/f")
    storage.make_directory(f"{root}/g")
    assert storage.remove_empty_directory(f"{root}/g")
    assert list(tmp_path.iterdir()) == []


def test_a_table_on_an_object_store_requests_its_credentials(server, monkeypatch):
    opened_with = []

    def open_storage(place, options):
        opened_with.append(dict(options))
        return FsspecStorage(MEMORY), "/x"

    monkeypatch.setattr(rest_storage, "open_storage", open_storage)
    lent = {"s3.access-key": "a", "s3.secret-key": CANARY, "fs.oss.endpoint": "e"}
    server.on(f"GET {TABLE}/token", Reply(body={"token": lent, "expiresAtMillis": 2**60}))
    store = TableStore(RestClient(server.uri), {"s3.region": "mine"}, (), True)
    storage, root = store.open(Identifier("db", "t"), "s3://b/t")
    assert (root, storage.exists("/x/none")) == ("/x", False)
    assert opened_with[-1] == {"s3.region": "mine", "s3.access-key": "a", "s3.secret-key": CANARY}
    assert CANARY not in repr(storage)
    assert pickle.loads(pickle.dumps(storage)).borrow == storage.borrow  # noqa: S301
    server.on(f"GET {TABLE}/token", Reply(body={"token": {"akId": CANARY}, "expiresAtMillis": 2**60}))
    with pytest.raises(paimon.UnsupportedFeature, match="akId") as error:
        store.borrow(Identifier("db", "t"), "s3://b/t")
    assert CANARY not in str(error.value)
    server.on(f"GET {TABLE}/token", Reply(body={}))
    with pytest.raises(paimon.StorageError, match="no credentials"):
        store.borrow(Identifier("db", "t"), "s3://b/t")
