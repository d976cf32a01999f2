"""Fixtures of the unit tests of several rooms."""

import pytest

from paimon_core.metadata.manifests.entry_columns import EntryColumns


@pytest.fixture
def created(monkeypatch):
    """The numbers of ``ManifestEntry`` values that are created from columns, one for each call."""
    found = []
    real = EntryColumns.entries

    def counted(self, at=slice(None)):
        out = real(self, at)
        found.append(len(out))
        return out

    monkeypatch.setattr(EntryColumns, "entries", counted)
    return found
