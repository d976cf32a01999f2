from dataclasses import replace
from datetime import date

import pytest

from paimon_core.errors import CorruptTable, SchemaMismatch, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.column_stats import EMPTY_ROW
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.index_manifest import IndexEntry, IndexFile, VectorRange
from paimon_core.metadata.stores import manifest_store
from paimon_core.options import TableOptions
from paimon_core.plan.explanation import explain_plan
from paimon_core.plan.plan_scan import plan_scan
from paimon_core.plan.split import Split
from paimon_core.predicate import col
from tests.support.manifest_tables import MetadataTable, data_file, fields_of, names, schema_of

LOG = schema_of(fields_of(a="INT", b="STRING"))
EVENTS = schema_of(fields_of(day="DATE", a="INT", b="STRING"), partition_by=["day"])
KEYED = schema_of(fields_of(k="INT NOT NULL", v="INT"), primary_key=["k"], bucket="4")
MAY_1 = 20574


def keyed(name, low, high, level=5, v=(0, 9)):
    return replace(data_file(KEYED, name, k=(low, high), v=v), level=level)


def test_no_snapshot_is_an_empty_plan():
    plan = plan_scan(
        snapshot=None,
        schema=LOG,
        options=TableOptions.parse({}),
        manifests=MetadataTable(LOG).manifests(),
        schemas={0: LOG}.__getitem__,
        where=col("a") == 1,
    )
    assert (plan.splits, plan.files, plan.row_count) == ((), (), 0)
    assert "no snapshot" in str(explain_plan(plan))


def test_a_filter_is_checked_before_anything_is_read():
    with pytest.raises(SchemaMismatch, match="'z'"):
        plan_scan(
            snapshot=None,
            schema=LOG,
            options=TableOptions.parse({}),
            manifests=MetadataTable(LOG).manifests(),
            schemas={0: LOG}.__getitem__,
            where=col("z") == 1,
        )


def test_every_live_file_is_read_and_no_deleted_one():
    table = MetadataTable(LOG)
    old, new = data_file(LOG, "old"), data_file(LOG, "new")
    table.commit(table.entry(old), table.entry(data_file(LOG, "kept")))
    table.commit(table.entry(old, kind=FileKind.DELETE), table.entry(new))
    plan = table.plan()
    assert names(plan) == ["kept", "new"]
    assert plan.counts.files_total == plan.counts.files_selected == 2
    assert [(s.raw, s.snapshot_id, s.bucket, s.total_buckets) for s in plan.splits] == [(True, 7, 0, -1)]


def test_splits_never_mix_partitions_or_buckets():
    table = MetadataTable(KEYED)
    table.commit(*(table.entry(keyed(f"b{b}", 0, 9), bucket=b) for b in range(4)))
    assert sorted((s.bucket, len(s.files)) for s in table.plan().splits) == [(0, 1), (1, 1), (2, 1), (3, 1)]


def test_only_some_buckets():
    table = MetadataTable(KEYED)
    table.commit(table.entry(keyed("b0", 0, 9), bucket=0), table.entry(keyed("b1", 0, 9), bucket=1))
    table.commit(table.entry(keyed("b3", 0, 9), bucket=3))
    plan = table.plan(buckets={1})
    assert names(plan) == ["b1"]
    assert (plan.counts.manifests_read, plan.counts.pruned_by_bucket) == (1, 2)
    assert names(table.plan(buckets={1, 3})) == ["b1", "b3"]


@pytest.mark.parametrize(("low", "high"), [(None, 0), (3, None), (None, None)])
def test_a_manifest_that_does_not_state_its_range_of_buckets_is_opened(low, high):
    table = MetadataTable(KEYED)
    table.commit(table.entry(keyed("b1", 0, 9), bucket=1))
    store, snapshot = table.manifests(), table.snapshot()
    (manifest,) = store.manifests_of(snapshot)
    delta, size = store.write_list([replace(manifest, min_bucket=low, max_bucket=high)])
    plan = table.plan(buckets={1}, snapshot=replace(snapshot, delta_manifest_list=delta, delta_manifest_list_size=size))
    assert names(plan) == ["b1"]


def test_the_number_of_files_is_at_least_what_is_found_when_the_manifests_state_less():
    table = MetadataTable(KEYED)
    gone = [table.entry(keyed(f"gone-{n}", 0, 9), kind=FileKind.DELETE) for n in range(4)]
    kept = [table.entry(keyed(f"b{b}", 0, 9), bucket=b) for b in (0, 1)]
    table.commit(*kept, table.entry(keyed("high", 50, 90)), *gone)
    plan = table.plan(col("k") < 5, buckets={0})
    assert (plan.counts.files_selected, plan.counts.pruned_by_bucket, plan.counts.pruned_by_key) == (1, 1, 1)
    assert (plan.counts.files_total, plan.counts.pruned_by_partition) == (3, 0)


