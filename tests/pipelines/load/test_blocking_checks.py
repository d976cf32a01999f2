"""Checks that block a load: a failing store is no failed audit."""

from __future__ import annotations

from typing import Any

import pytest

from paimon_core.errors import StorageError
from pipelines.checks import run
from tests.support.lakes import SmallLake


def test_a_store_that_fails_during_a_check_stops_the_load_without_an_audit(
    quick: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise StorageError("the store does not answer")

    quick.declare(
        "log.events",
        """
        columns: {id: BIGINT}
        primary_key: [id]
        source: {type: files, path: "in/*.csv"}
        checks: [{type: not_null, columns: id, block: true}]
        """,
    )
    quick.file("in/a.csv", "id\n1\n")
    with monkeypatch.context() as patched:
        patched.setattr(run, "not_null", fail)
        with pytest.raises(StorageError, match="the store does not answer"):
            quick.load("log.events")
    assert quick.rows("log.events") == []
    assert quick.load("log.events").details["files_read"] == 1
