"""Which statistics files have, by mode, format and level: the same as those that Java writes (tests/interop)."""

import pytest

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.datafile.statistics import column_statistics as statistics
from paimon_core.types import STRING
from tests.support.data_files import Bucket, schema_of

TYPES = {"k": "STRING NOT NULL", "s": "STRING", "a": "ARRAY<INT>", "n": "INT", "b": "BYTES"}
LONG = "k" * 200
ROW = {"k": [LONG], "s": ["abc"], "a": [None], "n": [None], "b": [b"x"]}
SYSTEM = {"_KEY_k": [LONG], "_SEQUENCE_NUMBER": [0], "_VALUE_KIND": [0]}


def written(kind, keyed, options, **place):
    options = {"bucket": "1" if keyed else "-1", "file.format": kind, **options}
    bucket = Bucket(schema_of(TYPES, keys=["k"] if keyed else [], options=options))
    (file,) = bucket.write(bucket.table(SYSTEM | ROW if keyed else ROW), **place)
    return bucket.schema, file


def of_columns(schema, file):
    """Return (minimum, maximum, null count) of each column with statistics."""
    names = schema.names if file.value_stats_cols is None else file.value_stats_cols
    types = [schema.by_name[n].type for n in names]
    stats = file.value_stats
    low, high = decode_row(stats.min_values, types), decode_row(stats.max_values, types)
    return dict(zip(names, zip(low, high, stats.null_counts, strict=True), strict=True))


K, S = ("k" * 16, "k" * 15 + "l", 0), ("abc", "abc", 0)
NULL, BYTES, UNKNOWN = (None, None, 1), (None, None, 0), (None, None, None)
ALL = {"k": K, "s": S, "a": NULL, "n": NULL, "b": BYTES}
FLAT = {"k": K, "s": S, "n": NULL, "b": BYTES}
FIRST = {"metadata.stats-keep-first-n-columns": "4", "metadata.stats-mode": "truncate(16)"}
OWN = {"metadata.stats-mode": "none", "fields.s.stats-mode": "truncate(2)"}
SPARSE = {"metadata.stats-dense-store": "false"}


@pytest.mark.parametrize(
    ("kind", "keyed", "options", "expected"),
    [
        ("parquet", True, {}, FLAT),
        ("orc", True, {}, ALL),
        ("avro", False, {}, ALL),
        (
            "orc",
            True,
            {"metadata.stats-mode": "counts"},
            dict.fromkeys(("k", "s", "b"), BYTES) | {"a": NULL, "n": NULL},
        ),
        ("avro", True, OWN, {"s": ("ab", "ac", 0)}),
        ("parquet", True, FIRST, {"k": K, "s": S, "n": NULL}),
        ("orc", False, FIRST, {"k": K, "s": S, "a": NULL, "n": NULL}),
        ("avro", False, FIRST, {"k": K, "s": S, "a": NULL, "n": NULL}),
        ("avro", True, FIRST, {"k": K}),
        (
            "orc",
            False,
            FIRST | {"metadata.stats-keep-first-n-columns": "0", "fields.n.stats-mode": "full"},
            {"n": NULL},
        ),
        ("parquet", False, SPARSE, ALL | {"a": UNKNOWN}),
        ("avro", True, SPARSE | OWN, dict.fromkeys(TYPES, UNKNOWN) | {"s": ("ab", "ac", 0)}),
        ("orc", True, {"metadata.stats-mode.per.level": "0:none"}, {}),
        ("orc", True, {"metadata.stats-mode.per.level": "1:none"}, ALL),
        ("orc", False, {"metadata.stats-mode.per.level": "0:none"}, ALL),
    ],
)
def test_statistics_of_value_columns(kind, keyed, options, expected):
    schema, file = written(kind, keyed, options)
    assert of_columns(schema, file) == {name: expected[name] for name in TYPES if name in expected}
    assert (file.value_stats_cols is None) == (len(expected) == len(TYPES))


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("parquet", {"metadata.stats-mode": "none"}, ("k" * 128, "k" * 127 + "l", 0)),
        ("orc", {"metadata.stats-keep-first-n-columns": "0"}, ("k" * 128, "k" * 127 + "l", 0)),
        ("avro", {}, K),
        ("avro", {"metadata.stats-mode": "none"}, UNKNOWN),
        ("avro", {"metadata.stats-keep-first-n-columns": "0"}, UNKNOWN),
    ],
)
def test_statistics_of_keys(kind, options, expected):
    schema, file = written(kind, True, options)
    (low,), (high,) = (
        decode_row(row, [f.type for f in schema.key_fields])
        for row in (file.key_stats.min_values, file.key_stats.max_values)
    )
    assert (low, high, *file.key_stats.null_counts) == expected
    assert decode_row(file.min_key, [STRING]) == decode_row(file.max_key, [STRING]) == (LONG,)


@pytest.mark.parametrize(("level", "covered"), [(0, ()), (1, None)])
def test_changelog_files_have_the_statistics_of_their_level(level, covered):
    options = {"metadata.stats-mode.per.level": "0:none"}
    assert written("orc", True, options, changelog=True, level=level)[1].value_stats_cols == covered
    assert (
        written("orc", True, options | {"changelog-file.stats-mode": "full"}, changelog=True)[1].value_stats_cols
        is None
    )


@pytest.mark.parametrize("kind", ["parquet", "avro"])
def test_texts_of_any_length_have_bounds(kind):
    bucket = Bucket(schema_of({"s": "STRING"}, options={"file.format": kind}))
    texts = ["b" * 5000, None, "a" * 9000, "c"]
    (file,) = bucket.write(bucket.table({"s": texts}))
    assert of_columns(bucket.schema, file) == {"s": ("a" * 16, "c", 1)}


def test_a_bound_of_an_orc_file_is_at_most_1024_bytes():
    bucket = Bucket(
        schema_of({"s": "STRING", "t": "STRING"}, options={"file.format": "orc", "metadata.stats-mode": "full"})
    )
    (file,) = bucket.write(bucket.table({"s": ["é" * 513, "z"], "t": ["é" * 512] * 2}))
    assert of_columns(bucket.schema, file) == {"s": ("z", None, 0), "t": ("é" * 512, "é" * 512, 0)}


def test_a_text_that_would_make_manifests_unreadable_is_no_bound(monkeypatch):
    monkeypatch.setattr(statistics, "_BOUND_CHARACTERS", 10)
    for mode in ("full", "truncate(99)"):
        bucket = Bucket(schema_of({"s": "STRING"}, options={"metadata.stats-mode": mode}))
        (file,) = bucket.write(bucket.table({"s": ["a", "b" * 11]}))
        assert of_columns(bucket.schema, file) == {"s": ("a", None, 0)}


def test_char_values_of_orc_files_have_the_bounds_that_are_read_back():
    bucket = Bucket(schema_of({"c": "CHAR(5)"}, options={"file.format": "orc"}))
    (file,) = bucket.write(bucket.table({"c": ["b ", "a  "]}))
    assert of_columns(bucket.schema, file) == {"c": ("a", "b", 0)}
    assert bucket.read(file)["c"].to_pylist() == ["b", "a"]
