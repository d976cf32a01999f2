"""A model of a table whose rows wait for rows of another table, and loads that die around their commits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from paimon_lake.loads import load as loads


@dataclass
class WaitingModel:
    """The rows (key: column, looked-up value) of a table, the rows that wait, and the rows of the other table."""

    table: dict[int, tuple[int, str]] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    others: dict[int, str] = field(default_factory=dict)

    def retry(self) -> None:
        """Write the rows that wait and whose row has come; each load begins with it."""
        for key, column in list(self.waiting.items()):
            self.change(key, column)

    def change(self, key: int, column: int | None) -> None:
        """Write a row, let it wait, or delete the row for None."""
        if column is None:
            self.table.pop(key, None)
            self.waiting.pop(key, None)
        elif column in self.others:
            self.table[key] = column, self.others[column]
            self.waiting.pop(key, None)
        else:
            self.waiting[key] = column

    def rows(self) -> list[tuple[int, int, str]]:
        """Return the rows of the table, sorted."""
        return sorted((key, *row) for key, row in self.table.items())


@contextlib.contextmanager
def dying(calls: int, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """End a load at the call number ``calls`` before or after a commit, or before the rows that wait are published."""
    left = [calls]

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **more: Any) -> Any:
            _count(left)
            found = real(*given, **more)
            _count(left)
            return found

        return step

    with patch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        for name in ("commit_load", "publish_waiting"):
            patched.setattr(loads, name, guarded(getattr(loads, name)))
        yield


def _count(left: list[int]) -> None:
    left[0] -= 1
    if left[0] < 0:
        raise KeyboardInterrupt