def test_partitions_are_pruned_by_manifest_then_by_entry():
    table = MetadataTable(EVENTS)
    table.commit(*(table.entry(data_file(EVENTS, f"m{day}"), MAY_1 + day) for day in range(3)))
    table.commit(table.entry(data_file(EVENTS, "later"), MAY_1 + 9), table.entry(data_file(EVENTS, "never"), None))
    plan = table.plan((col("day") >= "2026-05-02") & (col("day") < "2026-05-09"))
    assert names(plan) == ["m1", "m2"]
    assert (plan.counts.manifests_read, plan.counts.manifests_total) == (1, 2)
    assert (plan.counts.pruned_by_partition, plan.counts.files_total) == (3, 5)
    assert names(table.plan(col("day").is_null())) == ["never"]
    assert names(table.plan(~(col("day") == "2026-05-01"))) == ["later", "m1", "m2"]


def test_a_deleted_file_of_a_pruned_partition_stays_deleted():
    table = MetadataTable(EVENTS)
    gone = data_file(EVENTS, "gone")
    table.commit(table.entry(gone, MAY_1), table.entry(data_file(EVENTS, "other"), MAY_1 + 5))
    table.commit(table.entry(gone, MAY_1, kind=FileKind.DELETE))
    assert names(table.plan(col("day") == "2026-05-01")) == []
    assert names(table.plan(col("day") > "2026-05-01")) == ["other"]


def test_buckets_are_pruned_by_the_hash_of_the_key():
    # format 6.5: of 4 buckets, 1 lies in bucket 2, 42 in bucket 1 and -5 in bucket 3; 42 of 2 buckets in bucket 1.
    table = MetadataTable(KEYED)
    table.commit(*(table.entry(keyed(f"b{b}", -99, 99), bucket=b) for b in range(4)))
    assert names(table.plan(col("k") == 1)) == ["b2"]
    assert names(table.plan(col("k").is_in([42, -5]))) == ["b1", "b3"]
    assert names(table.plan((col("k") == 1) | (col("k") == 42))) == ["b1", "b2"]
    assert names(table.plan((col("k") == 1) | (col("v") == 1))) == ["b0", "b1", "b2", "b3"]
    assert table.plan(col("k") == 1).counts.pruned_by_bucket == 3


def test_each_entry_is_hashed_by_its_own_number_of_buckets():
    table = MetadataTable(KEYED)
    table.commit(*(table.entry(keyed(f"of2-{b}", 0, 99), bucket=b, total_buckets=2) for b in range(2)))
    table.commit(*(table.entry(keyed(f"dynamic-{b}", 0, 99), bucket=b, total_buckets=-1) for b in range(2)))
    assert names(table.plan(col("k") == 42)) == ["dynamic-0", "dynamic-1", "of2-1"]


def test_no_bucket_is_pruned_without_a_value_of_every_bucket_key():
    schema = schema_of(fields_of(a="INT NOT NULL", b="INT NOT NULL"), primary_key=["a", "b"], bucket="2")
    table = MetadataTable(schema)
    table.commit(*(table.entry(data_file(schema, str(b), a=(0, 9), b=(0, 9)), bucket=b) for b in range(2)))
    assert len(table.plan(col("a") == 1).files) == 2
    assert len(table.plan((col("a") == 1) & (col("b") == 2)).files) == 1


def test_key_ranges_prune_single_files():
    table = MetadataTable(KEYED)
    table.commit(
        table.entry(keyed("low", 0, 9)), table.entry(keyed("high", 10, 19)), table.entry(keyed("new", 5, 15, 0))
    )
    plan = table.plan(col("k") < 5)
    assert names(plan) == ["low"]
    assert plan.splits[0].raw
    assert plan.counts.pruned_by_key == 2


def test_values_never_prune_one_of_two_files_that_may_share_a_key():
    table = MetadataTable(KEYED)
    table.commit(table.entry(keyed("old", 0, 9, v=(1, 1))), table.entry(keyed("new", 5, 15, 0, v=(2, 2))))
    plan = table.plan(col("v") == 1)
    assert names(plan) == ["new", "old"]
    assert not plan.splits[0].raw
    assert names(table.plan(col("v") == 3)) == []
    assert table.plan(col("v") == 3).counts.pruned_by_value == 2


