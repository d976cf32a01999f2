"""Each invariant that fsck can check: a table that breaks it gives exactly this finding, a valid table gives none."""

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.fsck import finding_collector
from paimon_core.fsck.check import check, check_root
from paimon_core.fsck.finding import Level
from paimon_core.fsck.invariants import INVARIANTS, When
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support import broken_tables as broken
from tests.support.fake_tables import append, compacted, fake_table

QUICK = [
    ("I1", broken.a_gap),
    ("I6", broken.a_missing_data_file),
    ("I6", broken.a_data_file_of_another_size),
    ("I6", broken.a_missing_manifest),
    ("I6", broken.a_torn_manifest_list),
    ("I6", broken.a_snapshot_that_is_no_json),
    ("I6", broken.a_snapshot_under_another_name),
    ("I6", broken.a_missing_index_manifest),
    ("I6", broken.a_missing_statistics_file),
    ("I6", broken.a_consumer_that_is_none),
    ("I6", broken.a_consumer_of_an_expired_snapshot),
    ("I6", broken.a_changelog_without_its_list),
    ("I7", broken.a_base_that_forgets),
    ("I8", broken.a_file_added_twice),
    ("I8", broken.a_delete_of_nothing),
    ("I9", broken.a_name_of_two_files),
    ("I12", broken.levels_that_overlap),
    ("I12", broken.keys_the_wrong_way_round),
    ("I13", broken.sequence_numbers_the_wrong_way_round),
    ("I15", broken.a_bucket_beyond_the_last),
    ("I15", broken.two_numbers_of_buckets),
    ("I15", broken.a_dynamic_bucket_without_index),
    ("I16", broken.a_vector_of_no_file),
    ("I16", broken.a_vector_of_too_many_rows),
    ("I18", broken.a_wrong_total),
    ("I18", broken.a_wrong_delta),
    ("I18", broken.a_wrong_number_of_changes),
    ("I18", broken.a_manifest_of_other_counts),
    ("I19", broken.a_manifest_of_another_bucket_range),
    ("I21", broken.a_tag_of_other_bytes),
    ("I21", broken.a_tag_that_is_none),
    ("I22", broken.a_branch_without_schema),
    ("I24", broken.a_hint_that_is_none),
    ("I24", broken.a_stranger_among_the_snapshots),
    ("I25", broken.a_missing_schema),
    ("I25", broken.a_file_of_a_missing_schema),
    ("I25", broken.a_gap_in_the_schemas),
    ("I25", broken.a_field_id_used_again),
    ("I31", broken.a_clock_that_went_back),
    ("I31", broken.a_watermark_that_went_back),
    ("I35", broken.a_name_that_leaves_the_table),
    ("I35", broken.a_data_file_elsewhere),
    ("I36", broken.a_row_id_beyond_the_last),
]
DEEP = [
    ("I6", broken.rows_that_do_not_decode),
    ("I10", broken.a_state_that_cannot_be_merged),
    ("I11", broken.a_compaction_that_changes_rows),
    ("I12", broken.a_least_key_that_is_not),
    ("I13", broken.other_sequence_numbers),
    ("I15", broken.rows_in_another_bucket),
    ("I15", broken.a_key_hash_in_another_bucket),
    ("I15", broken.a_key_hash_that_is_missing),
    ("I16", broken.a_vector_with_another_bit),
    ("I17", broken.a_key_that_is_visible_twice),
    ("I18", broken.deletes_that_are_none),
    ("I19", broken.statistics_that_lie),
    ("I19", broken.nulls_that_are_none),
    ("I20", broken.a_changelog_that_is_not_told),
    ("I36", broken.row_ids_of_two_files),
]


def found(report):
    return {f.invariant for f in report.findings if f.level is not Level.INFO}


def names(cases):
    return [f"{invariant}-{plant.__name__}" for invariant, plant in cases]


