"""Whatever earlier plans a cache contains: a plan is equal to a plan with an empty cache, with its order and counts."""

from dataclasses import replace
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.options import TableOptions
from paimon_core.plan import kept_live
from paimon_core.plan.plan_scan import plan_scan
from paimon_core.predicate import col
from tests.support.examples import examples
from tests.support.manifest_tables import MetadataTable, data_file, fields_of, schema_of

FIELDS = fields_of(p="INT NOT NULL", k="INT NOT NULL", v="INT")
KEYED = schema_of(FIELDS, ["p", "k"], ["p"], bucket="2", source__split__target_size="25 mb")
LOG = schema_of(FIELDS, partition_by=["p"], source__split__target_size="25 mb")
FILTERS = (None, col("p") == 1, col("k") == 3, col("v") > 2, (col("p") != 0) & (col("v") < 2))

PLACES = st.tuples(st.integers(0, 2), st.integers(0, 1))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(PLACES, min_size=1, max_size=6)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("upgrade"), st.integers(0, 9)),
        st.tuples(st.just("merge"), st.sampled_from(["last", "all", "by size"])),
        st.tuples(st.just("go to"), st.integers(0, 9)),  # a rollback, or a branch that starts at an old version
        st.tuples(st.just("plan"), st.integers(0, 9)),  # time travel
    ),
    min_size=1,
    max_size=12,
)


class History:
    """Versions of a table, each with its manifests and live entries; a merge gives a version with the same entries."""

    def __init__(self, schema):
        self.table = MetadataTable(schema)
        self.store = self.table.manifests()
        self.versions = [((), ())]
        self.at = 0
        self.files = 0

    def apply(self, step, what):
        manifests, live = self.versions[self.at]
        if step == "go to":
            self.at = what % len(self.versions)
            return
        if step == "add":
            entries = [self.added(*place) for place in what]
        elif step == "merge" or not live:
            self.push(self.merged(manifests, what) if step == "merge" else manifests, live)
            return
        else:
            old = live[what % len(live)]
            entries = [replace(old, kind=FileKind.DELETE)]
            if step == "upgrade":
                entries.append(replace(old, file=replace(old.file, level=old.file.level + 1)))
        gone = {e.identity for e in entries if e.kind is FileKind.DELETE}
        left = [e for e in live if e.identity not in gone] + [e for e in entries if e.kind is FileKind.ADD]
        self.push((*manifests, *self.store.write_manifests(entries, 1 << 20)), tuple(left))

    def added(self, p, bucket):
        self.files += 1
        n = self.files
        file = data_file(self.table.schema, f"f{n}", p=(p, p), k=(n % 5, n % 5 + 1), v=(n % 4, n % 4))
        file = replace(file, min_sequence_number=n, max_sequence_number=n)
        return self.table.entry(file, p, bucket=bucket if self.table.schema.primary_keys else 0)

    def merged(self, manifests, how):
        merge = ManifestMerge(
            read=lambda m: self.store.read_manifest(m.file_name, m.file_size),
            write=lambda entries: self.store.write_manifests(entries, 1 << 20),
            may_hold=self.store.may_hold,
            target_bytes=1 << 20,
            min_count=2,
            full_bytes=1 if how == "all" else 1 << 40,
            partition_types=self.store.partition_types,
        )
        kept = manifests[:-2] if how == "last" else ()
        return (*kept, *merge.merge(manifests[len(kept) :]))

    def push(self, manifests, live):
        self.versions.append((tuple(manifests), live))
        self.at = len(self.versions) - 1

    def snapshot(self, at):
        manifests, _ = self.versions[at % len(self.versions)]
        base, delta = self.store.write_list(manifests[:-1])[0], self.store.write_list(manifests[-1:])[0]
        return Snapshot(at + 1, 0, base, delta, "user", 1, CommitKind.APPEND, 1_700_000_000_000, 0, 0)

    def plan(self, snapshot, where, store):
        schema = self.table.schema
        return plan_scan(
            snapshot=snapshot,
            schema=schema,
            options=TableOptions.parse(schema.options),
            manifests=store,
            schemas={0: schema}.__getitem__,
            where=where,
        )


@settings(max_examples=examples(60), deadline=None)
@given(
    steps=STEPS,
    schema=st.sampled_from([KEYED, LOG]),
    where=st.sampled_from(FILTERS),
    share=st.sampled_from([1, 2, 16]),
    memory=st.sampled_from([1, 20_000, 1 << 30]),
)
def test_a_kept_plan_is_equal_to_a_plan_from_nothing(steps, schema, where, share, memory):
    history = History(schema)
    history.store.cache = ManifestCache(max_bytes=memory)
    settings_ = {"LEAST_FILES": 0, "NEWER_SHARE": share, "CHANGED_SHARE": 1, "UNKEPT_FILES": 8}
    with mock.patch.multiple(kept_live, **settings_):
        for step, what in steps:
            if step != "plan":
                history.apply(step, what)
            at = what % len(history.versions) if step == "plan" else history.at
            snapshot, live = history.snapshot(at), history.versions[at][1]
            for chosen in (None, where):
                kept = history.plan(snapshot, chosen, history.store)
                with mock.patch.object(kept_live, "LEAST_FILES", 1 << 40):
                    fresh = history.plan(snapshot, chosen, history.table.manifests())
                assert kept.splits == fresh.splits
                assert replace(kept.counts, manifests_read=0) == replace(fresh.counts, manifests_read=0)
                if chosen is None:
                    assert sorted(f.file_name for f in kept.files) == sorted(e.file.file_name for e in live)
