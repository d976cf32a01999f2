import dataclasses
import io
import itertools

import fastavro
import pytest

from paimon_core.codec.avro.container import read_avro, write_avro
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.column_stats import EMPTY_ROW, EMPTY_STATS, ColumnStats
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.manifest_file import (
    MANIFEST_LIST_SCHEMA,
    MANIFEST_SCHEMA,
    decode_entries,
    decode_list,
    encode_entries,
    encode_list,
    live_entries,
    merge_entries,
)

FULL_FILE = DataFile(
    file_name="data-ü-0.parquet",
    file_size=1,
    row_count=2,
    schema_id=3,
    level=4,
    min_key=b"min",
    max_key=b"max",
    key_stats=ColumnStats(b"k0", b"k1", (5,)),
    value_stats=ColumnStats(b"v0", b"v1", (6, None)),
    min_sequence_number=7,
    max_sequence_number=2**63 - 1,
    extra_files=("a.index", "b"),
    creation_time_millis=-8,
    delete_row_count=9,
    embedded_index=b"index",
    file_source=FileSource.COMPACT,
    value_stats_cols=("c", "d"),
    external_path="s3://x/y",
    first_row_id=10,
    write_cols=("e",),
    write_cols_sequences=(11, 12),
)
FULL = ManifestEntry(FileKind.DELETE, b"partition", 13, 14, FULL_FILE)
BARE = ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, -1, DataFile("data-0.parquet", 0, 0, 0))


def add(name, level=0, **change):
    return ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 2, DataFile(name, 1, 1, 0, level=level, **change))


def delete(name, level=0, **change):
    return dataclasses.replace(add(name, level, **change), kind=FileKind.DELETE)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "deflate", "none"])
def test_written_entries_are_read(compression):
    assert decode_entries(encode_entries([FULL, BARE], compression), "m") == [FULL, BARE]
    assert decode_entries(encode_entries([], compression), "m") == []


def test_records_in_a_union_with_null_are_read():
    """Paimon up to 0.8.2 wrote manifests and manifest lists in this form."""
    entries = write_avro(["null", MANIFEST_SCHEMA], read_avro(encode_entries([FULL, BARE], "zstd"), "m"))
    assert decode_entries(entries, "m") == [FULL, BARE]
    manifest = ManifestFile("manifest-0", 1, 2, 3, EMPTY_STATS)
    lists = write_avro(["null", MANIFEST_LIST_SCHEMA], read_avro(encode_list([manifest], "zstd"), "l"))
    assert decode_list(lists, "l") == [manifest]


def test_the_fields_of_an_entry_are_where_the_format_says():
    """All values of FULL differ, so that two swapped fields would be noticed."""
    (record,) = read_avro(encode_entries([FULL], "zstd"), "m")
    assert record == {
        "_VERSION": 2,
        "_KIND": 1,
        "_PARTITION": b"partition",
        "_BUCKET": 13,
        "_TOTAL_BUCKETS": 14,
        "_FILE": {
            "_FILE_NAME": "data-ü-0.parquet",
            "_FILE_SIZE": 1,
            "_ROW_COUNT": 2,
            "_MIN_KEY": b"min",
            "_MAX_KEY": b"max",
            "_KEY_STATS": {"_MIN_VALUES": b"k0", "_MAX_VALUES": b"k1", "_NULL_COUNTS": [5]},
            "_VALUE_STATS": {"_MIN_VALUES": b"v0", "_MAX_VALUES": b"v1", "_NULL_COUNTS": [6, None]},
            "_MIN_SEQUENCE_NUMBER": 7,
            "_MAX_SEQUENCE_NUMBER": 2**63 - 1,
            "_SCHEMA_ID": 3,
            "_LEVEL": 4,
            "_EXTRA_FILES": ["a.index", "b"],
            "_CREATION_TIME": -8,
            "_DELETE_ROW_COUNT": 9,
            "_EMBEDDED_FILE_INDEX": b"index",
            "_FILE_SOURCE": 1,
            "_VALUE_STATS_COLS": ["c", "d"],
            "_EXTERNAL_PATH": "s3://x/y",
            "_FIRST_ROW_ID": 10,
            "_WRITE_COLS": ["e"],
            "_WRITE_COLS_SEQUENCES": [11, 12],
        },
    }