def test_values_prune_single_files_of_one_level():
    table = MetadataTable(KEYED)
    table.commit(table.entry(keyed("a", 0, 9, v=(1, 1))), table.entry(keyed("b", 10, 19, v=(2, 2))))
    assert names(table.plan(col("v") == 1)) == ["a"]


def test_values_prune_single_append_files():
    table = MetadataTable(LOG)
    table.commit(table.entry(data_file(LOG, "a", a=(0, 9), b=("a", "m"))))
    table.commit(table.entry(data_file(LOG, "b", a=(10, 19), b=("n", "z"))))
    assert names(table.plan(col("a") > 9)) == ["b"]
    assert names(table.plan((col("a") > 9) & (col("b") < "n"))) == []
    assert table.plan(col("a") > 9).counts.pruned_by_value == 1


def test_split_options():
    table = MetadataTable(schema_of(LOG.fields, source__split__target_size="25 mb"))
    table.commit(*(table.entry(data_file(LOG, str(at))) for at in range(5)))
    assert [len(s.files) for s in table.plan().splits] == [2, 2, 1]


def test_the_postpone_bucket_is_not_read():
    table = MetadataTable(KEYED)
    table.commit(table.entry(keyed("later", 0, 9, 0), bucket=-2, total_buckets=-2), table.entry(keyed("now", 0, 9)))
    assert names(table.plan()) == ["now"]
    assert table.plan().counts.pruned_by_bucket == 1


def first_row(*files):
    table = MetadataTable(schema_of(KEYED.fields, ["k"], bucket="4", merge_engine="first-row"))
    table.commit(*map(table.entry, files))
    return table.plan()


def test_level_0_of_a_first_row_table_awaits_compaction():
    plan = first_row(keyed("new", 0, 9, 0), keyed("old", 0, 9))
    assert names(plan) == ["old"]
    assert (plan.counts.awaiting_compaction, plan.counts.files_total, plan.counts.pruned_by_partition) == (1, 2, 0)


def test_a_first_row_table_is_merged_only_when_one_of_its_files_has_deletes():
    files = keyed("a", 0, 9, 4), keyed("b", 5, 15)
    assert [s.raw for s in first_row(*files).splits] == [True]
    assert [s.raw for s in first_row(replace(files[0], delete_row_count=1), files[1]).splits] == [False]


def test_a_file_of_some_columns_is_refused():
    table = MetadataTable(LOG)
    table.commit(table.entry(replace(data_file(LOG, "part"), write_cols=("a",))))
    with pytest.raises(UnsupportedFeature, match="part"):
        table.plan()


def with_indexes(table, *files):
    name = table.manifests().write_indexes([IndexEntry(EMPTY_ROW, 0, file) for file in files])
    return table.snapshot(index_manifest=name)


def vectors(*ranges, name="index-1"):
    return IndexFile("DELETION_VECTORS", name, 90, len(ranges), tuple(ranges))


def test_splits_have_the_vectors_of_their_files_and_hash_indexes_are_passed_over():
    table = MetadataTable(LOG)
    table.commit(table.entry(data_file(LOG, "a")), table.entry(data_file(LOG, "b")))
    of_b = VectorRange("b", 1, 30, 4)
    plan = table.plan(snapshot=with_indexes(table, IndexFile("HASH", "index-0", 40, 10), vectors(of_b)))
    (split,) = plan.splits
    assert (dict(split.vectors), split.row_count, split.is_counted) == ({"b": ("index-1", of_b)}, 16, True)
    assert Split.from_bytes(split.to_bytes()) == split
    unknown = table.plan(snapshot=with_indexes(table, vectors(replace(of_b, cardinality=None))))
    assert (unknown.splits[0].row_count, unknown.splits[0].is_counted) == (20, False)


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ([vectors(VectorRange("a", 1, 30, 11))], CorruptTable),
        ([vectors(VectorRange("a", 1, 30, 1)), vectors(VectorRange("a", 1, 30, 1), name="index-2")], CorruptTable),
        ([replace(vectors(VectorRange("a", 1, 30, 1)), external_path="s3://x/y")], UnsupportedFeature),
    ],
    ids=["too many rows", "two vectors", "elsewhere"],
)
def test_vectors_that_cannot_be_right_are_refused(files, error):
    table = MetadataTable(LOG)
    table.commit(table.entry(data_file(LOG, "a")))
    with pytest.raises(error, match="index"):
        table.plan(snapshot=with_indexes(table, *files))


