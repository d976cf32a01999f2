import pytest

from paimon_core.codec.avro.container import read_avro, write_avro
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.manifests.index_manifest import (
    INDEX_MANIFEST_SCHEMA,
    IndexEntry,
    IndexFile,
    VectorRange,
    decode_indexes,
    encode_indexes,
)

HASH = IndexEntry(b"p", 1, IndexFile("HASH", "index-1", 40, 10))
VECTORS = IndexEntry(
    b"q", 0, IndexFile("DELETION_VECTORS", "index-2", 99, 2, (VectorRange("a", 1, 30, 5), VectorRange("b", 39, 22)))
)


def test_entries_are_decoded_as_they_were_encoded():
    assert decode_indexes(encode_indexes([HASH, VECTORS], "zstd"), "m") == [HASH, VECTORS]


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("_VERSION", 2, UnsupportedFeature),
        ("_KIND", 1, CorruptTable),
        ("_FILE_SIZE", -1, CorruptTable),
        ("_DELETIONS_VECTORS_RANGES", None, CorruptTable),
        ("_DELETIONS_VECTORS_RANGES", [None], CorruptTable),
        ("_DELETIONS_VECTORS_RANGES", [{"f0": "a", "f1": -1, "f2": 1, "_CARDINALITY": 1}], CorruptTable),
        ("_DELETIONS_VECTORS_RANGES", [{"f0": "a", "f1": 1, "f2": 1, "_CARDINALITY": -1}], CorruptTable),
    ],
)
def test_bad_records_are_refused_with_their_path(field, value, error):
    (record,) = read_avro(encode_indexes([VECTORS], "zstd"), "m")
    with pytest.raises(error, match=r"^m: "):
        decode_indexes(write_avro(INDEX_MANIFEST_SCHEMA, [record | {field: value}]), "m")


def test_records_without_a_field_are_refused():
    schema = {"type": "record", "name": "r", "fields": [{"name": "_VERSION", "type": "int"}]}
    with pytest.raises(CorruptTable, match="m: its field _KIND"):
        decode_indexes(write_avro(schema, [{"_VERSION": 1}]), "m")