def test_written_lists_are_read():
    full = ManifestFile("manifest-0", 1, 2, 3, ColumnStats(b"a", b"b", (4, None)), 5, 6, 7, 8, 9, 10, 11)
    bare = ManifestFile("manifest-1", 0, 0, 0)
    data = encode_list([full, bare], "zstd")
    assert decode_list(data, "l") == [full, bare]
    assert read_avro(data, "l")[0] == {
        "_VERSION": 2,
        "_FILE_NAME": "manifest-0",
        "_FILE_SIZE": 1,
        "_NUM_ADDED_FILES": 2,
        "_NUM_DELETED_FILES": 3,
        "_PARTITION_STATS": {"_MIN_VALUES": b"a", "_MAX_VALUES": b"b", "_NULL_COUNTS": [4, None]},
        "_SCHEMA_ID": 5,
        "_MIN_BUCKET": 6,
        "_MAX_BUCKET": 7,
        "_MIN_LEVEL": 8,
        "_MAX_LEVEL": 9,
        "_MIN_ROW_ID": 10,
        "_MAX_ROW_ID": 11,
    }


def without(schema, *names):
    """The schema without some fields, as older writers wrote it, and with a field that readers do not know."""
    fields = [
        f | {"type": without(f["type"], *names)} if f["name"] == "_FILE" else f
        for f in schema["fields"]
        if f["name"] not in names
    ]
    return schema | {"fields": [{"name": "_NEW", "type": "string", "default": ""}, *fields]}


def record_of(entry):
    record = read_avro(encode_entries([entry], "none"), "m")[0]
    return record | {"_NEW": "x", "_FILE": record["_FILE"] | {"_NEW": "y"}}


def test_older_and_newer_writers():
    """Fields that were added later are None, unknown fields are skipped."""
    late = ["_DELETE_ROW_COUNT", "_EMBEDDED_FILE_INDEX", "_FILE_SOURCE", "_VALUE_STATS_COLS", "_EXTERNAL_PATH"]
    late += ["_FIRST_ROW_ID", "_WRITE_COLS", "_WRITE_COLS_SEQUENCES"]
    data = write_avro(without(MANIFEST_SCHEMA, *late), [record_of(FULL)])
    expected = dataclasses.replace(
        FULL_FILE,
        delete_row_count=None,
        embedded_index=None,
        file_source=None,
        value_stats_cols=None,
        external_path=None,
        first_row_id=None,
        write_cols=None,
        write_cols_sequences=None,
    )
    assert decode_entries(data, "m") == [dataclasses.replace(FULL, file=expected)]


def test_a_list_of_an_older_writer():
    record = read_avro(encode_list([ManifestFile("m", 1, 2, 3, EMPTY_STATS, 4, 5, 6, 7, 8, 9, 10)], "none"), "l")[0]
    late = ["_MIN_BUCKET", "_MAX_BUCKET", "_MIN_LEVEL", "_MAX_LEVEL", "_MIN_ROW_ID", "_MAX_ROW_ID"]
    data = write_avro(without(MANIFEST_LIST_SCHEMA, *late), [record | {"_NEW": "x"}])
    assert decode_list(data, "l") == [ManifestFile("m", 1, 2, 3, EMPTY_STATS, 4)]


@pytest.mark.parametrize(
    ("name", "damaged"), [("_VALUE_STATS_COLS", "_VALUE_STATS_BOLS"), ("_WRITE_COLS", "_wRITE_COLS")]
)
def test_a_field_with_a_damaged_name_is_not_treated_as_missing(name, damaged):
    out = io.BytesIO()
    fastavro.writer(out, MANIFEST_SCHEMA, [record_of(FULL)])
    data = out.getvalue().replace(b'"%s"' % name.encode(), b'"%s"' % damaged.encode())
    with pytest.raises(CorruptTable, match=f"path/m: its records have a field {damaged} and no {name}"):
        decode_entries(data, "path/m")


@pytest.mark.parametrize("name", ["_KIND", "_PARTITION", "_FILE_NAME", "_LEVEL", "_VALUE_STATS", "_EXTRA_FILES"])
def test_a_field_that_may_not_be_missing(name):
    data = write_avro(without(MANIFEST_SCHEMA, name), [record_of(FULL)])
    with pytest.raises(CorruptTable, match=f"path/m.*no field {name}"):
        decode_entries(data, "path/m")


