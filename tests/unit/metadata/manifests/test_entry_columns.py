import dataclasses
import random

import numpy as np
import pytest

from paimon_core.errors import CorruptTable
from paimon_core.metadata.column_stats import EMPTY_ROW, ColumnStats
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns, live
from paimon_core.metadata.manifests.entry_decoder import own_copy
from paimon_core.metadata.manifests.manifest_file import live_entries

FULL = ManifestEntry(
    FileKind.DELETE,
    b"partition",
    13,
    14,
    DataFile(
        "data-ü-0.parquet",
        1,
        2,
        3,
        4,
        b"min",
        b"max",
        ColumnStats(b"k0", b"k1", (5,)),
        ColumnStats(b"v0", b"v1", (6, None, -(2**63))),
        -7,
        2**63 - 1,
        ("a.index", "b"),
        -8,
        9,
        b"index",
        FileSource.COMPACT,
        ("c", "d"),
        "s3://x/y",
        10,
        ("e",),
        (11, 12),
    ),
)
BARE = ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, -1, DataFile("data-0.blob", 0, 0, 0))
BOTH = EntryColumns.of_entries([FULL, BARE])


def test_entries_become_columns_and_values_again():
    assert BOTH.entries() == [FULL, BARE]
    assert BOTH.entries(np.array([1])) == [BARE]
    assert EntryColumns.of_entries([]).entries() == []
    assert BOTH.numbers["max_sequence_number"].tolist() == [2**63 - 1, 0]
    assert BOTH.nulls["first_row_id"].tolist() == [False, True]
    assert BOTH.bytes_at("min_key") == [b"min", EMPTY_ROW]
    assert BOTH.column("value_stats_cols") == [("c", "d"), None]
    assert BOTH.names_ending(b".blob").tolist() == [False, True]
    assert BOTH.names_with(b"ata-0").tolist() == [False, True]


def test_columns_are_chosen_and_joined():
    joined = EntryColumns.concat([BOTH, (), EntryColumns.of_entries([]), BOTH.take(np.array([1])), (BARE,)])
    assert joined.entries() == [FULL, BARE, BARE, BARE]
    assert joined.filter(joined.numbers["bucket"] == 13).entries() == [FULL]
    assert joined.partition_codes()[0].tolist() == [0, 1, 1, 1]
    assert joined.partition_codes()[1] == [b"partition", EMPTY_ROW]
    assert joined.filter(joined.numbers["bucket"] == 0).partition_codes()[0].tolist() == [0, 0, 0]
    texts = [b"a", b"a", b"b", b"a"]
    same_length = EntryColumns.of_entries([dataclasses.replace(BARE, partition=text) for text in texts])
    assert same_length.partition_codes()[0].tolist() == [0, 0, 1, 0]
    assert same_length.partition_codes()[1] == [b"a", b"b"]
    assert EntryColumns.concat([]).entries() == []
    last = joined.take(slice(3, 4))
    first = min(int(s.starts[0]) for s in last.spans.values() if s.lengths[0] > 0)
    small = own_copy(last, first, len(joined.data))
    assert small.entries() == [BARE]
    assert small.nbytes < BOTH.nbytes


def outcome(of, entries):
    try:
        return of(entries)
    except CorruptTable as error:
        return str(error)


def of_columns(entries):
    columns = EntryColumns.of_entries(entries)
    return columns.filter(live(columns)).entries()


CHANGES = [{}, {"level": 5}, {"extra_files": ("x",)}, {"embedded_index": b"x"}, {"external_path": "x"}]


def test_live_files_are_those_of_values():
    """Histories of few names, so that files are deleted, added again, added twice, or deleted only."""
    numbers = random.Random(7)
    ends = {"live": 0, "refused": 0}
    for _ in range(300):
        entries = [
            ManifestEntry(
                FileKind(numbers.random() < 0.4),
                numbers.choice([EMPTY_ROW, b"p"]),
                numbers.randrange(2),
                2,
                dataclasses.replace(DataFile(numbers.choice(["a", "b", "ü" * 9]), 1, 1, 0), **numbers.choice(CHANGES)),
            )
            for _ in range(numbers.choice([1, 2, 5, 15]))
        ]
        expected = outcome(live_entries, entries)
        assert outcome(of_columns, entries) == expected
        ends["refused" if isinstance(expected, str) else "live"] += 1
    assert min(ends.values()) > 50


def test_equal_digests_of_different_names(monkeypatch):
    entries = [dataclasses.replace(BARE, file=DataFile(name, 0, 0, 0)) for name in "abc"]
    columns = dataclasses.replace(EntryColumns.of_entries(entries), name_digest=np.zeros(3, np.int64))
    assert live(columns).all()


@pytest.mark.parametrize("first", list(FileKind))
def test_a_file_is_added_once(first):
    with pytest.raises(CorruptTable, match=r"data file data-0.blob of bucket 0, level 0 is added twice"):
        live(EntryColumns.of_entries([dataclasses.replace(BARE, kind=first), FULL, BARE]))
