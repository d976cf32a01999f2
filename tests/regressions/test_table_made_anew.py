"""A handle of a table that was dropped and re-created with the same columns neither reads nor changes the new one."""

import datetime
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import schema as schemas
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.table.table import Table
from paimon_core.table.writes import prepared
from tests.support.fake_tables import reopened
from tests.support.faulty_storage import Died, FaultyStorage, Outcome
from tests.support.rest_server import Reply, ScriptedServer

SCHEMA = pa.schema([("p", pa.int64()), ("k", pa.int64()), ("v", pa.string())])
ONE_DAY = datetime.timedelta(days=1)
OPTIONS = {"bucket": "1", "write-only": "true", "consumer.expiration-time": "1 d"}


def rows(*keys):
    return pa.table({"p": [1] * len(keys), "k": keys, "v": ["x"] * len(keys)}, schema=SCHEMA)


def make(catalog):
    made = catalog.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
    made.write(rows(1))
    made.write(rows(2))
    made.tags.create("t1", 1)
    made.branches.create("b1", tag="t1")
    made.context.consumers.reset("c1", 1)
    return made


def content(table):
    return {str(p.relative_to(table.location)): p.read_bytes() for p in Path(table.location).rglob("*") if p.is_file()}


@pytest.fixture
def catalog(tmp_path):
    made = paimon.open_catalog(tmp_path)
    made.create_database("db")
    return made


@pytest.fixture
def pair(catalog):
    """Return the old handle, and the table that was created in its place."""
    old = make(catalog)
    catalog.drop_table("db.t")
    return old, make(catalog)


def apply(old, new, plan):
    return old.maintenance.apply(plan(new.maintenance))