def with_type(name, kind):
    """The manifest schema with another type for one field of ``_FILE`` or of the entry."""

    def change(schema):
        fields = []
        for field in schema["fields"]:
            if field["name"] == name:
                fields.append({"name": name, "type": kind})
            elif field["name"] == "_FILE":
                fields.append(field | {"type": change(field["type"])})
            else:
                fields.append(field)
        return schema | {"fields": fields}

    return change(MANIFEST_SCHEMA)


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("_BUCKET", "string", "0"),
        ("_PARTITION", "string", "x"),
        ("_FILE", "string", "x"),
        ("_FILE_NAME", "bytes", b"x"),
        ("_FILE_NAME", ["null", "string"], None),
        ("_ROW_COUNT", "double", 1.0),
        ("_LEVEL", "boolean", True),
        ("_FILE_SIZE", "long", -1),
        ("_LEVEL", "int", -1),
        ("_KIND", "int", 2),
        ("_FILE_SOURCE", "int", 7),
        ("_FILE_SOURCE", "string", "x"),
        ("_EXTRA_FILES", {"type": "array", "items": "long"}, [1]),
        ("_WRITE_COLS", "string", "abc"),
        ("_KEY_STATS", "bytes", b"x"),
    ],
)
def test_a_field_of_another_type_is_named(name, kind, value):
    record = record_of(FULL)
    (record if name in record else record["_FILE"])[name] = value
    with pytest.raises(CorruptTable, match=f"path/m: its field {name} holds"):
        decode_entries(write_avro(with_type(name, kind), [record]), "path/m")


@pytest.mark.parametrize("version", [0, 1, 3])
def test_other_versions_are_named(version):
    data = write_avro(without(MANIFEST_SCHEMA), [record_of(FULL), record_of(FULL) | {"_VERSION": version}])
    with pytest.raises(UnsupportedFeature, match=f"path/m: manifest version {version} "):
        decode_entries(data, "path/m")
    record = read_avro(encode_list([ManifestFile("m", 1, 0, 0)], "none"), "l")[0] | {"_VERSION": version}
    with pytest.raises(UnsupportedFeature, match=f"path/l: manifest version {version} "):
        decode_list(write_avro(MANIFEST_LIST_SCHEMA, [record]), "path/l")


def test_a_torn_file_is_named():
    data = encode_entries([FULL, BARE], "zstd")
    for end in range(0, len(data), 97):
        with pytest.raises(CorruptTable, match="path/m"):
            decode_entries(data[:end], "path/m")


def test_merging_cancels_and_keeps_the_order():
    entries = [add("a"), add("b"), add("c"), delete("b"), delete("old"), add("d"), delete("a")]
    assert merge_entries(entries) == [add("c"), delete("old"), add("d")]
    assert live_entries(entries) == [add("c"), add("d")]
    assert merge_entries([]) == []


def test_an_upgrade_is_another_identity():
    assert merge_entries([add("a"), delete("a"), add("a", level=5)]) == [add("a", level=5)]
    assert merge_entries([add("a"), add("a", level=5), delete("a")]) == [add("a", level=5)]


def test_a_file_may_be_added_again_after_its_deletion():
    assert merge_entries([add("a"), delete("a"), add("a")]) == [add("a")]


@pytest.mark.parametrize(
    "change", [{"extra_files": ("x",)}, {"embedded_index": b"x"}, {"external_path": "x"}], ids=lambda c: next(iter(c))
)
def test_a_deletion_repeats_the_whole_identity(change):
    assert merge_entries([add("a"), delete("a", **change)]) == [add("a"), delete("a", **change)]


@pytest.mark.parametrize("entries", [[add("a"), add("a")], [delete("a"), add("a")]])
def test_a_file_is_added_once(entries):
    with pytest.raises(CorruptTable, match=r"data file a of bucket 0, level 0"):
        merge_entries(entries)


def test_merging_in_groups_gives_the_same_result():
    entries = [add("a"), add("b"), delete("a"), add("c"), delete("c"), add("d"), delete("b")]
    for cut in range(len(entries)):
        groups = merge_entries(entries[:cut]), merge_entries(entries[cut:])
        assert merge_entries(itertools.chain(*groups)) == merge_entries(entries)
