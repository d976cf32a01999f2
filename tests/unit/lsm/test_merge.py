import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import CorruptTable
from paimon_core.lsm import merge
from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.fold import fold, last
from paimon_core.lsm.gather import take_rows
from paimon_core.lsm.key_groups import group, key_codes
from paimon_core.lsm.merge import RowFilter, merge_runs, sorted_groups
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.predicate import col
from paimon_core.schema import DataField
from paimon_core.types import parse_type

INSERT, BEFORE, AFTER, DELETE = 0, 1, 2, 3


def rows(*values):
    """Rows of (key, sequence number, kind, value)."""
    key, sequence, kind, value = zip(*values, strict=True) if values else ((), (), (), ())
    return pa.table(
        {
            "_KEY_k": pa.array(key, pa.int64()),
            "_SEQUENCE_NUMBER": pa.array(sequence, pa.int64()),
            "_VALUE_KIND": pa.array(kind, pa.int8()),
            "v": pa.array(value, pa.string()),
        }
    )


def merged(*runs, drop_deletes=True, order=MergeOrder(), window_rows=2, engine=Deduplicate(), **named):  # noqa: B008
    tables = merge_runs(
        [iter(run.to_batches(max_chunksize=1)) for run in runs],
        key=["_KEY_k"],
        order=order,
        engine=engine,
        drop_deletes=drop_deletes,
        window_rows=window_rows,
        **named,
    )
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def kept(where):
    """Keep rows by a filter on one column."""
    (name,) = where.columns
    return RowFilter(where.bind([DataField(0, name, parse_type("STRING" if name == "v" else "BIGINT"))]))


IGNORING = Deduplicate(ignore_delete=True)
OLD = rows((1, 0, INSERT, "a"), (2, 1, INSERT, "b"), (4, 2, INSERT, "c"))
NEW = rows((2, 3, DELETE, None), (3, 4, INSERT, "d"), (4, 5, AFTER, "e"))


def test_the_newer_row_wins_and_deletes_disappear():
    assert merged(OLD, NEW) == [(1, 0, 0, "a"), (3, 4, 0, "d"), (4, 5, 2, "e")]
    assert merged(NEW, OLD) == merged(OLD, NEW)


def test_deletes_may_be_kept():
    assert merged(OLD, NEW, drop_deletes=False) == [
        (1, 0, 0, "a"),
        (2, 3, 3, None),
        (3, 4, 0, "d"),
        (4, 5, 2, "e"),
    ]


def test_deletes_may_be_ignored():
    assert merged(OLD, NEW, engine=IGNORING) == [
        (1, 0, 0, "a"),
        (2, 1, 0, "b"),
        (3, 4, 0, "d"),
        (4, 5, 2, "e"),
    ]
    assert (
        merged(
            rows((1, 0, DELETE, "x")),
            rows((1, 1, BEFORE, "y")),
            engine=IGNORING,
            drop_deletes=False,
        )
        == []
    )


def test_equal_sequence_numbers_retract_first_then_the_later_run_wins():
    same = [rows((1, 7, kind, value)) for kind, value in ((INSERT, "a"), (AFTER, "b"), (DELETE, "c"))]
    assert merged(*same) == [(1, 7, 2, "b")]
    assert merged(same[1], same[0], same[2]) == [(1, 7, 0, "a")]


def test_overlapping_sequence_numbers_are_compared_row_by_row():
    left = rows((1, 0, INSERT, "a"), (2, 9, INSERT, "b"))
    right = rows((1, 5, INSERT, "c"), (2, 4, INSERT, "d"))
    for runs in ([left, right], [right, left]):
        assert merged(*runs) == [(1, 5, 0, "c"), (2, 9, 0, "b")]


def test_sequence_fields_outrank_the_sequence_number():
    assert merged(
        rows((1, 0, INSERT, "z"), (2, 1, INSERT, None)),
        rows((1, 2, INSERT, "y"), (2, 3, INSERT, "y")),
        order=MergeOrder(("v",)),
    ) == [(1, 0, 0, "z"), (2, 3, 0, "y")]
    assert merged(rows((1, 0, INSERT, "z")), rows((1, 2, INSERT, "y")), order=MergeOrder(("v",), descending=True)) == [
        (1, 2, 0, "y")
    ]


def test_only_the_columns_asked_for():
    assert merged(OLD, NEW, columns=["v"]) == [("a",), ("d",), ("e",)]
    assert merged(OLD, columns=["v", "_KEY_k"]) == [("a", 1), ("b", 2), ("c", 4)]


def test_a_filter_sees_merged_rows_and_only_its_matches_are_gathered(monkeypatch):
    gathered = []

    def counted(rows, positions, columns):
        gathered.append((tuple(columns), len(positions)))
        return take_rows(rows, positions, columns)

    monkeypatch.setattr(merge, "take_rows", counted)
    keep = kept(col("v") <= "c")
    assert merged(OLD, NEW, columns=["_KEY_k", "v"], late=keep, window_rows=9) == [(1, "a")]
    assert gathered == [(("v",), 3), (("_KEY_k", "v"), 1)]


