"""Plans on columns equal a simple plan on values, for random tables and filters."""

import random
from dataclasses import replace

import pytest

from paimon_core.errors import CorruptTable
from paimon_core.lsm.key_order import key_order
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.manifest_file import live_entries
from paimon_core.metadata.stores import manifest_store
from paimon_core.options import COMBINING_ENGINES, TableOptions
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.plan.prune import Pruners
from paimon_core.plan.split import Packing, pack_append, pack_keyed
from paimon_core.predicate import col
from tests.support.lsm_files import is_clean
from tests.support.manifest_tables import MetadataTable, data_file, fields_of, schema_of, without_stats

COLUMNS = {"p": "STRING", "k": "INT NOT NULL", "v": "INT", "x": "DOUBLE", "s": "STRING"}


def schemas_of(**options):
    """The current schema, in which v is wider and s has another name, and the one before."""
    table = {"partition_by": ["p"], **options}
    old = schema_of(fields_of(**COLUMNS), **table)
    new = {"p": "STRING", "k": "INT NOT NULL", "v": "BIGINT=2", "x": "DOUBLE=3", "t": "STRING=4", "n": "INT=5"}
    return old, schema_of(fields_of(**new), schema_id=1, **table)


def reference(table, where, buckets):
    """The splits as (partition, bucket, total buckets, files, layout), planned file by file."""
    schema = table.schema
    options = TableOptions.parse(schema.options)
    pruners = Pruners.of(where, schema, options, {s.id: s for s in (*table.older, schema)}.__getitem__)
    unique = hides_level_0(schema, options)
    grouped = {}
    for e in live_entries(e for entries in table.entries for e in entries):
        if (
            (pruners.partition is None or pruners.partition.keeps(e.partition))
            and (buckets is None or e.bucket in buckets)
            and (pruners.bucket is None or pruners.bucket.keeps(e.bucket, e.total_buckets, e.file.schema_id))
            and (pruners.key is None or pruners.key.keeps(e.file))
            and not (unique and e.file.level == 0)
        ):
            grouped.setdefault((e.partition, e.bucket), []).append(e)
    packing = Packing(options["source.split.target-size"], options["source.split.open-file-cost"])
    out = []
    for (partition, bucket), entries in grouped.items():
        files = [e.file for e in entries]
        may_match = None
        if pruners.value is not None:
            may_match = lambda f, partition=partition: pruners.value.keeps(partition, f)  # noqa: E731
        if not schema.primary_keys or (unique and all(map(is_clean, files))):
            packed = pack_append([f for f in files if may_match is None or may_match(f)], packing)
        else:
            order = key_order([f.type for f in schema.key_fields])
            combines = options["merge-engine"] in COMBINING_ENGINES
            packed = pack_keyed(files, order, packing, may_match, is_clean=is_clean, combines=combines)
        out += [(partition, bucket, entries[0].total_buckets, files, layout) for files, layout in packed]
    return out


def random_table(numbers, old, new):
    table = MetadataTable(new, (old,))
    live = []
    totals = {p: numbers.choice([2, 4]) for p in ("a", "long partition", None)}
    for commit in range(6):
        entries = []
        for number in range(numbers.randrange(1, 12)):
            partition = numbers.choice(list(totals))
            entries.append(
                table.entry(
                    random_file(
                        numbers, f"f{commit}-{number}", numbers.choice([old, new]), keyed=bool(new.primary_keys)
                    ),
                    partition,
                    bucket=numbers.randrange(totals[partition]),
                    total_buckets=totals[partition],
                )
            )
        gone = [e for e in live if numbers.random() < 0.2]
        if commit == 3:  # a rescale of one partition
            gone += [e for e in live if e.partition == table.partition("a") and e not in gone]
            entries = [e for e in entries if e.partition != table.partition("a")]
            totals["a"] = 3
        live = [e for e in live if e not in gone] + entries
        table.commit(*entries, *(replace(e, kind=FileKind.DELETE) for e in gone))
    return table


def random_file(numbers, name, schema, *, keyed):
    k, v = numbers.randrange(30), numbers.randrange(10)
    x = numbers.choice([(0.0, 5.0), (-0.0, float("nan")), (float("nan"), float("nan")), (None, None)])
    text = {"s" if schema.id == 0 else "t": numbers.choice([("a", "b"), ("é", "longer than a slot"), (None, None)])}
    file = data_file(schema, name, k=(k, k + numbers.randrange(5)), v=(v, v + 3), x=x, **text)
    if numbers.random() < 0.2:
        file = replace(without_stats(file), key_stats=file.key_stats)
    sequence = numbers.randrange(1000)
    return replace(
        file,
        file_size=numbers.choice([1, 10 << 20, 60 << 20, 200 << 20]),
        level=numbers.choice([0, 0, 1, 5]) if keyed else 0,
        min_sequence_number=sequence,
        max_sequence_number=sequence + 9,
        delete_row_count=numbers.choice([0, 0, 0, 2, None]) if keyed else None,
    )


WHERES = [
    None,
    col("p") == "a",
    col("p").is_null(),
    col("p").is_in(["a", "long partition"]) & (col("k") == 7),
    (col("p") == "a") | (col("v") < 3),
    col("k") < 5,
    (col("x") > 4.0) & (col("v") >= 4),
    col("t") == "é",
    col("n") == 1,
    col("n").is_null() & (col("t") >= "c"),
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"primary_key": ["p", "k"], "bucket": "4"},
        {"primary_key": ["p", "k"], "bucket": "4", "merge_engine": "aggregation"},
        {"primary_key": ["p", "k"], "bucket": "4", "merge_engine": "first-row"},
    ],
    ids=["append", "deduplicate", "aggregation", "first-row"],
)
def test_plans_of_random_tables(monkeypatch, options):
    numbers = random.Random(7)
    monkeypatch.setattr(manifest_store, "WHOLE_BYTES", 0)
    for _ in range(3):
        table = random_table(numbers, *schemas_of(**options))
        snapshot = table.snapshot()
        for where in WHERES:
            for buckets in (None, {1, 2}):
                plan = table.plan(where, buckets, snapshot)
                found = [(s.partition, s.bucket, s.total_buckets, s.files, s.layout) for s in plan.splits]
                assert found == reference(table, where, buckets)
                assert plan.counts.files_selected == len(plan.files)
                assert plan.row_count == sum(f.row_count for f in plan.files)


def test_corrupt_statistics_are_told_with_their_file():
    _, new = schemas_of()
    table = MetadataTable(new)
    bad = data_file(new, "bad", k=(1, 2), v=(1, 2))
    stats = ColumnStats(bad.value_stats.min_values[:-8], bad.value_stats.max_values, bad.value_stats.null_counts)
    table.commit(table.entry(data_file(new, "good", k=(1, 2)), "a"), table.entry(replace(bad, value_stats=stats), "a"))
    with pytest.raises(CorruptTable, match="statistics of bad"):
        table.plan(col("v") == 9)
