"""Tests of maintenance do not wait for branches that are never completed."""

import types

import pytest

from paimon_core.maintain import roots


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots, "time", types.SimpleNamespace(sleep=lambda seconds: None))
