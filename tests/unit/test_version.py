import importlib.metadata

import pytest

import paimon_core
from paimon_core.commit.assembly import writer_version
from paimon_core.version import version


@pytest.fixture(autouse=True)
def _empty_cache():
    version.cache_clear()
    yield
    version.cache_clear()


def test_the_package_and_its_snapshots_name_the_same_version():
    assert writer_version() == f"paimon-core-{paimon_core.__version__}"


def test_without_an_installation_the_version_is_unknown_in_both_places(monkeypatch):
    def is_missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", is_missing)
    assert paimon_core.__version__ == "unknown"
    assert writer_version() == "paimon-core-unknown"
