import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.lsm.changelog import RowComparison
from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.engines.first_row import FirstRow
from paimon_core.lsm.engines.partial_update import PartialUpdate
from paimon_core.lsm.key_groups import group, key_codes
from paimon_core.lsm.lookup import LEVEL, GroupLevels
from tests.support.examples import examples

INSERT, BEFORE, AFTER, DELETE = 0, 1, 2, 3
COLUMNS = ("_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "v")


def arranged(*values):
    """Return rows of (key, sequence number, kind, value, level), those of a key in merge order, and their groups."""
    types = (pa.int64(), pa.int64(), pa.int8(), pa.string(), pa.int8())
    columns = zip(*values, strict=True) if values else [()] * 5
    rows = pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=[*COLUMNS, LEVEL])
    return rows, group(key_codes(rows, ["_KEY_k"]), None)


def plain(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def full(*values, compared=None):
    return RowComparison(Deduplicate(), COLUMNS, compared).by_last_level(*arranged(*values), 5)


def lookup(*values, compared=None, changelog=True):
    return by_state(Deduplicate(), *values, compared=compared, changelog=changelog)


def by_state(engine, *values, compared=None, changelog=True):
    rows, groups = arranged(*values)
    levels = GroupLevels.of(rows, groups)
    return RowComparison(engine, COLUMNS, compared).by_state(rows, groups, levels, changelog=changelog)


@pytest.mark.parametrize(
    ("rows", "changelog"),
    [
        ([(1, 0, INSERT, "a", 0)], [(1, 0, INSERT, "a")]),
        ([(1, 0, AFTER, "a", 3)], [(1, 0, INSERT, "a")]),
        ([(1, 0, INSERT, "a", 5)], []),
        ([(1, 0, DELETE, "a", 0)], []),
        ([(1, 0, INSERT, "a", 5), (1, 4, INSERT, "b", 0)], [(1, 0, BEFORE, "a"), (1, 4, AFTER, "b")]),
        ([(1, 0, INSERT, "a", 5), (1, 4, DELETE, "a", 0)], [(1, 0, DELETE, "a")]),
        ([(1, 0, INSERT, "a", 3), (1, 4, INSERT, "b", 0)], [(1, 4, INSERT, "b")]),
        ([(1, 0, INSERT, "a", 3), (1, 4, BEFORE, "a", 0)], []),
    ],
)
def test_full_compaction_compares_with_the_last_level(rows, changelog):
    merged = full(*rows)
    assert plain(merged.changelog) == changelog
    assert plain(merged.rows) == [rows[-1][:4]]


@pytest.mark.parametrize(
    ("rows", "changelog"),
    [
        ([(1, 0, INSERT, "a", 0)], [(1, 0, INSERT, "a")]),
        ([(1, 0, INSERT, "a", 3)], []),
        ([(1, 0, INSERT, "a", 5), (1, 3, INSERT, "b", 3)], []),
        ([(1, 0, DELETE, "a", 0)], []),
        ([(1, 0, INSERT, "a", 3), (1, 4, AFTER, "b", 0)], [(1, 0, BEFORE, "a"), (1, 4, AFTER, "b")]),
        ([(1, 0, INSERT, "a", 5), (1, 2, DELETE, "a", 3), (1, 4, AFTER, "b", 0)], [(1, 4, INSERT, "b")]),
        ([(1, 0, DELETE, "a", 3), (1, 4, DELETE, "a", 0)], []),
        ([(1, 0, INSERT, "a", 3), (1, 3, AFTER, "b", 0), (1, 4, DELETE, "b", 0)], [(1, 0, DELETE, "a")]),
    ],
)
def test_a_lookup_compares_with_the_state(rows, changelog):
    merged = lookup(*rows)
    assert plain(merged.changelog) == changelog
    assert plain(merged.rows) == [rows[-1][:4]]
    assert lookup(*rows, changelog=False).changelog is None


def test_changelog_rows_come_in_key_order():
    merged = lookup(
        (1, 0, INSERT, "a", 3),
        (1, 5, AFTER, "b", 0),
        (2, 6, INSERT, "c", 0),
        (3, 1, INSERT, "d", 3),
        (3, 7, DELETE, "d", 0),
        (4, 2, INSERT, "e", 3),
        (4, 8, AFTER, "f", 0),
    )
    assert [(row[0], row[2], row[3]) for row in plain(merged.changelog)] == [
        (1, BEFORE, "a"),
        (1, AFTER, "b"),
        (2, INSERT, "c"),
        (3, DELETE, "d"),
        (4, BEFORE, "e"),
        (4, AFTER, "f"),
    ]


def test_rows_that_stay_the_same_may_give_no_pair():
    same = [(1, 0, INSERT, "a", 5), (1, 4, AFTER, "a", 0), (2, 1, INSERT, None, 5), (2, 5, AFTER, None, 0)]
    for step in (full, lookup):
        assert len(step(*same).changelog) == 4
        assert plain(step(*same, compared=["v"]).changelog) == []
        assert plain(step(*same, (3, 1, INSERT, "a", 5), (3, 6, AFTER, "b", 0), compared=["v"]).changelog) == [
            (3, 1, BEFORE, "a"),
            (3, 6, AFTER, "b"),
        ]
        assert plain(step((1, 0, INSERT, "a", 5), (1, 1, AFTER, "b", 0), compared=[]).changelog) == []


def test_keys_that_an_engine_drops_give_no_rows():
    rows = [(1, 0, DELETE, "a", 0), (1, 1, DELETE, "b", 0), (2, 2, INSERT, "c", 0)]
    merged = by_state(Deduplicate(ignore_delete=True), *rows)
    assert plain(merged.rows) == plain(merged.changelog) == [(2, 2, INSERT, "c")]


def test_the_first_row_of_a_new_key_is_its_changelog_row():
    rows, groups = arranged(
        (1, 0, INSERT, "old", 3),
        (1, 4, INSERT, "late", 0),
        (2, 5, AFTER, "known", 0),
        (3, 6, AFTER, "new", 0),
        (3, 7, INSERT, "second", 0),
    )
    known = pa.array([False, True, False]).to_numpy(zero_copy_only=False)
    levels = GroupLevels.of(rows, groups)
    merged = RowComparison(FirstRow(), COLUMNS).by_first(rows, groups, levels, known, changelog=True)
    assert plain(merged.rows) == [(1, 0, INSERT, "old"), (3, 6, AFTER, "new")]
    assert plain(merged.changelog) == [(3, 6, AFTER, "new")]
    assert RowComparison(FirstRow(), COLUMNS).by_first(rows, groups, levels, known, changelog=False).changelog is None


def test_no_rows():
    for merged in (full(), lookup()):
        assert (len(merged.rows), len(merged.changelog)) == (0, 0)


class Folding:
    """An engine that combines the rows of every key, also where the values are those of input rows."""

    def __init__(self, engine):
        self.survivors, self.fold = engine.survivors, engine.fold

    def last_values(self, rows, columns):
        return None


ENGINES = {
    "deduplicate": Deduplicate(),
    "partial-update": PartialUpdate(frozenset("v")),
    "partial-update, single rows too": PartialUpdate(frozenset("v"), merges_single_rows=True),
}
VERSIONS = st.lists(st.tuples(st.sampled_from([5, 4, 0]), st.sampled_from([None, "a", "b"])), max_size=3)


@pytest.mark.parametrize("engine", ENGINES)
@given(
    versions=st.lists(VERSIONS, max_size=6),
    deletes=st.booleans(),
    compared=st.sampled_from([None, ["v"]]),
    way=st.booleans(),
)
@settings(max_examples=examples(40), deadline=None)
def test_taken_rows_are_the_rows_that_an_engine_combines(engine, versions, deletes, compared, way):
    engine, number = ENGINES[engine], itertools.count()
    rows = []
    for key, found in enumerate(versions):
        # The rows of a key from the last level to level 0; levels above 0 have one row each.
        ordered = sorted({level: (level, v) for level, v in found if level}.values(), reverse=True)
        ordered += [(level, v) for level, v in found if not level]
        for level, v in ordered:
            kind = DELETE if deletes and engine is ENGINES["deduplicate"] and v == "b" else INSERT
            rows.append((key, next(number), kind, v, level))

    def merged(engine):
        table, groups = arranged(*rows)
        comparison = RowComparison(engine, COLUMNS, compared)
        if way:
            return comparison.by_last_level(table, groups, 5)
        return comparison.by_state(table, groups, GroupLevels.of(table, groups), changelog=True)

    taken, combined = merged(engine), merged(Folding(engine))
    assert plain(taken.rows) == plain(combined.rows)
    assert plain(taken.changelog) == plain(combined.changelog)
    assert taken.changelog.schema == combined.changelog.schema
