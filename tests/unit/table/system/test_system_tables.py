"""System tables: filters that leave out metadata, our columns, what is refused; tests/interop compares with Java."""

import datetime
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.codec.avro.container import write_avro
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.metadata.manifests.index_manifest import INDEX_MANIFEST_SCHEMA, decode_indexes
from paimon_core.metadata.stores import live_manifests
from paimon_core.table.system import file_columns
from paimon_core.table.system.columns import arrow_table
from paimon_core.table.system.metadata_columns import iso_duration
from paimon_core.table.system.metadata_tables import METADATA_TABLES
from paimon_core.table.system.row_tables import as_pairs
from paimon_core.table.system.source import Source, local_time

OPTIONS = {"bucket": "2", "num-levels": "3", "write-only": "true"}


@pytest.fixture
def catalog(warehouse):
    found = paimon.open_catalog(warehouse)
    found.create_database("db")
    return found


@pytest.fixture
def keyed(catalog):
    schema = "p STRING, k INT NOT NULL, v STRING"
    table = catalog.create_table("db.t", schema, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
    table.write([{"p": "a", "k": k, "v": "x"} for k in range(4)])
    table.write([{"p": "b", "k": 1, "v": None}])
    return table


def remove_manifest(table, partition):
    """Remove the manifest that lists the files of a partition: only reads that do not need it succeed then."""
    (name,) = {m["file_name"] for m in table.inspect.manifests().to_pylist() if m["max_partition_stats"] == partition}
    table.context.storage.delete([table.context.paths.manifest(name)])


@pytest.mark.parametrize(
    ("where", "files"),
    [
        (col("partition") == "{a}", 2),
        (col("partition").is_in(["{a}", "{c}"]), 2),
        (col("partition") == "a", 0),
        ((col("partition") == "{a}") & (col("bucket") == 0), 1),
    ],
)
def test_a_filter_on_partitions_reads_only_their_manifests(keyed, where, files):
    buckets = keyed.system("files", ["bucket"], where=where).to_arrow()
    keyed = keyed.refresh()
    keyed.context.manifests.cache.__init__()
    remove_manifest(keyed, "{b}")
    assert keyed.system("files", ["bucket"], where=where).to_arrow() == buckets
    assert len(buckets) == files
    with pytest.raises(paimon.CorruptTable, match="missing"):
        keyed.system("files").to_arrow()


def test_a_filter_on_levels_and_buckets(keyed):
    keyed.compact(full=True, where=col("p") == "a")
    assert set(keyed.system("files", where=col("level") > 0).to_arrow()["partition"].to_pylist()) == {"{a}"}
    assert keyed.system("files", where=col("level") == 1).count() == 0
    levels = keyed.system("buckets", where=col("bucket") == 0).to_arrow().to_pylist()
    assert [(one["partition"], one["level0_files"], one["sorted_runs"]) for one in levels][:1] == [("{a}", 0, 1)]
    assert keyed.system("files", where=col("file_format") == "parquet", limit=1).count() == 1


def test_the_text_null_is_null_or_a_word(catalog):
    table = catalog.create_table("db.n", "p STRING, q DATE, x INT", partition_by=["p", "q"])
    day = datetime.date(2024, 1, 31)
    table.write([{"p": None, "q": day, "x": 1}, {"p": "null", "q": day, "x": 1}, {"p": " ", "q": None, "x": 1}])
    found = table.system("files", where=col("partition") == "{null, 2024-01-31}").to_arrow()
    assert sorted(found["partition_values"].to_pylist(), key=str) == [{"p": "null", "q": day}, {"p": None, "q": day}]
    default = "__DEFAULT_PARTITION__"
    assert sorted(table.inspect.partitions()["partition"].to_pylist()) == [
        f"p={default}/q=2024-01-31",
        f"p={default}/q={default}",
        "p=null/q=2024-01-31",
    ]
    assert sorted(catalog.system_table("sys.all_partitions").to_arrow()["partition_name"].to_pylist()) == [
        f"p={default}/q=19753",
        f"p={default}/q={default}",
        "p=null/q=19753",
    ]


def test_our_columns_come_after_javas(keyed):
    assert keyed.system_table("files").arrow_schema.names[-2:] == ["file_name", "partition_values"]
    assert keyed.inspect.manifests().column_names[-1] == "list"
    assert keyed.inspect.snapshots().column_names[-2:] == ["commit_time_utc", "properties"]
    assert keyed.inspect.options().column_names == ["key", "value", "use"]


def test_indexes_in_the_manifest_and_beside_the_file(catalog):
    options = {
        "file-index.bloom-filter.columns": "x",
        "file-index.bitmap.columns": "x",
        "file-index.in-manifest-threshold": "1 mb",
    }
    table = catalog.create_table("db.i", "x INT, y STRING", options=options)
    table.write([{"x": 1, "y": "a"}])
    beside = table.with_options({"file-index.in-manifest-threshold": "1 b"})
    beside.write([{"x": None, "y": "b"}])
    rows = table.system("file_indexes").to_arrow().to_pylist()
    assert sorted((r["storage_type"], r["column_name"], r["index_type"]) for r in rows) == [
        ("EMBEDDED", "x", "bitmap"),
        ("EMBEDDED", "x", "bloom-filter"),
        ("FILE", "x", "bitmap"),
        ("FILE", "x", "bloom-filter"),
    ]
    for row in rows:
        path = row["index_file_path"]
        assert (path is None) is (row["storage_type"] == "EMBEDDED")
        if path is not None:
            assert len(table.context.storage.read(path)) == row["index_container_size_in_bytes"]
            assert path == row["file_path"] + ".index"
        assert 0 <= row["index_size_in_bytes"] < row["index_container_size_in_bytes"]


def test_a_global_index_shows_its_rows_and_column():
    record = dict.fromkeys(("_DELETIONS_VECTORS_RANGES", "_EXTERNAL_PATH"))
    record |= {"_VERSION": 1, "_KIND": 0, "_PARTITION": bytes(12), "_BUCKET": 0, "_INDEX_TYPE": "btree"}
    record |= {"_FILE_NAME": "index-1", "_FILE_SIZE": 5, "_ROW_COUNT": 9}
    index = {"_ROW_RANGE_START": 10, "_ROW_RANGE_END": 19, "_INDEX_FIELD_ID": 1}
    record["_GLOBAL_INDEX"] = index | {"_EXTRA_FIELD_IDS": None, "_INDEX_META": None}
    (entry,) = decode_indexes(write_avro(INDEX_MANIFEST_SCHEMA, [record], "null"), "index-manifest-1")
    assert entry.file.row_range == (10, 19, 1)


def test_rows_with_their_ids(catalog):
    table = catalog.create_table("db.r", "x INT", options={"row-tracking.enabled": "true"})
    table.write([{"x": 1}, {"x": 2}])
    found = table.system("row_tracking").to_arrow()
    assert found.to_pylist() == [{"x": n + 1, "_ROW_ID": n, "_SEQUENCE_NUMBER": 1} for n in range(2)]
    assert table.system("row_tracking", where=col("_ROW_ID") == 1).to_arrow()["x"].to_pylist() == [2]


def test_a_log_is_filtered_by_kind_and_pinned(keyed):
    keyed.write([{"p": "a", "k": 1, "v": "x"}], kinds=pa.array(["-D"]))
    assert keyed.system("audit_log", ["k"], where=col("rowkind") == "-D").to_arrow().to_pylist() == [{"k": 1}]
    assert keyed.at(snapshot=2).system("audit_log", where=col("rowkind") == "-D").count() == 0
    log = keyed.system("binlog", ["v", "rowkind"], where=col("rowkind") == "-D").to_arrow()
    assert log.to_pylist() == [{"v": ["x"], "rowkind": "-D"}]
    assert keyed.system("audit_log", limit=2).count() == 2


def test_logs_of_changes_between_versions(catalog):
    table = catalog.create_table(
        "db.logged", "k INT, v STRING", primary_key=["k"], options={"bucket": "1", "changelog-producer": "lookup"}
    )
    table.write([{"k": 1, "v": "a"}, {"k": 2, "v": "a"}])
    table.write([{"k": 1, "v": "b"}])
    table.write(pa.table({"k": [2], "v": ["a"]}, schema=table.arrow_schema), kinds=pa.array(["-D"]))
    last = table.latest_snapshot().id

    def log(name, **options):
        read = table.with_options({"incremental-between": f"2,{last}", **options}).system(name).to_arrow()
        return [tuple(row.values()) for row in read.to_pylist()]

    written = [("-U", 1, "a"), ("+U", 1, "b"), ("-D", 2, "a")]
    assert log("audit_log") == written
    assert log("audit_log", **{"incremental-between-scan-mode": "diff"}) == written
    pairs = [("+U", [1, 1], ["a", "b"]), ("-D", [2], ["a"])]
    assert log("binlog") == pairs
    assert log("binlog", **{"incremental-between-scan-mode": "diff"}) == pairs
    deltas = log("audit_log", **{"incremental-between-scan-mode": "delta"})
    assert deltas == [("+I", 1, "b"), ("-D", 2, "a")]
    found = table.with_options({"incremental-between": f"2,{last}"}).system("audit_log", ["v"], where=col("k") == 2)
    assert found.to_arrow().to_pylist() == [{"v": "a"}]
    numbered = {"incremental-between-scan-mode": "diff", "table-read.sequence-number.enabled": "true"}
    with pytest.raises(paimon.UnsupportedFeature, match="difference of versions has no sequence numbers"):
        log("audit_log", **numbered)
    with pytest.raises(paimon.UnsupportedFeature, match="incremental-between"):
        log("ro")


def test_an_update_is_one_row_of_a_binlog_also_across_batches():
    kinds, values = ["+I", "-U", "+U", "-U", "+U", "-D"], [1, 2, 3, 4, 5, 6]
    whole = pa.table({"rowkind": kinds, "x": values})
    expected = [("+I", [1]), ("+U", [2, 3]), ("+U", [4, 5]), ("-D", [6])]
    for cuts in ([6], [2, 6], [1, 2, 3, 4, 5, 6], [4, 6]):
        tables = [whole.slice(start, end - start) for start, end in zip([0, *cuts], cuts, strict=False)]
        rows = pa.concat_tables(as_pairs(tables)).to_pylist()
        assert [(row["rowkind"], row["x"]) for row in rows] == expected


@pytest.mark.parametrize("name", ["audit_log", "binlog"])
def test_kinds_alone_have_a_row_for_each_row_of_an_append_table(catalog, name):
    table = catalog.create_table("db.log", "a INT, b INT")
    table.write([{"a": 1, "b": 1}, {"a": 2, "b": 2}])
    assert table.system(name, ["rowkind"]).to_arrow()["rowkind"].to_pylist() == ["+I", "+I"]
    assert table.system(name, ["rowkind"], where=col("rowkind") == "+I").count() == 2


@pytest.mark.parametrize(
    ("read", "error", "says"),
    [
        (lambda c, t: t.system("nosuch"), paimon.NotFound, "audit_log, binlog, branches"),
        (lambda c, t: c.system_table("db.t$nosuch"), paimon.NotFound, "'nosuch'"),
        (lambda c, t: c.system_table("sys.nosuch"), paimon.NotFound, "sys.tables, sys.partitions"),
        (lambda c, t: c.system_table("db.t"), paimon.InvalidRequest, "not a system table"),
        (lambda c, t: c.table("db.t$files"), paimon.UnsupportedFeature, "catalog.system_table"),
        (lambda c, t: c.system_table("db.nosuch$files"), paimon.TableNotFound, "nosuch"),
        (lambda c, t: t.system("files", ["nosuch"]), paimon.SchemaMismatch, "db.t.files has no column 'nosuch'"),
        (lambda c, t: t.system("files", []), paimon.InvalidRequest, "at least one column"),
        (lambda c, t: t.system("files", limit=-1), paimon.InvalidRequest, "-1"),
        (lambda c, t: t.system("files", where=col("level") == "x"), paimon.SchemaMismatch, "level"),
        (lambda c, t: t.system("row_tracking"), paimon.UnsupportedFeature, "row-tracking.enabled"),
        (lambda c, t: c.system_table("db.t$files").write([]), paimon.UnsupportedFeature, "db.t.files is a system"),
    ],
)
def test_what_cannot_be_read_is_refused(catalog, keyed, read, error, says):
    with pytest.raises(error, match=says):
        read(catalog, keyed)


def test_sequence_numbers_of_an_append_table_are_refused(catalog):
    table = catalog.create_table("db.s", "x INT", options={"table-read.sequence-number.enabled": "true"})
    with pytest.raises(paimon.UnsupportedFeature, match="sequence numbers"):
        table.system("audit_log")


def test_secrets_of_a_catalog_are_not_shown(tmp_path):
    storage = {
        "s3.access-key": "AKIA1",
        "s3.secret-key": "hush",
        "s3.endpoint": "http://me:hush@localhost:1?password=hush1",
    }
    catalog = paimon.open_catalog("s3://bucket/lake", storage=storage)
    shown = catalog.system_table("sys.catalog_options").to_arrow()
    assert dict(zip(*(column.to_pylist() for column in shown.columns), strict=True)) == {
        "metastore": "filesystem",
        "s3.access-key": "***",
        "s3.endpoint": "http://***@localhost:1?***",
        "s3.secret-key": "***",
        "warehouse": "s3://bucket/lake",
    }
    sql = paimon.open_catalog(tmp_path, type="sql", uri=f"sqlite:///{tmp_path}/names.db", options={"catalog-key": "c"})
    assert sql.options["metastore"] == "jdbc"
    assert sql.options["catalog-key"] == "c"


def test_a_table_that_cannot_be_opened_is_listed(catalog, keyed):
    directory = keyed.location.removesuffix("/t") + "/other/schema"
    keyed.context.storage.write(
        f"{directory}/schema-0", keyed.schema.to_json().replace('"bucket": "2"', '"type": "format-table"').encode()
    )
    found = catalog.system_table("sys.tables").to_arrow().to_pylist()
    assert [(r["table_name"], r["primary_key"]) for r in found] == [("other", None), ("t", True)]
    options = catalog.system_table("sys.all_table_options").to_arrow().to_pylist()
    assert [r["key"] for r in options if r["table_name"] == "other"] == [None]
    assert "bucket" in [r["key"] for r in options if r["table_name"] == "t"]


@pytest.mark.parametrize("damage", ["schema/schema-0", "snapshot/snapshot-1"])
def test_a_damaged_table_is_one_row_of_nulls_beside_the_partitions_of_others(catalog, damage):
    for name in ("bad", "good"):
        catalog.create_table(f"db.{name}", {"p": "INT"}, partition_by=["p"]).write([{"p": 1}, {"p": 2}])
    bad = catalog.table("db.bad")
    Path(bad.location, damage).write_text("{")
    found = catalog.system_table("sys.partitions").to_arrow().to_pylist()
    listed = [(r["table_name"], r["partition_name"]) for r in found if r["table_name"] in ("bad", "good")]
    assert listed == [("bad", None), ("good", "p=1"), ("good", "p=2")]


@pytest.mark.parametrize(
    ("millis", "text"),
    [(0, "PT0S"), (86_400_000, "PT24H"), (90_001_500, "PT25H1.5S"), (60_000, "PT1M"), (1, "PT0.001S")],
)
def test_durations_as_java_writes_them(millis, text):
    assert iso_duration(millis) == text


def test_times_are_local(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert local_time(1_700_000_000_123) == 1_700_000_000_123 + 9 * 3_600_000
    finally:
        monkeypatch.undo()
        time.tzset()


def test_system_tables_are_frames_too(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("frames")
    table = catalog.create_table("frames.t", {"id": "BIGINT"})
    table.write([{"id": 1}])
    assert table.system("snapshots", ["snapshot_id"]).to_pandas()["snapshot_id"].tolist() == [1]
    assert table.system_table("files").to_polars()["record_count"].to_list() == [1]


@pytest.mark.parametrize("kind", ["files", "file_key_ranges"])
def test_files_are_read_manifest_by_manifest_without_values(keyed, monkeypatch, created, kind):
    keyed.compact(full=True, where=col("p") == "a")
    keyed = keyed.refresh()
    created.clear()
    joined = keyed.system(kind).to_arrow()
    monkeypatch.setattr(live_manifests, "JOINED_FILES", 0)
    batches = list(keyed.system(kind).to_batches())
    assert len(batches) > 1
    assert pa.Table.from_batches(batches) == joined
    assert getattr(keyed.inspect, kind)() == joined
    assert pa.concat_tables([t for p in keyed.system(kind).parts() for t in keyed.system(kind).read(p)]) == joined
    assert created == []
    shown = keyed.system(kind, where=col("level") > 0).to_arrow()
    assert shown == joined.filter(pc.field("level") > 0)
    assert 0 < len(shown) < len(joined)


def test_a_limit_computes_no_further_part(keyed, monkeypatch):
    monkeypatch.setattr(live_manifests, "JOINED_FILES", 0)
    computed = []
    real = file_columns._makers

    def counted(context, entries):
        computed.append(len(entries))
        return real(context, entries)

    monkeypatch.setattr(file_columns, "_makers", counted)
    assert keyed.system("files", limit=1).count() == 1
    assert len(computed) == 1
    assert keyed.system("files").count() == sum(computed[1:])
    assert len(computed) > 2


def test_files_outside_of_the_table_and_names_without_a_format(catalog):
    table = catalog.create_table("db.e", "x INT")
    table.write([{"x": 1}])
    (entry,) = (e for columns in Source(table.context).each() for e in columns.entries())
    names = ("a.b.parquet", "plain", "é.orc")
    files = [replace(entry, file=replace(entry.file, file_name=name, file_source=None)) for name in names]
    files[1] = replace(files[1], file=replace(files[1].file, external_path="s3://other/plain", write_cols=("x",)))
    found = arrow_table(
        METADATA_TABLES["files"].fields(table.context),
        file_columns._makers(table.context, EntryColumns.of_entries(files)),
    )
    inside = f"{table.context.paths.root}/bucket-0"
    assert found["file_path"].to_pylist() == [f"{inside}/a.b.parquet", "s3://other/plain", f"{inside}/é.orc"]
    assert found["file_format"].to_pylist() == ["parquet", "plain", "orc"]
    assert found["file_name"].to_pylist() == list(names)
    assert found["write_cols"].to_pylist() == [None, ["x"], None]
    assert found["file_source"].to_pylist() == [None] * 3


def test_a_table_without_files_has_the_same_columns(catalog):
    table = catalog.create_table("db.none", "x INT")
    assert table.inspect.files().schema == table.system("files").to_arrow().schema
    assert (len(table.inspect.files()), table.system("files", limit=0).count()) == (0, 0)


@pytest.mark.parametrize("joined", [0, 10**6])
def test_sums_over_partitions_and_buckets_create_no_value_for_a_file(keyed, monkeypatch, joined):
    monkeypatch.setattr(live_manifests, "JOINED_FILES", joined)
    keyed.write([{"p": "a", "k": 9, "v": "x"}])
    monkeypatch.setattr(EntryColumns, "entries", None)
    partitions = keyed.system("partitions", ["partition", "record_count", "file_count", "total_buckets"]).to_arrow()
    assert [tuple(row.values()) for row in partitions.to_pylist()] == [("p=a", 5, 3, 2), ("p=b", 1, 1, 2)]
    buckets = keyed.system("buckets", ["partition", "bucket", "record_count", "sorted_runs"]).to_arrow()
    found = [tuple(row.values()) for row in buckets.to_pylist()]
    assert {(partition, bucket) for partition, bucket, *_ in found} == {("{a}", 0), ("{a}", 1), ("{b}", found[-1][1])}
    assert (sum(row[2] for row in found), sum(row[3] for row in found)) == (6, 4)
    files = keyed.inspect.files()
    times = dict(zip(files["partition"].to_pylist(), files["creation_time"].to_pylist(), strict=True))
    newest = keyed.system("partitions", ["last_update_time"]).to_arrow()["last_update_time"].to_pylist()
    assert newest[1] == times["{b}"]


def test_a_filter_on_the_texts_of_the_partitions_table_finds_its_rows(keyed):
    where = col("partition") == "p=b"
    assert keyed.system("partitions", ["record_count"], where=where).to_arrow()["record_count"].to_pylist() == [1]
    assert keyed.system("partitions", where=col("partition") == "{b}").to_arrow().num_rows == 0
