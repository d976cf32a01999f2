"""Fixtures of the unit tests of several rooms."""

import pytest

import paimon_core as paimon
from paimon_core.metadata.manifests.entry_columns import EntryColumns


@pytest.fixture
def catalog(tmp_path):
    """A catalog on the local disk with the empty database ``db``; files and folders of tests may have another one."""
    made = paimon.open_catalog(tmp_path)
    made.create_database("db")
    return made


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