CALLS = {
    "scan": lambda old, new: old.scan(),
    "pinned scan": lambda old, new: old.at(snapshot=1),
    "changes": lambda old, new: old.changes(),
    "latest_snapshot": lambda old, new: old.latest_snapshot(),
    "at tag": lambda old, new: old.at(tag="t1"),
    "inspect": lambda old, new: old.inspect.snapshots(),
    "inspect files": lambda old, new: old.inspect.files(),
    "inspect schemas": lambda old, new: old.inspect.schemas(),
    "system files": lambda old, new: old.system("files").to_arrow(),
    "system audit_log": lambda old, new: old.system("audit_log").to_arrow(),
    "inspect tags": lambda old, new: old.inspect.tags(),
    "branch": lambda old, new: old.branch("b1"),
    "refresh": lambda old, new: old.refresh(),
    "statistics": lambda old, new: old.statistics(),
    "write": lambda old, new: old.write(rows(9)),
    "overwrite": lambda old, new: old.overwrite(rows(9)),
    "delete": lambda old, new: old.delete(paimon.col("k") == 1),
    "commit": lambda old, new: old.commit([]),
    "prepare": lambda old, new: old.prepare(rows(9)),
    "analyze": lambda old, new: old.analyze(),
    "compact": lambda old, new: old.compact(full=True),
    "plan_compaction": lambda old, new: old.plan_compaction(full=True),
    "run_compaction": lambda old, new: old.run_compaction(new.plan_compaction(full=True)[0]),
    "rollback": lambda old, new: old.rollback(snapshot=1),
    "expire_snapshots": lambda old, new: old.expire_snapshots(keep_last=1),
    "tags.create": lambda old, new: old.tags.create("t2", 2),
    "tags.replace": lambda old, new: old.tags.replace("t1", 2),
    "tags.rename": lambda old, new: old.tags.rename("t1", "t2"),
    "tags.delete": lambda old, new: old.tags.delete("t1"),
    "tags.expire": lambda old, new: old.tags.expire(older_than=datetime.timedelta(0)),
    "tags.create_due": lambda old, new: old.tags.create_due(),
    "tags.list": lambda old, new: old.tags.list(),
    "tags.read": lambda old, new: old.tags.read("t1"),
    "branches.create": lambda old, new: old.branches.create("b2"),
    "branches.list": lambda old, new: old.branches.list(),
    "branches.rename": lambda old, new: old.branches.rename("b1", "b2"),
    "branches.delete": lambda old, new: old.branches.delete("b1"),
    "branches.fast_forward": lambda old, new: old.branches.fast_forward("b1"),
    "consumers": lambda old, new: old.maintenance.consumers(),
    "reset_consumer": lambda old, new: old.maintenance.reset_consumer("c1", 2),
    "forget consumer": lambda old, new: old.maintenance.reset_consumer("c1"),
    "mark_done": lambda old, new: old.maintenance.mark_done({"p": 1}),
    "compact_manifests": lambda old, new: old.maintenance.compact_manifests(),
    "repair_hints": lambda old, new: old.maintenance.repair_hints(),
    "check": lambda old, new: old.maintenance.check(),
    "plan orphans": lambda old, new: old.maintenance.plan_orphan_removal(older_than=ONE_DAY),
    "plan missing": lambda old, new: old.maintenance.plan_missing_removal(),
    "quarantines": lambda old, new: old.maintenance.quarantines(),
    "undo": lambda old, new: old.maintenance.undo("q"),
    "plan rollback": lambda old, new: old.maintenance.plan_rollback(snapshot=1),
    "apply rollback": lambda old, new: apply(old, new, lambda m: m.plan_rollback(snapshot=1)),
    "apply tag deletion": lambda old, new: apply(old, new, lambda m: m.plan_tag_deletion("t1")),
    "apply branch deletion": lambda old, new: apply(old, new, lambda m: m.plan_branch_deletion("b1")),
    "apply snapshot expiry": lambda old, new: apply(old, new, lambda m: m.plan_snapshot_expiry(keep_last=1)),
    "apply orphans": lambda old, new: apply(old, new, lambda m: m.plan_orphan_removal(older_than=ONE_DAY)),
    "apply purge": lambda old, new: apply(old, new, lambda m: m.plan_quarantine_purge()),
    "apply consumers": lambda old, new: apply(old, new, lambda m: m.plan_consumer_expiry()),
    "apply tag expiry": lambda old, new: apply(old, new, lambda m: m.plan_tag_expiry()),
    "plan partitions": lambda old, new: old.maintenance.plan_partition_expiry(older_than=ONE_DAY),
    "plan changelogs": lambda old, new: old.maintenance.plan_changelog_expiry(),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_call_reads_or_changes_the_new_table(pair, name):
    old, new = pair
    before = content(new)
    with pytest.raises(paimon.TableNotFound, match=r"db\.t was dropped or re-created: open it again"):
        CALLS[name](old, new)
    assert content(new) == before


@pytest.mark.parametrize("name", ["scan", "write", "tags.delete", "branches.create"])
def test_a_handle_of_a_branch_is_told_too(catalog, name):
    old = make(catalog).branch("b1")
    catalog.drop_table("db.t")
    new = make(catalog)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        CALLS[name](old, new)


def test_what_was_begun_on_the_old_table_does_not_land_in_the_new_one(catalog):
    old = make(catalog)
    scan, changes, maintenance, tags = old.scan(), old.changes(), old.maintenance, old.tags
    draft, (task,) = old.prepare(rows(9)), old.plan_compaction(full=True)
    catalog.drop_table("db.t")
    new = make(catalog)
    before = content(new)
    with pytest.raises(paimon.PaimonError):
        scan.to_arrow()
    for call in (
        changes.to_arrow,
        maintenance.compact_manifests,
        lambda: tags.delete("t1"),
        draft.publish,
        draft.again,
        draft.discard,
        lambda: old.run_compaction(task),
    ):
        with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
            call()
    assert content(new) == before


def test_a_prepare_that_finds_its_table_dropped_deletes_the_files_that_it_wrote(catalog, monkeypatch):
    table = make(catalog)
    data_files = set(Path(table.location).rglob("data-*"))

    def dropped_first(snapshots, read):
        shutil.rmtree(Path(table.location) / "schema")
        return read_latest(snapshots, read)

    monkeypatch.setattr(prepared, "read_latest", dropped_first)
    with pytest.raises(paimon.TableNotFound):
        table.prepare(rows(9))
    assert set(Path(table.location).rglob("data-*")) == data_files


def test_an_open_writer_leaves_no_file_in_the_new_table(catalog):
    old = make(catalog)
    writer, messages = old.writer(), old.writer()
    writer.write(rows(9))
    messages.write(rows(8))
    flushed = messages.flush()
    catalog.drop_table("db.t")
    new = make(catalog)
    before = content(new)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        writer.flush()
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        old.commit(flushed)
    assert content(new) == before


def test_a_table_made_anew_while_files_are_written_keeps_none_of_them(catalog):
    make(catalog)
    storage = FaultyStorage(catalog.storage)
    old = type(catalog)(storage, catalog.warehouse).table("db.t")
    writer = old.writer()
    writer.write(rows(9))
    made = []

    def anew():
        catalog.drop_table("db.t")
        made.append(make(catalog))
        made.append(content(made[0]))

    storage.before("open_output", "bucket-0", anew)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        writer.flush()
    assert storage.count("open_output") == 1
    assert content(made[0]) == made[1]


def test_a_tag_that_meets_a_table_made_anew_is_taken_back(catalog):
    make(catalog)
    storage = FaultyStorage(catalog.storage)
    old = type(catalog)(storage, catalog.warehouse).table("db.t")
    made = []

    def anew():
        catalog.drop_table("db.t")
        made.append(make(catalog))
        made.append(content(made[0]))

    storage.before("create_exclusive", "tag-t2", anew)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        old.tags.create("t2", 2)
    assert content(made[0]) == made[1]


@pytest.mark.parametrize("kind", ["filesystem", "sql"])
def test_a_commit_beside_a_drop_leaves_the_name_free(tmp_path, kind):
    uri = f"sqlite:///{tmp_path}/names.db" if kind == "sql" else None
    catalog = paimon.open_catalog(tmp_path / "lake", type=kind, uri=uri)
    catalog.create_database("db")
    made = make(catalog)
    storage = FaultyStorage(catalog.storage)
    storage.before("create_exclusive", "snapshot-3", lambda: catalog.drop_table("db.t"))
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        Table(reopened(made.context, storage)).write(rows(3))
    assert [path for path in Path(made.location).rglob("*") if path.is_file()] == []
    assert make(catalog).scan().count() == 2


@pytest.mark.parametrize("kind", ["filesystem", "sql"])
def test_a_name_that_another_program_leaves_taken(tmp_path, kind):
    """The error states which call frees the name, and that call does it."""
    uri = f"sqlite:///{tmp_path}/names.db" if kind == "sql" else None
    catalog = paimon.open_catalog(tmp_path / "lake", type=kind, uri=uri)
    catalog.create_database("db")
    made = make(catalog)
    late = Path(made.location, "snapshot", "snapshot-3")
    written = Path(made.location, "snapshot", "snapshot-2").read_text()
    catalog.drop_table("db.t")
    late.parent.mkdir(parents=True)
    late.write_text(written)  # the commit of a program that does not check the table after its publish
    with pytest.raises(paimon.PaimonError, match=r"[Cc]all drop_table\('db.t'\), .* remaining files, then create"):
        make(catalog)
    catalog.drop_table("db.t")
    assert make(catalog).scan().count() == 2


def test_rows_of_a_table_made_anew_while_a_scan_is_described_are_not_read(catalog):
    make(catalog)
    storage = FaultyStorage(catalog.storage)
    old = type(catalog)(storage, catalog.warehouse).table("db.t")

    def anew():
        catalog.drop_table("db.t")
        make(catalog)

    storage.before("read", "snapshot-2", anew)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        old.scan()


@pytest.mark.parametrize("rolls_back", [False, True])
def test_a_publish_of_a_group_does_not_land_in_the_new_table(catalog, rolls_back):
    make(catalog)
    group = catalog.group("g")
    group.publish({"db.t": []})
    group.publish({"db.t": []})
    storage = FaultyStorage(catalog.storage)
    storage.on("create_exclusive", "group/g/intent-3", Outcome.DIE_AFTER)
    dying = type(catalog)(storage, catalog.warehouse).group("g")
    with pytest.raises(Died):
        dying.rollback(1) if rolls_back else dying.publish({"db.t": []}, overwrite={"db.t": "overwrite-table"})
    catalog.drop_table("db.t")
    new = make(catalog)
    new.tags.create("group-g-1", 1)
    before = content(new)
    with pytest.raises(paimon.TableNotFound, match=r"call abandon\(\) to give up that publish"):
        group.recover()
    assert content(new) == before
    assert group.abandon().number == 3
    assert group.publish({"db.t": []}).number == 4


def test_two_tables_of_one_millisecond_differ(catalog, monkeypatch):
    monkeypatch.setattr(schemas.time, "time_ns", lambda: 1_700_000_000_000_000_000)
    old = make(catalog)
    catalog.drop_table("db.t")
    make(catalog)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        old.scan()


def test_a_table_whose_schema_was_altered_later_is_the_same(catalog):
    old = make(catalog)
    folder = Path(old.location, "schema")
    altered = json.loads((folder / "schema-0").read_text())
    altered |= {"id": 1, "options": {**altered["options"], "snapshot.num-retained.min": "3"}, "timeMillis": 1}
    (folder / "schema-1").write_text(json.dumps(altered))
    assert old.scan().count() == 2
    assert old.refresh().schema.id == 1
    old.refresh().write(rows(3))
    old.tags.create("t2", 2)
    assert old.scan().count() == 3


def test_a_scan_costs_one_small_read(catalog):
    make(catalog)
    storage = FaultyStorage(catalog.storage)
    table = type(catalog)(storage, catalog.warehouse).table("db.t")
    storage.calls.clear()
    table.scan().to_arrow()
    assert storage.count("read", "/schema/") == 1
    assert storage.count("list", "/schema") == 0


def test_a_server_that_gives_the_name_another_id_is_believed(catalog):
    made = make(catalog)
    server = ScriptedServer()
    try:
        server.on("GET /v1/config", Reply(body={"defaults": {}, "overrides": {}}))
        told = {"id": "first", "path": f"file:{made.location}", "isExternal": False, "schemaId": 0}
        server.on("GET /v1/databases/db/tables/t", Reply(body=told), Reply(body={**told, "id": "second"}))
        server.on("GET /v1/databases/db/tables/t/snapshot", Reply(404, {"resourceType": "SNAPSHOT"}))
        old = paimon.open_catalog("lake", type="rest", uri=server.uri).table("db.t")
        before = content(made)
        for call in (lambda: old.tags.delete("t1"), lambda: old.branches.create("b2"), old.maintenance.repair_hints):
            with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
                call()
        assert content(made) == before
    finally:
        server.close()
