"""Bit rot: damage to the bytes of a file is found by a reader or by fsck, or it changes nothing that is read.

Each kind of file is damaged tens of times or more. `python -m tests.fuzz.flips` does it as often as wanted.
"""

import pytest

from tests.fuzz.flips import BESIDE, FORMATS, INDEXES, METADATA, MOST_SILENT, measure, table_with_history

MUTATIONS = 200
"""For kinds of files of which a small share may be silent."""
FEWER = 40


@pytest.mark.parametrize("kind", METADATA)
def test_damage_to_metadata_is_found_or_harmless(kind):
    found = measure(table_with_history(40), kind, 2 * FEWER)
    assert sum(found.counts.values()) == 2 * FEWER
    assert found.silent == []
    assert found.counts["found"] > 0 or kind == "hint"


@pytest.mark.parametrize("codec", ["snappy", "deflate", "none"])
def test_damage_to_manifests_of_each_codec_is_found(codec):
    assert measure(table_with_history(40, **{"manifest.compression": codec}), "manifest", FEWER).silent == []


@pytest.mark.parametrize("kind", ["data", "changelog"])
@pytest.mark.parametrize("name", FORMATS)
def test_damage_to_data_files_is_found(name, kind):
    mutations = MUTATIONS if "-" not in name else FEWER
    found = measure(table_with_history(4000, **FORMATS[name]), kind, mutations)
    assert sum(found.counts.values()) == mutations
    assert found.counts["silent"] <= MOST_SILENT * mutations, found.silent
    assert found.counts["found"] > 0


@pytest.mark.parametrize("kind", INDEXES)
def test_damage_to_indexes_is_found_or_harmless(kind):
    found = measure(table_with_history(1000, **INDEXES[kind], **BESIDE), kind, FEWER // 4)
    assert sum(found.counts.values()) == FEWER // 4
    assert found.silent == []
