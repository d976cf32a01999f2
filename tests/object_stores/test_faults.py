"""Faults of networks and stores: no commit is lost or repeated, no answer is wrong, every call ends in time."""

import pickle

import pyarrow as pa
import pytest
from botocore.retries.standard import ExponentialBackoff

import paimon_core as paimon
from paimon_core.errors import CommitStateUnknown, ConditionalWriteUnsupported, PaimonError, StorageError
from paimon_core.storage.object_stores import probe
from paimon_core.storage.object_stores import s3 as s3_store
from paimon_core.storage.open import open_storage
from tests.support.s3_proxy import Fault, s3_proxy

DENIED = Fault(forward=False, status=403, code="AccessDenied")
SLOW = Fault(forward=False, status=503, code="SlowDown")
BROKEN = Fault(forward=False, status=500)
DROP = Fault(drop=True)
NEVER_SENT = Fault(forward=False, drop=True)
ROWS = pa.table({"k": pa.array(["a"]), "n": pa.array([1], pa.int64())})


@pytest.fixture(scope="module")
def proxy(s3_endpoint):
    with s3_proxy(s3_endpoint) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Requests are repeated at once."""
    monkeypatch.setattr(ExponentialBackoff, "delay_amount", lambda self, context: 0)
    monkeypatch.setattr(s3_store, "_FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture
def place(proxy, s3, monkeypatch):
    """Return a storage that sends every request through the proxy and has a short time-out."""
    monkeypatch.setattr(s3_store, "SENDS", 3)
    proxy.rule = lambda request: Fault()
    storage, root = open_storage(s3.url, {**s3.options, "s3.endpoint": proxy.endpoint})
    storage.write(f"{root}/there", b"0123456789" * 50)
    assert storage.create_exclusive(f"{root}/first", b"1")  # this call also runs the probe
    yield storage, root
    proxy.rule = lambda request: Fault()
    proxy.requests.clear()


# -- the publish: the only request that is never repeated


PUBLISH = {
    "409": (Fault(forward=False, status=409, code="ConditionalRequestConflict"), "unknown", False),
    "409, done": (Fault(status=409, code="ConditionalRequestConflict"), "unknown", True),
    "412": (Fault(forward=False, status=412, code="PreconditionFailed"), False, False),
    "412, done": (Fault(status=412, code="PreconditionFailed"), False, True),
    "429": (Fault(forward=False, status=429, code="TooManyRequests"), "unknown", False),
    "500": (BROKEN, "unknown", False),
    "500, done": (Fault(status=500), "unknown", True),
    "502": (Fault(forward=False, status=502, code="BadGateway"), "unknown", False),
    "503 slow down": (SLOW, "unknown", False),
    "503, done": (Fault(status=503, code="SlowDown"), "unknown", True),
    "504, done": (Fault(status=504, code="GatewayTimeout"), "unknown", True),
    "400 timeout": (Fault(forward=False, status=400, code="RequestTimeout"), "unknown", False),
    "no answer": (DROP, "unknown", True),
    "never arrives": (NEVER_SENT, "unknown", False),
    "no HTTP": (Fault(garbage=True), "unknown", True),
    "403": (DENIED, "refused", False),
    "404": (Fault(forward=False, status=404, code="NoSuchBucket"), "refused", False),
    "400": (Fault(forward=False, status=400, code="InvalidArgument"), "refused", False),
    "405": (Fault(forward=False, status=405, code="MethodNotAllowed"), "refused", False),
    "501": (Fault(forward=False, status=501, code="NotImplemented"), "refused", False),
}


@pytest.mark.parametrize("name", PUBLISH)
def test_a_publish_is_sent_once_and_its_result_is_right(proxy, place, name):
    storage, root = place
    fault, outcome, is_there = PUBLISH[name]
    proxy.script("PUBLISH", "snapshot-1", fault)
    before = proxy.count("PUBLISH", "snapshot-1")
    path = f"{root}/snapshot-1"
    if outcome is False:
        assert not storage.create_exclusive(path, b"1")
    else:
        with pytest.raises(CommitStateUnknown if outcome == "unknown" else StorageError, match="snapshot-1") as error:
            storage.create_exclusive(path, b"1")
        assert error.value.__context__ is None
    assert proxy.count("PUBLISH", "snapshot-1") - before == 1
    assert storage.exists(path) is is_there


@pytest.mark.parametrize("name", PUBLISH)
def test_a_commit_with_each_fault_is_committed_once(proxy, place, s3, name):
    fault, outcome, _ = PUBLISH[name]
    catalog = paimon.open_catalog(s3.url, storage={**s3.options, "s3.endpoint": proxy.endpoint})
    catalog.create_database("db")
    options = {"bucket": "-1", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "5 ms"}
    table = catalog.create_table("db.t", ROWS.schema, options=options)
    proxy.script("PUBLISH", "/snapshot-1", fault)
    if outcome == "refused":
        with pytest.raises(StorageError):
            table.write(ROWS, user="u", identifier=1)
        assert list(table.context.storage.walk(f"{table.context.paths.root}/manifest")) == []
    table.write(ROWS, user="u", identifier=1)
    assert table.inspect.snapshots()["snapshot_id"].to_pylist() == [1]
    assert table.scan().to_arrow() == ROWS


def test_without_a_connection_nothing_was_done(place):
    storage, root = place
    options = {n: v if isinstance(v, str) else v.reveal() for n, v in storage.options}
    dead, _ = open_storage(root, {**options, "s3.endpoint": "http://127.0.0.1:9"})
    with pytest.raises(StorageError):
        dead._create(f"{root}/snapshot-1", b"1")
    with pytest.raises(StorageError):
        dead.read(f"{root}/there")


# -- everything else: repeated, or an error in time; never a wrong answer


ONCE = {
    "read 500": ("GET", "there", [BROKEN]),
    "read 503 twice": ("GET", "there", [SLOW, SLOW]),
    "read dropped": ("GET", "there", [DROP]),
    "read broken off": ("GET", "there", [Fault(keep_bytes=7)]),
    "read broken off in its head": ("GET", "there", [Fault(keep_bytes=0)]),
    "read too long": ("GET", "there", [Fault(add_length=5)]),
    "read no HTTP": ("GET", "there", [Fault(garbage=True)]),
    "look 500": ("HEAD", "there", [BROKEN]),
    "look dropped": ("HEAD", "there", [DROP]),
    "list 500": ("LIST", "", [BROKEN]),
    "list dropped": ("LIST", "", [DROP, NEVER_SENT]),
    "list broken off": ("LIST", "", [Fault(keep_bytes=100)]),
    "write 503": ("PUT", "new", [SLOW]),
    "write dropped": ("PUT", "new", [DROP]),
    "write 429": ("PUT", "new", [Fault(forward=False, status=429, code="TooManyRequests")]),
    "delete dropped": ("DELETE", "", [DROP]),
    "copy 500": ("COPY", "", [Fault(status=500)]),
    "part dropped": ("PART", "", [DROP]),
    "begin dropped": ("BEGIN", "", [DROP]),
    "complete dropped": ("COMPLETE", "", [DROP]),
    "complete 200 with an error": (
        "COMPLETE",
        "",
        [Fault(forward=False, status=200, code="InternalError")],
    ),
}


BIG = 20 * 1024 * 1024
"""The size of an object that is sent in two parts."""


def whole_life(storage, root, *, upload):
    """Send every kind of request once and check the answers; those of an upload in parts if ``upload``."""
    size = BIG if upload else 9
    assert storage.read(f"{root}/there") == b"0123456789" * 50
    assert storage.exists(f"{root}/there")
    assert sorted(f.name for f in storage.list(root)) == ["first", "there"]
    storage.write(f"{root}/new", b"n")
    assert storage.read(f"{root}/new") == b"n"
    with storage.open_output(f"{root}/big") as out:
        out.write(bytes(size))
    assert {f.name: f.size for f in storage.walk(root)}["big"] == size
    storage.move(f"{root}/big", f"{root}/moved")
    storage.delete([f"{root}/moved", f"{root}/new"])
    assert sorted(f.name for f in storage.walk(root)) == ["first", "there"]


@pytest.mark.parametrize("name", ONCE)
def test_a_temporary_fault_has_no_effect(proxy, place, name):
    kind, key, faults = ONCE[name]
    proxy.script(kind, key, *faults)
    whole_life(*place, upload=kind in ("BEGIN", "PART", "COMPLETE", "COPY"))


LASTING = {
    "read 500": ("GET", BROKEN, lambda s, r: s.read(f"{r}/there")),
    "read 403": ("GET", DENIED, lambda s, r: s.read(f"{r}/there")),
    "read broken off": ("GET", Fault(keep_bytes=7), lambda s, r: s.read(f"{r}/there")),
    "read cut short": ("GET", Fault(body=b"0123"), lambda s, r: s.read(f"{r}/there")),
    "open cut short": ("GET", Fault(body=b"0123"), lambda s, r: s.open_input(f"{r}/there")),
    "look 403": ("HEAD", DENIED, lambda s, r: s.exists(f"{r}/there")),
    "look dropped": ("HEAD", DROP, lambda s, r: s.exists(f"{r}/there")),
    "list 403": ("LIST", DENIED, lambda s, r: s.list(r)),
    "list cut short": ("LIST", Fault(body=b"<?xml version='1.0'?><ListBucketResult><Con"), lambda s, r: s.list(r)),
    "list 500": ("LIST", BROKEN, lambda s, r: list(s.walk(r))),
    "look in a closed bucket": ("LIST", DENIED, lambda s, r: s.exists(f"{r}/none")),
    "write 403": ("PUT", DENIED, lambda s, r: s.write(f"{r}/new", b"1")),
    "write dropped": ("PUT", NEVER_SENT, lambda s, r: s.write(f"{r}/new", b"1")),
    "delete 403": ("DELETE", DENIED, lambda s, r: s.delete([f"{r}/there"])),
    "delete some 403": (
        "DELETE",
        Fault(
            forward=False,
            body=b"<DeleteResult><Error><Key>x</Key><Code>AccessDenied</Code></Error></DeleteResult>",
        ),
        lambda s, r: s.delete([f"{r}/there", f"{r}/x"]),
    ),
    "copy 403": ("COPY", DENIED, lambda s, r: s.move(f"{r}/there", f"{r}/new")),
}


@pytest.mark.parametrize("name", LASTING)
def test_a_permanent_fault_raises_storage_error(proxy, place, name):
    storage, root = place
    kind, fault, call = LASTING[name]
    proxy.always(kind, "", fault)
    with pytest.raises(StorageError) as error:
        call(storage, root)
    assert root in str(error.value)
    assert error.value.__context__ is None
    proxy.rule = lambda request: Fault()
    assert storage.read(f"{root}/there") == b"0123456789" * 50


def test_an_upload_that_fails_creates_no_file(proxy, place):
    storage, root = place
    proxy.always("PART", "", DENIED)
    out = storage.open_output(f"{root}/f")
    with pytest.raises(StorageError):
        out.write(bytes(40 * 1024 * 1024))
    out.close()
    assert not storage.exists(f"{root}/f")


# -- a store without conditional writes


@pytest.fixture
def without_conditions(proxy, s3, monkeypatch):
    monkeypatch.setattr(probe, "_proven_places", set())
    proxy.rule = lambda request: Fault(unconditional=True)
    yield {**s3.options, "s3.endpoint": proxy.endpoint}
    proxy.rule = lambda request: Fault()


def test_a_store_that_ignores_the_condition_is_refused(without_conditions, s3):
    catalog = paimon.open_catalog(s3.url, storage=without_conditions)
    catalog.create_database("db")
    with pytest.raises(ConditionalWriteUnsupported, match="If-None-Match"):
        catalog.create_table("db.t", ROWS.schema, options={"bucket": "-1"})
    assert list(catalog.storage.walk(catalog.warehouse)) == []


def test_nothing_is_committed_to_an_existing_table_without_conditions(without_conditions, s3, proxy):
    direct = paimon.open_catalog(s3.url, storage=s3.options)
    direct.create_database("db")
    direct.create_table("db.t", ROWS.schema, options={"bucket": "-1"})
    table = paimon.open_catalog(s3.url, storage=without_conditions).table("db.t")
    for _ in range(2):
        with pytest.raises(ConditionalWriteUnsupported):
            table.write(ROWS)
    assert [f.name for f in table.context.storage.walk(table.context.paths.root)] == ["schema-0"]
    proxy.rule = lambda request: Fault()
    table.write(ROWS)
    assert table.scan().to_arrow() == ROWS


@pytest.mark.parametrize(
    "fault", [Fault(forward=False, status=501, code="NotImplemented"), DENIED, BROKEN], ids=["501", "403", "500"]
)
def test_a_probe_that_cannot_decide(without_conditions, s3, proxy, monkeypatch, fault):
    monkeypatch.setattr(probe, "_FIRST_PAUSE_SECONDS", 0.001)
    proxy.always("PUBLISH", "", fault)
    storage, root = open_storage(s3.url, without_conditions)
    expected = ConditionalWriteUnsupported if fault.status == 501 else StorageError
    with pytest.raises(expected):
        storage.create_exclusive(f"{root}/snapshot-1", b"1")
    assert list(storage.walk(root)) == []


@pytest.mark.parametrize("faults", [[DROP], [NEVER_SENT], [Fault(), DROP], [SLOW, DROP, DROP]])
def test_a_probe_with_lost_answers_decides_correctly(s3, proxy, monkeypatch, faults):
    monkeypatch.setattr(probe, "_FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(probe, "_proven_places", set())
    storage, root = open_storage(s3.url, {**s3.options, "s3.endpoint": proxy.endpoint})
    proxy.script("PUBLISH", "probe", *faults)
    assert storage.create_exclusive(f"{root}/snapshot-1", b"1")
    assert [f.name for f in storage.walk(root)] == ["snapshot-1"]
    probes = proxy.count("PUBLISH", "probe")
    assert storage.create_exclusive(f"{root}/snapshot-2", b"1")
    assert proxy.count("PUBLISH", "probe") == probes


# -- roles


def test_a_reader_without_the_right_to_write(proxy, place, s3):
    direct = paimon.open_catalog(s3.url, storage=s3.options)
    direct.create_database("db")
    direct.create_table("db.t", ROWS.schema, options={"bucket": "-1"}).write(ROWS)
    proxy.rule = lambda request: Fault() if request.kind in ("GET", "HEAD", "LIST") else DENIED
    table = paimon.open_catalog(s3.url, storage={**s3.options, "s3.endpoint": proxy.endpoint}).table("db.t")
    assert table.scan().to_arrow() == ROWS
    with pytest.raises(StorageError, match="AccessDenied"):
        table.write(ROWS)
    proxy.rule = lambda request: Fault()
    assert table.scan().to_arrow() == ROWS


def test_a_writer_without_the_right_to_delete(proxy, s3, monkeypatch):
    monkeypatch.setattr(probe, "_proven_places", set())
    proxy.rule = lambda request: DENIED if request.kind == "DELETE" else Fault()
    catalog = paimon.open_catalog(s3.url, storage={**s3.options, "s3.endpoint": proxy.endpoint})
    catalog.create_database("db")
    table = catalog.create_table("db.t", ROWS.schema, options={"bucket": "-1"})
    for number in range(3):
        table.write(ROWS, user="u", identifier=number)
    assert table.scan().to_arrow().num_rows == 3
    left = [f.name for f in table.context.storage.walk(table.context.paths.root) if ".probe-" in f.name]
    assert len(left) == 1


# -- secrets


def test_secrets_are_not_shown(proxy, s3, caplog, monkeypatch):
    monkeypatch.setattr(s3_store, "SENDS", 2)
    canary = {"s3.access-key": "CANARYKEY123", "s3.secret-key": "canarysecret456", "s3.session-token": "canarytoken789"}
    caplog.set_level("DEBUG")
    storage, root = open_storage(s3.url, {**canary, "s3.region": "us-east-1", "s3.endpoint": proxy.endpoint})
    seen = [repr(storage), str(storage), f"{storage}", f"{storage.options}"]
    for status in (403, 500):
        fault = Fault(forward=False, status=status, code="canarysecret456 CANARYKEY123 canarytoken789")
        proxy.rule = lambda request, fault=fault: fault
        for call in (
            lambda: storage.read(f"{root}/x"),
            lambda: storage.write(f"{root}/x", b"1"),
            lambda: list(storage.walk(root)),
            lambda: storage.delete([f"{root}/x", f"{root}/y"]),
            lambda: storage.move(f"{root}/x", f"{root}/y"),
            lambda: storage._create(f"{root}/x", b"1"),
        ):
            with pytest.raises(PaimonError) as error:
                call()
            seen += [str(error.value), repr(error.value), repr(error.value.facts), repr(pickle.dumps(error.value))]
            assert error.value.__cause__ is None
            assert error.value.__context__ is None
    proxy.rule = lambda request: Fault()
    seen.append(caplog.text)
    assert [value for value in canary.values() if any(value in text for text in seen)] == []
