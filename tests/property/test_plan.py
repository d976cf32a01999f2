"""Whatever a filter prunes: the splits of the plan, read and filtered, give exactly the selected rows of the table."""

from dataclasses import replace

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.codec.binary_row.bucket_hash import bucket_of, hash_rows
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.predicate import col
from tests.support.examples import examples
from tests.support.manifest_tables import MetadataTable, data_file, fields_of, schema_of

FIELDS = fields_of(p="INT NOT NULL", k="INT NOT NULL", v="INT")
BUCKETS = 2
KEYED = schema_of(FIELDS, ["p", "k"], ["p"], bucket=str(BUCKETS), source__split__target_size="25 mb")
LOG = schema_of(FIELDS, partition_by=["p"], source__split__target_size="25 mb")
TOP = 5


def build(tree):
    match tree:
        case ("not", inner):
            return ~build(inner)
        case ("and", left, right):
            return build(left) & build(right)
        case ("or", left, right):
            return build(left) | build(right)
    op, name, value = tree
    column = col(name)
    if op == "null":
        return column.is_null()
    if op == "in":
        return column.is_in([value, value + 2])
    return {"==": column == value, "<": column < value, ">=": column >= value}[op]


LEAVES = st.tuples(st.sampled_from(["==", "<", ">=", "in", "null"]), st.sampled_from("pkvv"), st.integers(0, 3))
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
    ),
    max_leaves=3,
).map(build)

LOOKUPS = st.lists(st.integers(0, 3), min_size=1, max_size=2).map(lambda keys: col("k").is_in(keys))

# A flush: rows by (p, k), each (kind, v); None: a full compaction.
FLUSHES = st.lists(
    st.none()
    | st.dictionaries(
        st.tuples(st.integers(0, 1), st.integers(0, 3)),
        st.tuples(st.sampled_from(["+I", "+I", "-D"]), st.none() | st.integers(0, 3)),
        min_size=1,
        max_size=4,
    ),
    max_size=6,
)


def bucket(k):
    return int(bucket_of(hash_rows([pa.array([k], pa.int32())], [FIELDS[1].type]), BUCKETS)[0])


class Lake:
    """The metadata of a table, and the rows (p, k, v, sequence, kind) of each file."""

    def __init__(self, schema):
        self.table = MetadataTable(schema)
        self.rows = {}
        self.live = {}
        self.sequence = 0

    def add(self, rows, level):
        """Add one file with rows of one bucket."""
        name = f"data-{len(self.rows)}"
        self.rows[name] = rows
        bounds = {}
        for at, column in enumerate("pkv"):
            known = [row[at] for row in rows if row[at] is not None]
            bounds[column] = (min(known, default=None), max(known, default=None))
        file = data_file(self.table.schema, name, **bounds)
        nulls = tuple(sum(row[at] is None for row in rows) for at in range(3))
        file = replace(
            file,
            level=level,
            row_count=len(rows),
            delete_row_count=sum(row[4] == "-D" for row in rows),
            value_stats=replace(file.value_stats, null_counts=nulls),
            min_sequence_number=min(row[3] for row in rows),
            max_sequence_number=max(row[3] for row in rows),
        )
        p, k = rows[0][:2]
        entry = self.table.entry(file, p, bucket=bucket(k) if self.table.schema.primary_keys else 0)
        self.live[name] = entry
        return entry

    def flush(self, flushed):
        buckets = {}
        for (p, k), (kind, v) in sorted(flushed.items()):
            kind = kind if self.table.schema.primary_keys else "+I"
            buckets.setdefault((p, bucket(k)), []).append((p, k, v, self.sequence, kind))
            self.sequence += 1
        self.table.commit(*(self.add(rows, 0) for rows in buckets.values()))

    def compact(self):
        before = list(self.live.values())
        rows = [row for e in before for row in self.rows[e.file.file_name]]
        self.live = {}
        buckets = {}
        for row in sorted(fold(rows)):
            buckets.setdefault((row[0], bucket(row[1])), []).append(row)
        after = [self.add(some[at : at + 2], TOP) for some in buckets.values() for at in range(0, len(some), 2)]
        if before:
            self.table.commit(*(replace(e, kind=FileKind.DELETE) for e in before), *after)

    def read(self, plan):
        out = []
        for split in plan.splits:
            assert {self.live[f.file_name].partition for f in split.files} == {split.partition}
            groups = [split.files] if split.raw else [[f for r in runs for f in r.files] for runs in split.sections]
            for files in groups:
                rows = [row for f in files for row in self.rows[f.file_name]]
                out += rows if split.raw else fold(rows)
        return out


def fold(rows):
    """Return the newest row of each key, without deletes."""
    newest = {}
    for row in sorted(rows, key=lambda row: row[3]):
        newest[row[:2]] = row
    return [row for row in newest.values() if row[4] != "-D"]


def selected(where, rows):
    """Return the rows that the filter selects, sorted, as Arrow evaluates it."""
    table = pa.table({f.name: pa.array([r[at] for r in rows], pa.int32()) for at, f in enumerate(FIELDS)})
    kept = table.append_column("at", pa.array(range(len(rows)), pa.int64())).filter(where.bind(FIELDS).to_arrow())
    return sorted((rows[at][:4] for at in kept["at"].to_pylist()), key=lambda row: row[3])


@settings(deadline=None, max_examples=examples(200))
@given(FLUSHES, FILTERS | LOOKUPS)
def test_a_keyed_table_keeps_every_row_that_is_asked_for(flushes, where):
    lake = Lake(KEYED)
    for flushed in flushes:
        lake.compact() if flushed is None else lake.flush(flushed)
    everything = fold([row for name in lake.live for row in lake.rows[name]])
    plan = lake.table.plan(where)
    assert selected(where, lake.read(plan)) == selected(where, everything)
    counts = plan.counts
    assert counts.files_total == len(lake.live)
    pruned = counts.pruned_by_partition + counts.pruned_by_bucket + counts.pruned_by_key + counts.pruned_by_value
    assert counts.files_selected == len(plan.files) == len(lake.live) - pruned


@settings(deadline=None, max_examples=examples(60))
@given(FLUSHES, FILTERS)
def test_an_append_table_keeps_every_row_that_is_asked_for(flushes, where):
    lake = Lake(LOG)
    for flushed in flushes:
        if flushed is not None:
            lake.flush(flushed)
    everything = [row for rows in lake.rows.values() for row in rows]
    assert selected(where, lake.read(lake.table.plan(where))) == selected(where, everything)