@pytest.mark.parametrize(("invariant", "plant"), QUICK, ids=names(QUICK))
def test_a_fault_of_metadata_is_found_and_is_the_only_one(invariant, plant):
    report = check(broken.fresh(plant()))
    assert found(report) == {invariant}, report.text()
    assert not report.is_clean


@pytest.mark.parametrize(("invariant", "plant"), DEEP, ids=names(DEEP))
def test_a_fault_in_rows_is_found_and_is_the_only_one(invariant, plant):
    context = broken.fresh(plant())
    assert found(check(context, deep=True)) == {invariant}, check(context, deep=True).text()
    assert check(context).is_clean


def test_every_invariant_that_fsck_checks_has_a_fault():
    checked = {n for n, invariant in INVARIANTS.items() if invariant.when is not When.HISTORY}
    assert checked - {invariant for invariant, _ in (*QUICK, *DEEP)} == {"I29"}  # it has its own tests
    assert list(INVARIANTS) == [f"I{n}" for n in range(1, 37)]


def test_a_finding_names_the_place():
    context = broken.fresh(broken.a_missing_data_file())
    (finding,) = check(context).findings
    assert (finding.invariant, finding.level, finding.snapshot, finding.branch) == ("I6", Level.ERROR, 2, "main")
    assert finding.path is not None
    assert finding.path in finding.message
    assert finding.sentence().startswith("error I6: snapshot 2 needs ")


def test_clean_tables_of_metadata():
    context = broken.three_appends()
    context.tags.create("t", context.snapshots.read(2))
    context.storage.write(context.paths.consumer("c"), b'{"nextSnapshot": 4}')
    report = check(broken.fresh(context))
    assert report.findings == ()
    assert report.checked["I7"] == 2
    assert report.checked["I21"] == 1
    assert check(compacted()[0]).findings == ()
    assert check(broken.fresh(broken.a_vector_that_is_right())).findings == ()


def test_the_report_names_what_was_checked_and_what_not():
    quick, deep = (check(broken.real_table().context, deep=d) for d in (False, True))
    for report in (quick, deep):
        assert set(report.checked) | set(report.skipped) == set(INVARIANTS)
        assert "record of who did what" in report.skipped["I4"]
    assert "deep" in quick.skipped["I11"]
    assert deep.checked["I19"] == 2
    assert "changelog-producer = none" in deep.skipped["I20"]
    assert "not checked: I20: changelog-producer" in deep.text()
    assert deep.to_plain()["clean"] is True


def test_an_empty_table():
    report = check(fake_table(), deep=True)
    assert report.findings == ()
    assert report.checked["I1"] == 0


