"""index_file_names: the file names in an index manifest, or CorruptTable."""

from __future__ import annotations

import pytest

from paimon_core.codec.avro.container import write_avro
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.manifests.index_names import index_file_names


def manifest(*records, name_type="string", in_union=False):
    fields = [{"name": "_VERSION", "type": "int"}, {"name": "_FILE_NAME", "type": name_type}]
    schema = {"type": "record", "name": "record", "fields": fields}
    return write_avro(["null", schema] if in_union else schema, [{"_VERSION": v, "_FILE_NAME": n} for v, n in records])


def test_all_names_are_returned():
    assert index_file_names(manifest((1, "a"), (1, "b")), "p") == ["a", "b"]
    assert index_file_names(manifest(), "p") == []
    assert index_file_names(manifest((1, "a"), in_union=True), "p") == ["a"]


@pytest.mark.parametrize("data", [b"", b"x" * 100, manifest((1, "a"))[:30], manifest((1, 7), name_type="int")])
def test_garbage_is_corrupt(data):
    with pytest.raises(CorruptTable, match="somewhere"):
        index_file_names(data, "somewhere")


def test_another_version_is_refused():
    with pytest.raises(UnsupportedFeature, match="version 2"):
        index_file_names(manifest((2, "a")), "p")
