"""The live files of a base: of a large table, no manifest stays in memory."""

import pytest

from paimon_core.commit import base as module
from paimon_core.commit.base import Base
from tests.support import broken_tables as broken
from tests.support.fake_tables import append, fake_table


@pytest.mark.parametrize("joined", [0, 100_000])
def test_manifests_are_cached_of_small_tables_only(monkeypatch, joined):
    monkeypatch.setattr(module, "JOINED_FILES", joined)
    context = broken.fresh(fake_table())
    append(context)
    base = Base(context, context.snapshots.latest())
    found = base.live(lambda partition: True)
    assert found == context.manifests.entries_of(base.snapshot)
    fresh = broken.fresh(context)
    base = Base(fresh, fresh.snapshots.latest())
    assert base.live(lambda partition: True) == found
    cached = [fresh.manifests.cache.find(fresh.paths.manifest(m.file_name)) for m in base.manifests]
    assert any(entries is not None for entries in cached) is (joined > 0)
