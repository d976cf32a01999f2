"""Plan: what a destructive operation would do, as a value to look at, to carry elsewhere, and then to apply.

A plan lists what goes, file by file with sizes, and what stays only because something protects it. Applying it checks
first that the table is still what the plan saw (``TableState``); otherwise nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from paimon_core.errors import InvalidRequest
from paimon_core.maintain.state import TableState
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.wire import pack, unpacked

PLAN_VERSION = 1


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that goes, or moves to quarantine; ``size`` in bytes, 0 where nothing records it."""

    path: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Protected:
    """Something old enough to go that stays: ``what`` ("snapshot 12"), ``by`` whom ("tag nightly", "consumer x")."""

    what: str
    by: str


@dataclass(frozen=True)
class Plan:
    """One operation on one table, worked out and not yet done."""

    operation: str
    """``expire-snapshots``, ``remove-orphans`` and so on: which apply understands it."""
    table: str
    branch: str
    state: TableState
    subjects: tuple[str, ...] = ()
    """What goes, in words: ``snapshot 3``, ``tag x``, ``partition dt=2024-01-01``, in the order of their going."""
    files: tuple[PlannedFile, ...] = ()
    protected: tuple[Protected, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the operation needs besides, as plain JSON values."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.subjects and not self.files

    @property
    def size_bytes(self) -> int:
        """The recorded bytes of the files."""
        return sum(f.size for f in self.files)

    def sentence(self) -> str:
        """One line for a person."""
        many = f"{', '.join(self.subjects[:3])}{f' and {len(self.subjects) - 3} more' if self.subjects[3:] else ''}"
        going = "; ".join(filter(None, (many, f"{len(self.files)} files, {self.size_bytes:,} bytes")))
        kept = f"; {len(self.protected)} protected" if self.protected else ""
        return f"{self.operation} {self.table}: {'nothing to do' if self.is_empty else going}{kept}"

    def check(self, context: TableContext, operation: str, *, expiry_harms: bool = True) -> None:
        """Raises InvalidRequest for a plan of something else, PlanOutdated when the table moved (``TableState``)."""
        if (self.operation, self.table, self.branch) != (operation, context.name, context.branch):
            raise InvalidRequest(
                f"a plan to {self.operation} of table {self.table} (branch {self.branch}) is not one to {operation} of "
                f"{context.name} (branch {context.branch})",
                table=context.name,
            )
        self.state.check(context, expiry_harms=expiry_harms)

    def to_bytes(self) -> bytes:
        """Versioned JSON, for a person to review or another process to apply."""
        return pack(PLAN_VERSION, {**asdict(self), "state": self.state.to_plain()})

    @staticmethod
    def from_bytes(data: bytes) -> Plan:
        """The inverse of ``to_bytes``; raises InvalidRequest for other bytes, UnsupportedFeature for a newer one."""
        with unpacked(data, "plan", PLAN_VERSION) as value:
            return Plan(
                operation=value["operation"],
                table=value["table"],
                branch=value["branch"],
                state=TableState.from_plain(value["state"]),
                subjects=tuple(value["subjects"]),
                files=tuple(PlannedFile(**f) for f in value["files"]),
                protected=tuple(Protected(**p) for p in value["protected"]),
                arguments=value["arguments"],
            )
