import itertools
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paimon_core as paimon
from paimon_core.datafile.writing import rolling_writer as parquet_writer
from paimon_core.datafile.writing.table_files import rolling_writer
from paimon_core.metadata.data_file import FileSource
from paimon_core.read import bucket_reader, lookup_reader
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.lookup_reader import LookupReader
from tests.support.examples import examples

NO_PARTITION = b"\0" * 12
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Recording(BucketReader):
    """Records what is opened: (first key of the file, row group, number of columns)."""

    opened: list = field(default_factory=list)

    def file(self, file, fields, request, **named):
        self.opened.append((int.from_bytes(file.min_key[-8:-4], "little"), *request.row_groups, len(fields)))
        return BucketReader.file(self, file, fields, request, **named)


@pytest.fixture(autouse=True, scope="module")
def small_row_groups():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_writer, "ROW_GROUP_ROWS", 4)
        patch.setattr(bucket_reader, "WINDOW_ROWS", 3)
        yield


def bucket(files, *, columns=None, fixed=(), kind="parquet"):
    """Return a reader over files of (level, keys); v of every row is its level."""
    catalog = paimon.open_catalog(f"memory://lookup-{next(_numbers)}")
    catalog.create_database("db")
    names = [*[f"c{n}" for n in range(len(fixed))], "k"]
    arrow = pa.schema([*[(name, pa.int32()) for name in names], ("v", pa.int32())])
    table = catalog.create_table("db.t", arrow, primary_key=names, options={"bucket": "1", "file.format": kind})
    found = []
    for level, keys in files:
        writer = rolling_writer(table.context, NO_PARTITION, 0, level=level, source=FileSource.COMPACT)
        key_columns = [*[pa.array([value] * len(keys), pa.int32()) for value in fixed], pa.array(keys, pa.int32())]
        values = [*key_columns, pa.array(keys, pa.int64()), pa.array([0] * len(keys), pa.int8()), *key_columns]
        values.append(pa.array([level] * len(keys), pa.int32()))
        writer.write(pa.table(values, names=[f.name for f in table.schema.file_fields]))
        found += writer.close()
    reader = Recording(table.context, NO_PARTITION, 0)
    fields = table.schema.file_fields
    return reader, LookupReader(reader, found, fields[: len(names)] if columns == "keys" else fields)


def asked(keys, fixed=()):
    columns = {f"_KEY_c{n}": pa.array([value] * len(keys), pa.int32()) for n, value in enumerate(fixed)}
    return pa.table(columns | {"_KEY_k": pa.array(keys, pa.int32())})


def levels(lookup, keys, fixed=()):
    """Return the level at which each key was found."""
    rows = [row for table in lookup.find(asked(keys, fixed)) for row in table.to_pylist()]
    assert all(row.get("v", row["_LEVEL"]) == row["_LEVEL"] for row in rows)
    assert len({row["_KEY_k"] for row in rows}) == len(rows)
    return {row["_KEY_k"]: row["_LEVEL"] for row in rows}


def test_the_lowest_level_answers():
    _, lookup = bucket([(5, [1, 2, 3]), (3, [2, 4])])
    assert levels(lookup, [1, 2, 4, 9]) == {1: 5, 2: 3, 4: 3}


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_files_without_row_groups_are_read_from_their_start(kind):
    reader, lookup = bucket([(5, [0, 9, 10, 19]), (5, [20, 29])], kind=kind)
    assert [levels(lookup, [key]) for key in (9, 15, 19, 29)] == [{9: 5}, {}, {19: 5}, {29: 5}]
    assert reader.opened == [(0, 0, 5), (20, 0, 5)]


def test_nothing_to_look_up():
    reader, lookup = bucket([(5, [1, 2, 3])])
    assert levels(lookup, []) == {}
    assert levels(bucket([])[1], [1]) == {}
    assert reader.opened == []


def test_files_without_a_key_are_not_opened():
    reader, lookup = bucket([(5, [0, 9]), (5, [10, 19]), (5, [20, 29])])
    assert levels(lookup, [10, 15]) == {10: 5}
    assert {first for first, _, _ in reader.opened} == {10}


def test_row_groups_without_a_key_are_not_decoded():
    reader, lookup = bucket([(5, list(range(0, 400, 10)))])
    assert levels(lookup, [0, 75, 205, 390]) == {0: 5, 390: 5}
    # 75 lies between two row groups. 205 lies within one, and its key columns show that it is missing.
    assert [(group, columns) for _, group, columns in reader.opened] == [(0, 1), (0, 5), (5, 1), (9, 1), (9, 5)]


def test_a_row_group_is_decoded_once_over_all_windows():
    reader, lookup = bucket([(5, list(range(8)))])
    for key in range(8):
        assert levels(lookup, [key]) == {key: 5}
    assert [(group, columns) for _, group, columns in reader.opened] == [(0, 1), (0, 5), (1, 1), (1, 5)]


def test_key_columns_are_not_read_first_where_many_keys_are_requested(monkeypatch):
    monkeypatch.setattr(lookup_reader, "_MANY_KEYS", 2)
    reader, lookup = bucket([(5, [*range(8), *range(10, 30, 2)])])
    assert levels(lookup, [1, 2, 5, 6, 11, 13, 19, 21]) == {1: 5, 2: 5, 5: 5, 6: 5}
    # The first row group has some of the keys, so the second is decoded at once, and so is the third, which has none.
    expected = [(0, 1), (0, 5), (1, 5), (2, 5), (3, 1)]
    assert [(group, columns) for _, group, columns in reader.opened] == expected


def test_constant_columns_before_the_key_do_not_hide_it():
    reader, lookup = bucket([(5, list(range(0, 120, 10)))], fixed=(7, 8))
    assert levels(lookup, [10, 110], (7, 8)) == {10: 5, 110: 5}
    assert {group for _, group, _ in reader.opened} == {0, 2}


def test_keys_alone_tell_that_a_key_exists():
    _, lookup = bucket([(5, [1, 2, 3]), (3, [2])], columns="keys")
    assert levels(lookup, [2, 3, 4]) == {2: 3, 3: 5}


KEYS = st.sets(st.integers(0, 60), max_size=30)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["parquet", "parquet", "orc", "avro"]),
    st.dictionaries(st.integers(1, 5), KEYS.filter(len), max_size=3),
    KEYS,
    st.lists(st.integers(0, 60), max_size=4),
)
def test_windows_of_keys_are_found_in_random_levels(kind, held, wanted, cuts):
    files = []
    for level, keys in held.items():
        ordered = sorted(keys)
        files += [(level, ordered[n : n + 9]) for n in range(0, len(ordered), 9)]
    _, lookup = bucket(files, kind=kind)
    found = {}
    bounds = [-1, *sorted(set(cuts)), 60]
    for low, high in itertools.pairwise(bounds):
        found |= levels(lookup, sorted(k for k in wanted if low < k <= high))
    existing = wanted & set().union(*held.values())
    assert found == {k: min(level for level, keys in held.items() if k in keys) for k in existing}