OPTIONS = [
    {},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
    {"merge-engine": "first-row", "changelog-producer": "lookup"},
    {"merge-engine": "partial-update"},
    {"file.format": "orc"},
    {"file.format": "avro"},
    {"key": "False"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_clean_tables_with_rows(options):
    options = dict(options)
    keyed = options.pop("key", "True") == "True"
    table = broken.real_table(key=keyed, **{"write-only": "false", **options})
    for low in (5, 0, 12):
        table.write(broken.some_rows(range(low, low + 10), str(low)))
    if keyed and "first-row" not in options.values() and "partial-update" not in options.values():
        table.delete(paimon.col("k") == 7)
    table.compact(full=True)
    table.tags.create("t")
    report = check(broken.fresh(table.context), deep=True)
    assert report.findings == (), report.text()
    assert report.checked.get("I11", 0) >= 1 or "first-row" in options.values()
    assert report.checked.get("I20", 0) == ("changelog-producer" in options)


def test_every_type_passes():
    catalog = paimon.open_catalog("memory://fsck-types")
    catalog.create_database("db")
    rows = pa.table(
        {
            "k": pa.array([1, 2, 3], pa.int64()),
            "f": pa.array([float("nan"), -0.0, None]),
            "d": pa.array([datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]),
            "t": pa.array([datetime.datetime(1969, 12, 31, 23, 59, 59, 999), None, None], pa.timestamp("us")),
            "s": ["\U0001f600" * 20, "", None],
            "b": pa.array([b"\xff" * 40, b"", None]),
            "o": [True, False, None],
            "l": pa.array([[1, None], [], None], pa.list_(pa.int32())),
        }
    )
    table = catalog.create_table("db.t", rows.schema, primary_key=["k"], options={"bucket": "1"})
    table.write(rows)
    table.write(rows)
    table.compact(full=True)
    report = check(table.context, deep=True)
    assert report.findings == (), report.text()


def test_partitions_hold_their_own_rows():
    catalog = paimon.open_catalog("memory://fsck-partitions")
    catalog.create_database("db")
    rows = pa.table({"p": ["x", None, "x"], "k": pa.array([1, 2, 3], pa.int32())})
    table = catalog.create_table("db.t", rows.schema, partition_by=["p"])
    table.write(rows)
    assert check(table.context, deep=True).findings == ()
    entries = table.context.manifests.entries_of(table.context.snapshots.read(1))
    other = broken.replace(entries[0], partition=entries[1].partition)
    context = table.context
    paths = [
        context.paths.data_file(context.partition_path(e.partition), 0, e.file.file_name) for e in (entries[0], other)
    ]
    table.context.storage.write(paths[1], table.context.storage.read(paths[0]))
    assert found(check(broken.record(table.context, other), deep=True)) == {"I15"}


def test_unreferenced_files_are_reported_as_information():
    context = broken.three_appends()
    for n in range(25):
        context.storage.write(f"{context.paths.root}/p=a/bucket-0/data-left-{n}.parquet", b"left")
    report = check(context)
    assert report.is_clean
    assert {f.invariant for f in report.findings} == {"I29"}
    assert len(report.findings) == 21
    assert "25 files (100 bytes)" in report.findings[-1].message


def test_unreferenced_files_are_not_reported_when_references_are_unknown():
    context = broken.a_torn_manifest_list()
    context.storage.write(f"{context.paths.root}/p=a/bucket-0/data-left.parquet", b"left")
    report = check(broken.fresh(context))
    assert not [f for f in report.findings if f.invariant == "I29"]
    assert "not known" in report.skipped["I29"]


@pytest.mark.parametrize(
    ("hint", "text", "level"),
    [
        ("LATEST", b"1", Level.INFO),
        ("LATEST", b"999", Level.INFO),
        ("LATEST", b"", Level.WARNING),
        ("EARLIEST", b"3", Level.INFO),
        ("EARLIEST", b"0", Level.WARNING),
    ],
)
def test_stale_hints(hint, text, level):
    context = broken.three_appends()
    context.storage.overwrite(context.paths.hint(hint), text)
    assert [(f.invariant, f.level) for f in check(context).findings] == [("I24", level)]


def test_a_hint_next_to_a_gap_is_an_error():
    context = broken.a_gap()
    context.storage.overwrite(context.paths.hint("LATEST"), b"1")
    errors = [f for f in check(context).findings if f.invariant == "I24"]
    assert [f.level for f in errors] == [Level.ERROR]


def test_every_branch_is_checked():
    context = broken.three_appends()
    home = context.paths.branch_home("b")
    for path in (context.paths.schema(0), context.paths.snapshot(2)):
        context.storage.write(home + path.removeprefix(context.paths.root), context.storage.read(path))
    assert check(broken.fresh(context)).findings == ()
    branch = context.on_branch("b")
    broken.rewrite(branch, 2, total_record_count=5)
    (finding,) = check(broken.fresh(context)).findings
    assert (finding.invariant, finding.branch) == ("I18", "b")


def test_a_bad_schema_does_not_end_the_check():
    context = broken.three_appends()
    context.storage.write(context.paths.schema(1), b"{}")
    report = check_root("db.t", context.storage, context.paths.root)
    assert found(report) == {"I25"}
    with pytest.raises(paimon.TableNotFound, match="no schema"):
        check_root("db.t", context.storage, "/nowhere")
    context.storage.overwrite(context.paths.schema(0), b"[]")
    with pytest.raises(paimon.CorruptTable, match="schema-0"):
        check_root("db.t", context.storage, context.paths.root)


def test_a_snapshot_of_a_newer_version_is_a_warning():
    context = broken.three_appends()
    broken.edit_json(context, context.paths.snapshot(3), version=99)
    (finding,) = [f for f in check(context).findings if f.level is not Level.INFO]
    assert (finding.invariant, finding.level) == ("I6", Level.WARNING)
    assert "99" in finding.message


def test_a_snapshot_that_expires_during_the_check_is_no_finding(monkeypatch):
    context = broken.three_appends()
    first = context.snapshots.read(1)
    read = type(context.storage).read

    def expiring(self, path):
        data = read(self, path)
        if path == context.paths.snapshot(1):
            name = context.manifests.read_list(first.delta_manifest_list)[0].file_name
            context.snapshots.delete([1])
            context.storage.delete([context.paths.manifest(name), context.paths.manifest(first.base_manifest_list)])
        return data

    monkeypatch.setattr(type(context.storage), "read", expiring)
    findings = check(broken.fresh(context)).findings
    assert not [f for f in findings if f.snapshot == 1]


def test_a_file_created_after_the_listing_is_no_finding(monkeypatch):
    context = broken.three_appends()
    ids = type(context.snapshots).ids

    def later(self):
        found = ids(self)
        return found[:-1] if len(found) == 3 else found

    monkeypatch.setattr(type(context.snapshots), "ids", later)
    assert not [f for f in check(broken.fresh(context)).findings if f.level is Level.ERROR]


def test_findings_are_bounded(monkeypatch):
    monkeypatch.setattr(finding_collector, "MOST_FINDINGS", 10)
    context = fake_table()
    append(context, *(broken.fake_file(context) for _ in range(30)))
    context.storage.delete_directory(f"{context.paths.root}/p=a")
    report = check(context)
    assert len(report.findings) == 10
    assert report.left_out == 20
    assert "and 20 findings more" in report.text()


def test_a_thousand_snapshots_read_each_manifest_a_few_times(monkeypatch):
    context = fake_table()
    for _ in range(60):
        append(context)
    reads = []
    read = type(context.storage).read
    monkeypatch.setattr(type(context.storage), "read", lambda self, path: reads.append(path) or read(self, path))
    assert check(broken.fresh(context)).is_clean
    manifests = [p for p in reads if "/manifest-" in p and "list" not in p.rsplit("/", 1)[1]]
    assert len(manifests) <= 3 * len(set(manifests))
    assert max(manifests.count(m) for m in set(manifests)) <= 3


def test_the_golden_table_of_java():
    """Only the metadata is stored; a file of the recorded size replaces each data file."""
    golden = "tests/golden/java-1.4.2/partitioned"
    disk, memory, root = FsspecStorage("file"), FsspecStorage("memory"), "/fsck-golden/db.db/t"
    for info in disk.walk(golden):
        memory.write(root + info.path.partition(golden)[2], disk.read(info.path))
    schema = SchemaStore(memory, TablePaths(root)).latest()
    context = TableContext.of("db.t", memory, root, schema)
    snapshots = [context.snapshots.read(i) for i in context.snapshots.ids()]
    for snapshot in (*snapshots, *(t.snapshot for t in context.tags.list())):
        for entry in context.manifests.entries_of(snapshot):
            path = context.paths.data_file(context.partition_path(entry.partition), entry.bucket, entry.file.file_name)
            memory.overwrite(path, bytes(entry.file.file_size))
    report = check(broken.fresh(context))
    assert report.findings == (), report.text()
    assert report.checked["I21"] == 2


@pytest.mark.parametrize("kind", ["schema", "snapshot", "manifest", "tag"])
def test_no_content_of_a_file_ends_the_check(kind):
    for data in (b"", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"id": 1e999}', b"Obj\x01", b"null"):
        context = broken.three_appends()
        context.tags.create("t", context.snapshots.read(1))
        for info in list(context.storage.walk(f"{context.paths.root}/{kind}")):
            context.storage.overwrite(info.path, data)
            assert not check(broken.fresh(context), deep=True).is_clean or "LATEST" in info.path


def test_changelogs_that_outlived_their_snapshots():
    table = broken.real_table(**{"changelog-producer": "input", "changelog.num-retained.max": "100"})
    for value in "abc":
        table.write(broken.some_rows(range(3), value))
    table.expire_snapshots(keep_last=1, keep_max=1)
    assert table.context.changelogs.ids() == [1, 2, 3]
    report = check(broken.fresh(table.context), deep=True)
    assert report.findings == (), report.text()
    kept = table.context.changelogs.read(2)
    manifest = table.context.manifests.read_list(kept.changelog_manifest_list)[0]
    entry = table.context.manifests.read_manifest(manifest.file_name)[0]
    table.context.storage.delete([table.context.paths.data_file("", entry.bucket, entry.file.file_name)])
    (finding,) = check(broken.fresh(table.context)).findings
    assert (finding.invariant, finding.snapshot) == ("I6", 2)


def test_a_snapshot_re_created_from_a_tag_has_no_changelog():
    table = broken.real_table(**{"changelog-producer": "input"})
    table.write(broken.some_rows(range(3)))
    table.tags.create("kept")
    table.write(broken.some_rows(range(3), "b"))
    table.expire_snapshots(keep_last=1, keep_max=1)
    table.rollback(tag="kept")
    (finding,) = [f for f in check(broken.fresh(table.context)).findings if f.level is not Level.INFO]
    assert (finding.invariant, finding.level, finding.snapshot) == ("I6", Level.WARNING, 2)
    assert "has expired" in finding.message


def test_appended_files_that_contain_the_changes_of_lasting_changelogs():
    table = broken.real_table(key=False, **{"changelog.num-retained.max": "100"})
    table.write(broken.some_rows(range(3)))
    table.compact(full=True)
    table.expire_snapshots(keep_last=1, keep_max=1)
    assert table.context.changelogs.ids() == [1, 2]
    report = check(broken.fresh(table.context), deep=True)
    assert report.findings == (), report.text()


def test_a_branch_with_an_unfinished_operation_is_reported():
    context = broken.three_appends()
    context.branches.put_mark("b", {"doing": "create"})
    (finding,) = check(context).findings
    assert (finding.invariant, finding.level) == ("I22", Level.INFO)


def test_a_change_that_the_changelog_need_not_contain():
    catalog = paimon.open_catalog("memory://fsck-dedup")
    catalog.create_database("db")
    schema = pa.schema([("k", pa.int32()), ("f", pa.float64()), ("note", pa.string())])
    producer = "changelog-producer"
    options = {
        "bucket": "1",
        producer: "lookup",
        f"{producer}.row-deduplicate": "true",
        f"{producer}.row-deduplicate-ignore-fields": "note",
    }
    table = catalog.create_table("db.t", schema, primary_key=["k"], options=options)
    for number, note in ((0.0, "a"), (-0.0, "b")):
        table.write(pa.table([[1], [number], [note]], schema=schema))
    report = check(table.context, deep=True)
    assert report.findings == (), report.text()
    assert report.checked["I20"] == 1


def test_an_engine_that_combines_values_may_give_another_result():
    """A sum of floats depends on the order of its values: that is reported as information."""
    catalog = paimon.open_catalog("memory://fsck-sum")
    catalog.create_database("db")
    schema = pa.schema([("k", pa.int32()), ("f", pa.float64())])
    options = {"bucket": "1", "write-only": "true", "merge-engine": "aggregation", "fields.f.aggregate-function": "sum"}
    table = catalog.create_table("db.t", schema, primary_key=["k"], options=options)
    for number in (1e16, 1.0):
        table.write(pa.table([[1], [number]], schema=schema))
    table.compact(full=True)
    for number in (1.0, -1e16):
        table.write(pa.table([[1], [number]], schema=schema))
    table.compact(full=True)
    report = check(table.context, deep=True)
    assert report.is_clean, report.text()