def test_a_filter_holds_for_every_engine_and_for_single_runs():
    keep = kept(col("v") <= "c")
    assert merged(OLD, NEW, columns=["v"], late=keep, engine=IGNORING) == [("a",), ("b",)]
    assert merged(NEW, OLD, columns=["v"], late=kept(col("v") > "c")) == [("d",), ("e",)]
    assert merged(NEW, columns=["v"], late=kept(col("v") > "d")) == [("e",)]


def test_a_single_run_is_passed_on_in_its_batches():
    batches = NEW.to_batches(max_chunksize=2)
    named = {"key": ["_KEY_k"], "order": MergeOrder(), "engine": Deduplicate(), "window_rows": 1}
    tables = list(merge_runs([iter(batches)], drop_deletes=False, **named))
    assert [t.to_batches() for t in tables] == [[b] for b in batches]
    assert [len(t) for t in merge_runs([iter(batches)], drop_deletes=True, **named)] == [1, 1]


def test_nothing_to_merge():
    assert merged() == []
    assert merged(rows(), rows()) == []
    assert merged(rows((1, 0, DELETE, None)), rows((1, 1, DELETE, None))) == []


def test_a_run_out_of_order_is_corrupt():
    torn = pa.concat_tables([rows((2, 0, INSERT, "a")), rows((1, 1, INSERT, "b"))]).combine_chunks()
    with pytest.raises(CorruptTable, match="ascending by _KEY_k"):
        list(
            merge_runs(
                [iter(torn.to_batches()), iter(OLD.to_batches())],
                key=["_KEY_k"],
                order=MergeOrder(),
                engine=Deduplicate(),
                drop_deletes=True,
                window_rows=9,
            )
        )


def test_another_engine_is_another_rule_per_column():
    table = rows((1, 0, INSERT, "a"), (2, 1, INSERT, "b"), (1, 2, INSERT, "c"))
    groups = group(key_codes(table, ["_KEY_k"]), None)

    def first(column, groups):
        return column.take(pa.array(groups.order[groups.starts]))

    folded = fold(table, groups, {"v": first, "_SEQUENCE_NUMBER": last})
    assert folded.to_pydict() == {"v": ["a", "b"], "_SEQUENCE_NUMBER": [2, 1]}
    assert folded.schema == table.schema.empty_table().select(["v", "_SEQUENCE_NUMBER"]).schema


@pytest.mark.parametrize("name", ["_ROW_POSITION", "_", "__"])
def test_a_column_of_any_name_may_be_filtered(name):
    rows = pa.table({"k": [1, 2, 3], name: [5, 6, 7]})
    keep = kept(col(name) > 5)
    assert keep.positions(rows, np.array([0, 2], np.uint32)).tolist() == [2]


def encoded(table):
    return table.set_column(3, "v", table["v"].dictionary_encode())


@pytest.mark.parametrize("old", [OLD, encoded(OLD)])
@pytest.mark.parametrize("new", [NEW, encoded(NEW)])
@pytest.mark.parametrize("keep", [None, kept(col("v") != "d")])
def test_texts_may_come_as_dictionaries(old, new, keep):
    expected = [(1, 0, 0, "a"), (3, 4, 0, "d"), (4, 5, 2, "e")]
    assert merged(old, new, late=keep) == [row for row in expected if keep is None or row[3] != "d"]


@pytest.mark.parametrize("window_rows", [1, 9])
def test_a_run_whose_files_hold_a_text_differently(window_rows):
    mixed = [*encoded(OLD.slice(0, 1)).to_batches(), *OLD.slice(1).to_batches()]
    tables = merge_runs(
        [iter(mixed), iter(encoded(NEW).to_batches())],
        key=["_KEY_k"],
        order=MergeOrder(),
        engine=Deduplicate(),
        drop_deletes=True,
        window_rows=window_rows,
    )
    merged_rows = pa.concat_tables(tables)
    assert merged_rows.schema == OLD.schema
    assert merged_rows["v"].to_pylist() == ["a", "d", "e"]


def test_rows_of_several_buckets_are_ordered_by_sequence_number_within_each():
    arrived = rows((1, 5, INSERT, "new"), (1, 2, INSERT, "old"), (1, 0, INSERT, "other bucket"))
    groups = sorted_groups(arrived, ["_KEY_k"], MergeOrder(), np.array([0, 0, 1]))
    assert groups.last.tolist() == [0, 2]


def test_rows_of_several_buckets_that_arrive_in_order_get_no_ranks(monkeypatch):
    monkeypatch.setattr(MergeOrder, "ranks", None)
    arrived = rows((1, 2, INSERT, "old"), (1, 5, INSERT, "new"), (1, 0, INSERT, "other bucket"))
    groups = sorted_groups(arrived, ["_KEY_k"], MergeOrder(), np.array([0, 0, 1]))
    assert groups.last.tolist() == [1, 2]