@pytest.mark.parametrize(
    ("options", "raw", "awaiting"), [({}, True, 1), ({"deletion_vectors__merge_on_read": "true"}, False, 0)]
)
def test_with_vectors_level_0_is_hidden_or_merged(options, raw, awaiting):
    table = MetadataTable(schema_of(KEYED.fields, ["k"], bucket="4", **{"deletion_vectors__enabled": "true"} | options))
    table.commit(*map(table.entry, (keyed("new", 0, 9, 0), keyed("a", 0, 9, 4), keyed("b", 5, 15))))
    plan = table.plan()
    assert ([s.raw for s in plan.splits], plan.counts.awaiting_compaction) == ([raw], awaiting)


def test_a_missing_manifest_is_corruption_while_the_snapshot_is_there_and_expiry_when_it_is_not():
    table = MetadataTable(LOG)
    table.commit(table.entry(data_file(LOG, "a")))
    snapshot = table.snapshot()
    table.storage.delete(f.path for f in table.storage.list(table.paths.manifest_directory))
    with pytest.raises(SnapshotNotFound, match="snapshot 7"):
        table.plan(snapshot=snapshot)
    table.storage.write(table.paths.snapshot(7), snapshot.to_json().encode())
    with pytest.raises(CorruptTable, match="is missing"):
        table.plan(snapshot=snapshot)


def test_an_index_manifest_that_is_missing_or_torn_is_corruption():
    table = MetadataTable(LOG)
    table.commit(table.entry(data_file(LOG, "a")))
    snapshot = table.snapshot(index_manifest="index-manifest-2")
    table.storage.write(table.paths.snapshot(7), snapshot.to_json().encode())
    with pytest.raises(CorruptTable, match="index-manifest-2 is missing"):
        table.plan(snapshot=snapshot)
    table.storage.write(table.paths.manifest("index-manifest-2"), b"Obj\x01torn")
    with pytest.raises(CorruptTable, match="index-manifest-2"):
        table.plan(snapshot=table.snapshot(index_manifest="index-manifest-2"))


def test_partition_bytes_that_do_not_decode_are_corruption_of_the_manifest():
    table = MetadataTable(EVENTS)
    table.commit(table.entry(data_file(EVENTS, "a"), MAY_1))
    (entry,) = table.entries[0]
    table.entries[0] = [entry, replace(entry, partition=b"\x00\x00\x00\x02", file=data_file(EVENTS, "b"))]
    store = table.manifests()
    store.partition_types = ()  # the partition is written without the checks of a correct writer
    (manifest,) = store.write_manifests(table.entries[0], 1 << 20)
    base, delta = store.write_list([manifest])[0], store.write_list([])[0]
    table.entries = [[entry]]
    snapshot = replace(
        table.snapshot(),
        base_manifest_list=base,
        delta_manifest_list=delta,
        base_manifest_list_size=None,
        delta_manifest_list_size=None,
    )
    with pytest.raises(CorruptTable, match=manifest.file_name):
        table.plan(col("day") == "2026-05-01", snapshot=snapshot)


@pytest.mark.parametrize(
    ("sql", "values", "where"),
    [
        ("INT", [1, 256, None, 2**24], col("p") == 256),
        ("STRING", ["a", "longer than a slot", None, "é"], col("p") == "longer than a slot"),
        ("STRING", ["a", "longer than a slot", None, "é"], col("p").is_in(["a", "é"])),
        ("DATE", [1, None, 256], col("p").is_null() | (col("p") == date(1970, 9, 14))),
        ("DOUBLE", [0.0, -0.0, 1.0], col("p") == 0),
    ],
)
def test_one_partition_of_a_large_manifest_is_found(monkeypatch, sql, values, where):
    schema = schema_of(fields_of(p=sql, a="INT"), partition_by=["p"])
    table = MetadataTable(schema)
    table.commit(*(table.entry(data_file(schema, f"{v}{n}"), v) for n in range(300) for v in values))
    whole = names(table.plan(where=where))
    monkeypatch.setattr(manifest_store, "WHOLE_BYTES", 0)
    assert names(table.plan(where=where)) == whole
    assert 0 < len(whole) < 300 * len(values)


def test_one_packing_of_a_snapshot_is_kept_and_counts_as_memory():
    table = MetadataTable(LOG)
    table.commit(*(table.entry(data_file(LOG, name)) for name in ("a", "b")))
    manifests, snapshot = table.manifests(), table.snapshot()
    for size in ("1 mb", "2 mb"):
        plan_scan(
            snapshot=snapshot,
            schema=LOG,
            options=TableOptions.parse({"source.split.target-size": size}),
            manifests=manifests,
            schemas={0: LOG}.__getitem__,
        )
    (_, files), (_, parts) = manifests.cache._computed.items()
    assert parts.older is files.table
    assert len(files.table.packed) == 1
    assert manifests.cache.nbytes > files.table.entry_bytes
