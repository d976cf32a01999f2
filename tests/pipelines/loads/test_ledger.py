"""The ledger of loads: read from snapshots, carried on before an expiry, and refused when entries are missing."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.inspect import Inspect
from paimon_core.table.table import Table
from paimon_lake.loads.inputs.content_version import content_version
from paimon_lake.loads.ledger import ledger as ledgers
from paimon_lake.loads.ledger import part_ledgers
from paimon_lake.loads.ledger.ledger import Ledger, carry_on, carry_to, read_ledger
from paimon_lake.loads.ledger.load_properties import key_digest, load_user
from paimon_lake.loads.ledger.load_snapshot import CARRIED, FILES, KEY, KEYS, PARTS, POSITION, STEP, TOTAL, WATERMARK
from paimon_lake.loads.ledger.loaded_files import LoadedFiles
from paimon_lake.loads.ledger.part_ledgers import carry_all_on
from paimon_lake.protocol import PipelineError


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    options = {"bucket": "1", "commit.force-create-snapshot": "true", "write-only": "true"}
    schema = pa.schema([("k", pa.int64())])
    return catalog.create_table("db.t", schema, primary_key=["k"], options=options)


def load(table: Table, number: int, *files: tuple[str, str], total: int | None = None, **more: str) -> None:
    known = read_ledger(table).files.with_files(files) if total is None else LoadedFiles()
    properties = {FILES: LoadedFiles().with_files(files).to_text(), **more}
    properties[TOTAL] = str(len(known.versions) if total is None else total)
    table.write(pa.table({"k": [number]}), user=load_user("db.t"), identifier=number, properties=properties)


def test_a_table_without_loads_has_an_empty_ledger(table: Table) -> None:
    table.write(pa.table({"k": [1]}), user="someone else", identifier=5)
    ledger = read_ledger(table)
    assert (ledger.number, dict(ledger.files.versions), dict(ledger.keys)) == (0, {}, {})


def test_a_file_is_new_then_loaded_then_changed(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    files = read_ledger(table).files
    assert [files.state(p, "v1") for p in ("/a.csv", "/b.csv", "/c.csv")] == ["loaded", "loaded", "new"]
    assert files.state("/a.csv", "v2") == "changed"
    load(table, 3, ("/a.csv", "v2"))
    assert read_ledger(table).files.state("/a.csv", "v2") == "loaded"


def test_a_rollback_removes_entries_with_their_rows(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    table.rollback(snapshot=1)
    assert read_ledger(table.refresh()).files.state("/b.csv", "v1") == "new"


def test_keys_and_the_watermark_are_those_of_the_newest_load(table: Table) -> None:
    load(table, 1, **{KEY: "one", WATERMARK: "5"})
    load(table, 2, **{KEY: "two", WATERMARK: "9"})
    load(table, 3)
    ledger = read_ledger(table)
    assert (ledger.number, dict(ledger.keys), ledger.watermark) == (3, {"one": 1, "two": 2}, 9)


def test_entries_of_snapshots_that_expire_are_carried_on(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"), **{WATERMARK: '"2024-01-31"'})
    load(table, 2, ("/b.csv", "v1"))
    for number in range(3):
        table.write(pa.table({"k": [number]}))
    assert carry_on(table, {1}) is not None
    assert carry_on(table, {1, 2}) is None
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    ledger = read_ledger(table)
    assert [ledger.files.state(p, "v1") for p in ("/a.csv", "/b.csv")] == ["loaded", "loaded"]
    assert (ledger.number, ledger.watermark) == (3, "2024-01-31")
    load(table, 4, ("/c.csv", "v1"))
    assert len(read_ledger(table).files.versions) == 3


def test_nothing_is_carried_on_when_the_snapshots_that_stay_have_all_entries(table: Table) -> None:
    table.write(pa.table({"k": [7]}))
    load(table, 1, ("/a.csv", "v1"))
    assert carry_on(table, {1}) is None


def test_entries_that_another_program_let_expire_are_noticed(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    with pytest.raises(PipelineError, match=r"db\.t: its snapshots name 1 of 2 loaded files: another program expired"):
        read_ledger(table)


def test_a_rollback_behind_the_snapshot_that_keeps_the_entries_is_noticed(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    assert carry_on(table, {1}) is not None
    table.expire_snapshots(keep_last=2, keep_max=2, older_than=datetime.timedelta(0))
    assert len(read_ledger(table).files.versions) == 2
    table.rollback(snapshot=2)
    with pytest.raises(PipelineError, match=r"name 1 of 2 loaded files: .*, or a rollback removed the snapshot"):
        read_ledger(table.refresh())


@pytest.mark.parametrize("text", ["!", "YQ==", "ä"])
def test_a_damaged_entry_is_told_with_its_snapshot(table: Table, text: str) -> None:
    load(table, 1, total=0, **{FILES: text})
    with pytest.raises(PipelineError, match=r"db\.t: the property pipeline.files of snapshot 1 is damaged"):
        read_ledger(table)


def expired(table: Table) -> Table:
    """Let another program delete all snapshots but the newest."""
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    return table.refresh()


def by_others(table: Table, rows: int = 1) -> None:
    for number in range(rows):
        table.write(pa.table({"k": [number]}))


def test_a_history_without_its_beginning_and_without_loads_is_refused(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    by_others(table)
    with pytest.raises(PipelineError, match=r"db\.t: its snapshots before 2 expired, .* load --table db\.t --reload"):
        read_ledger(expired(table))


def test_a_rollback_to_a_tag_without_entries_is_refused_and_to_one_with_entries_is_not(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    by_others(table)
    table.tags.create("without")
    carried = carry_to(table, 2)
    assert carried is not None
    assert carry_to(table, carried.id) is None
    table.tags.create("with", carried.id)
    by_others(table)
    table = expired(table)
    table.rollback(tag="with")
    assert read_ledger(table.refresh()).files.state("/a.csv", "v1") == "loaded"
    table.rollback(tag="without")
    with pytest.raises(PipelineError, match="no snapshot that is left says what was loaded"):
        read_ledger(table.refresh())


def test_a_table_that_others_filled_can_be_loaded_while_its_history_is_complete_or_carried_on(table: Table) -> None:
    by_others(table, 3)
    assert read_ledger(table) == Ledger()
    assert carry_on(table, {1, 2}) is None
    assert carry_on(table, {1, 2}, begin=True) is not None
    assert carry_on(table, {1, 2}, begin=True) is None
    assert read_ledger(expired(table)) == Ledger(number=1)


def test_an_empty_table_whose_history_expired_can_be_loaded(table: Table) -> None:
    by_others(table)
    table.overwrite(pa.table({"k": pa.array([], pa.int64())}))
    assert read_ledger(expired(table)) == Ledger()


def test_a_snapshot_that_expires_during_the_read_leaves_no_gap(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    load(table, 1, ("/a.csv", "v1"))
    by_others(table)
    found = table.inspect.snapshots().slice(1)
    reads = iter([found])
    snapshots = Inspect.snapshots
    monkeypatch.setattr(Inspect, "snapshots", lambda self: next(reads, None) or snapshots(self))
    assert read_ledger(table).files.state("/a.csv", "v1") == "loaded"


def test_a_gap_is_carried_on_and_a_reload_repairs_it(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    table = expired(table)
    assert carry_on(table, {2}) is not None
    table = expired(table)
    with pytest.raises(PipelineError, match="its snapshots name 1 of 2 loaded files"):
        read_ledger(table)
    ledger = read_ledger(table, accept_gaps=True)
    assert ledger.files.state("/b.csv", "v1") == "loaded"
    load(table, 4, ("/c.csv", "v1"), total=2, **ledger.repair({TOTAL: "2"}))
    table = expired(table)
    files = read_ledger(table).files
    assert [files.state(p, "v1") for p in ("/a.csv", "/b.csv", "/c.csv")] == ["new", "loaded", "loaded"]
    assert read_ledger(table).repair({}) == {}


def test_entries_that_are_carried_on_are_no_new_content(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    by_others(table)
    before = content_version(table)
    assert carry_to(table, 2) is not None
    assert content_version(table) == before
    by_others(table)
    assert content_version(table) != before


def test_a_repair_by_a_load_without_files_counts_what_is_known(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"), total=7)
    ledger = read_ledger(table, accept_gaps=True)
    table.write(pa.table({"k": [2]}), user=load_user("db.t"), identifier=2, properties=ledger.repair({KEY: "x"}))
    assert read_ledger(table).total == 1


def test_keys_are_carried_on_the_newest_ones(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, key in enumerate(("one", "two", "one", "three"), start=1):
        load(table, number, **{KEY: key})
    assert carry_on(table, {1}) is None
    monkeypatch.setattr(ledgers, "MOST_KEYS", 2)
    assert carry_on(table, {1, 2}) is None
    assert carry_on(table, {1, 2, 3, 4}) is not None
    assert carry_on(table, {1, 2, 3, 4}) is None
    assert dict(read_ledger(expired(table)).keys) == {"one": 3, "three": 4}


def test_two_loads_that_commit_while_entries_are_carried_on_are_carried_on_too(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(table, 1, ("/a.csv", "v1"))
    real, tries = CommitRequest.committed_snapshot, []

    def after_others(request: CommitRequest) -> Any:
        if (request.properties or {}).get(STEP) == CARRIED:
            tries.append(request.identifier)
            if len(tries) == 1:
                load(table, 2, ("/b.csv", "v1"))
                load(table, 3, ("/c.csv", "v1"))
        return real(request)

    monkeypatch.setattr(CommitRequest, "committed_snapshot", after_others)
    assert carry_on(table, {1}) is not None
    assert tries == [2, 4]
    assert len(read_ledger(expired(table)).files.versions) == 3


def load_part(table: Table, number: int) -> None:
    """Commit a load of part a without rows, as a load of an empty file."""
    properties = {WATERMARK: str(number), POSITION: str(number)}
    table.commit([], user=load_user("db.t part a"), identifier=number, properties=properties)


def copies(table: Table) -> list[int]:
    """Return the snapshots that copy the ledgers of parts."""
    found = table.inspect.snapshots()
    listed = zip(found["snapshot_id"].to_pylist(), found["properties"].to_pylist(), strict=True)
    return [number for number, properties in listed if PARTS in dict(properties or ())]


def test_a_load_of_a_part_that_commits_while_entries_are_carried_on_is_carried_on_too(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_part(table, 1)
    needed_copy, calls = part_ledgers.needed_copy, []

    def needed_after_load(*args: Any) -> Ledger | None:
        calls.append(args)
        if len(calls) == 1:
            load_part(table, 2)
        return needed_copy(*args)

    monkeypatch.setattr(part_ledgers, "needed_copy", needed_after_load)
    assert carry_all_on(table, ("db.t part a",), {1, 2}, begin=True) is not None
    assert copies(table) == [3], "no copy without the second load was published"
    ledger = read_ledger(expired(table), "db.t part a")
    assert (ledger.number, ledger.watermark, ledger.position) == (2, 2, 2)


def test_a_copy_that_is_older_than_a_load_of_the_part_is_ignored(table: Table) -> None:
    load_part(table, 1)
    assert carry_all_on(table, ("db.t part a",), {1}, begin=True) is not None
    copied = table.latest_snapshot()
    assert copied is not None
    load_part(table, 2)
    table.commit([], user=load_user("db.t"), identifier=4, properties=copied.properties)
    ledger = read_ledger(table, "db.t part a")
    assert (ledger.number, ledger.watermark, ledger.position) == (2, 2, 2)
    assert carry_all_on(table, ("db.t part a",), {1, 2, 3}, begin=True) is not None, "the old copy alone is not enough"
    assert read_ledger(expired(table), "db.t part a") == ledger


@pytest.mark.parametrize(("name", "text"), [(TOTAL, "many"), (TOTAL, "-1"), (TOTAL, "9" * 5000), (KEYS, "[1]")])
def test_a_damaged_count_or_key_is_told_with_its_snapshot(table: Table, name: str, text: str) -> None:
    table.write(pa.table({"k": [1]}), user=load_user("db.t"), identifier=1, properties={name: text})
    with pytest.raises(PipelineError, match=rf"db\.t: the property {name} of snapshot 1 is damaged"):
        read_ledger(table)


def test_entries_cannot_be_carried_on_without_empty_snapshots(tmp_path: Path) -> None:
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    table = catalog.create_table("db.t", pa.schema([("k", pa.int64())]))
    assert carry_on(table, {1}, begin=True) is None
    load(table, 1, ("/a.csv", "v1"))
    with pytest.raises(PipelineError, match=r"db\.t: the entries .* commit\.force-create-snapshot = true"):
        carry_on(table, {1})


@pytest.mark.parametrize("at", ["listed", "checked"])
def test_a_rollback_before_the_publish_of_a_copy_leaves_no_entry_of_its_rows(
    table: Table, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """It comes between the listing and the check of the newest load, or between this check and the publish."""
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    load(table, 3, ("/c.csv", "v1"))
    real, done = ledgers.needed_copy if at == "listed" else CommitRequest.committed_snapshot, []

    def rolled_back(*given: Any) -> Any:
        found = real(*given)
        if not done:
            done.append(None)
            table.refresh().rollback(snapshot=2)
        return found

    if at == "listed":
        monkeypatch.setattr(ledgers, "needed_copy", rolled_back)
    else:
        monkeypatch.setattr(CommitRequest, "committed_snapshot", rolled_back)
    assert carry_on(table, {1}) is not None
    files = read_ledger(table.refresh()).files
    assert [files.state(path, "v1") for path in ("/a.csv", "/b.csv", "/c.csv")] == ["loaded", "loaded", "new"]


def test_a_commit_of_another_program_does_not_stop_a_copy(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    real = CommitRequest.committed_snapshot

    def followed(request: CommitRequest) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(CommitRequest, "committed_snapshot", real)
            by_others(table)
        return real(request)

    monkeypatch.setattr(CommitRequest, "committed_snapshot", followed)
    assert carry_on(table, {1}) is not None
    assert read_ledger(table.refresh()).files.state("/b.csv", "v1") == "loaded"


def test_the_digests_of_keys_stay_as_tables_have_recorded_them() -> None:
    assert key_digest(["q", {"b": "1 at 2024", "a": "2 at 2024"}]) == "635a7ca560201b94"
