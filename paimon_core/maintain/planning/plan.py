"""Plan: what a destructive operation would do, as a value to look at, to carry elsewhere, and then to apply.

A plan lists what goes, file by file with sizes, and what stays only because something protects it. Applying it checks
first that the table is still what the plan saw (``TableState``); otherwise nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from paimon_core.errors import InvalidRequest
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.versioned_json import pack, unpacked

PLAN_VERSION = 1
_T = TypeVar("_T")


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
        """Whether the plan may be applied.

        Raises InvalidRequest for a plan of something else, or of a file outside of the table: plans travel, and are not
        trusted. PlanOutdated when the table moved (``TableState``).
        """
        if (self.operation, self.table, self.branch) != (operation, context.name, context.branch):
            raise InvalidRequest(
                f"a plan to {self.operation} of table {self.table} (branch {self.branch}) is not one to {operation} of "
                f"{context.name} (branch {context.branch})",
                table=context.name,
            )
        self.state.check(context, expiry_harms=expiry_harms)
        root = f"{context.paths.root}/"
        for file in self.files:
            parts = file.path.removeprefix(root).split("/")
            if not file.path.startswith(root) or not {"", ".", ".."}.isdisjoint(parts):
                raise InvalidRequest(
                    f"a plan to {operation} of table {context.name} lists {file.path!r:.200}, which is no file of it",
                    table=context.name,
                    path=file.path,
                )

    def argument(self, name: str, kind: type[_T], of: type | None = None) -> _T:
        """One of ``arguments``, of exactly this type, and a list ``of`` that; raises InvalidRequest for another."""
        value = self.arguments.get(name)
        if type(value) is not kind or (isinstance(value, list) and any(type(v) is not of for v in value)):
            wanted = kind.__name__ if of is None else f"{kind.__name__} of {of.__name__}"
            raise InvalidRequest(
                f"a plan to {self.operation} of table {self.table} needs the argument {name!r} as {wanted}, "
                f"not {value!r:.60}",
                table=self.table,
                argument=name,
            )
        return value

    def to_bytes(self) -> bytes:
        """Versioned JSON, for a person to review or another process to apply."""
        return pack(PLAN_VERSION, {**asdict(self), "state": self.state.to_plain()})

    @staticmethod
    def from_bytes(data: bytes) -> Plan:
        """The inverse of ``to_bytes``; raises InvalidRequest for other bytes, UnsupportedFeature for a newer one."""
        with unpacked(data, "plan", PLAN_VERSION) as value:
            return Plan(
                operation=_of(str, value["operation"]),
                table=_of(str, value["table"]),
                branch=_of(str, value["branch"]),
                state=TableState.from_plain(value["state"]),
                subjects=tuple(_of(str, s) for s in _of(list, value["subjects"])),
                files=tuple(PlannedFile(_of(str, f["path"]), _of(int, f["size"])) for f in _of(list, value["files"])),
                protected=tuple(
                    Protected(_of(str, p["what"]), _of(str, p["by"])) for p in _of(list, value["protected"])
                ),
                arguments=_of(dict, value["arguments"]),
            )


def _of(kind: type[_T], value: object) -> _T:
    """The value when it has this type; TypeError otherwise, for ``unpacked`` to tell."""
    if type(value) is not kind:
        raise TypeError(f"{value!r:.60} is no {kind.__name__}")
    return value
