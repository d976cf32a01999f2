"""What is audited before it is published; without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import CommitConflict
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table
from paimon_lake.checks import prepared_audit as audited
from paimon_lake.checks.prepared_audit import Audit, audit_and_publish
from paimon_lake.protocol import AuditFailed
from tests.support.lakes import SmallLake


@pytest.fixture
def table(dry_lake: SmallLake) -> Table:
    """A table with one row."""
    dry_lake.declare("shop.days", "columns: {day: STRING, orders: BIGINT}\nprimary_key: [day]\n")
    table = dry_lake.create("shop.days")
    table.write(counted("a", 5))
    return table


def counted(day: str, orders: int) -> pa.Table:
    return pa.table({"day": [day], "orders": [orders]})


def published(table: Table, rows: pa.Table, audit: Audit) -> Snapshot:
    return audit_and_publish(table.prepare(rows, overwrite=True), table.name, audit)


def data_files(table: Table) -> set[str]:
    return {f.path for f in table.context.storage.walk(table.location)}


def rows(table: Any) -> list[int]:
    return sorted(table.scan(columns=["orders"]).to_arrow()["orders"].to_pylist())


def test_a_failing_audit_leaves_the_table_as_it_was(table: Table) -> None:
    before = data_files(table)
    with pytest.raises(AuditFailed, match=r"shop.days was not changed.*: 7 orders in 2"):
        published(table, counted("b", 7), lambda after: [f"7 orders in {after.latest_snapshot().id}"])
    assert data_files(table) == before
    assert rows(table) == [5]
    with pytest.raises(ZeroDivisionError):
        published(table, counted("b", 7), lambda after: [str(1 // 0)])
    assert data_files(table) == before


def test_what_was_audited_is_published(table: Table) -> None:
    seen = []

    def fine(after: Any) -> list[str]:
        seen.append(rows(after))
        return []

    snapshot = published(table, counted("b", 7), fine)
    assert (snapshot.id, snapshot.commit_kind, seen) == (2, "OVERWRITE", [[7]])
    assert rows(table) == [7]


def test_it_is_audited_again_when_others_commit(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def disturbed(after: Any) -> list[str]:
        seen.append(after.latest_snapshot().id)
        if len(seen) == 1:
            table.write(counted("c", 1))
        return []

    snapshot = published(table, counted("b", 7), disturbed)
    assert (snapshot.id, seen) == (3, [2, 3])
    monkeypatch.setattr(audited, "_TRIES", 1)
    before = data_files(table)

    def always_disturbed(after: Any) -> list[str]:
        table.write(counted("c", 2))
        return []

    with pytest.raises(CommitConflict):
        published(table, counted("d", 1), always_disturbed)
    assert rows(table) == [2, 7]
    assert len([path for path in data_files(table) - before if "bucket-" in path]) == 1, "that of the other commit"


def test_an_audit_that_fails_after_the_commit_of_another_publishes_nothing(table: Table) -> None:
    def of_a_table_without_c(after: Any) -> list[str]:
        found = ["c"] if table.latest_snapshot().id > 1 else []  # type: ignore[union-attr]
        table.write(counted("c", 1))
        return found

    with pytest.raises(AuditFailed, match="the new content failed: c"):
        published(table, counted("b", 7), of_a_table_without_c)
    assert rows(table) == [1, 5]
