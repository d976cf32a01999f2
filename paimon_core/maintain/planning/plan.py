"""Plan: describes what a destructive operation would do, as a value that can be reviewed, sent to another process and
applied.

A plan lists each file to delete with its size, and the objects that are kept only because something protects them.
Before a plan is applied, the current state of the table is compared with the state for which the plan was created
(``TableState``). When the state has changed, the plan is not applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.versioned_json import pack, unpacked

PLAN_VERSION = 1
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file to delete or to move to quarantine; ``size`` in bytes, 0 when it is not recorded."""

    path: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Protected:
    """Something that would be removed, but is kept.

    ``what`` names the kept object ("snapshot 12"); ``by`` names the object that protects it ("tag nightly", "consumer
    x").
    """

    what: str
    by: str


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """One operation on one table that was computed but not yet applied."""

    operation: str
    """``expire-snapshots``, ``remove-orphans`` and so on; the name selects the function that applies the plan."""
    table: str
    branch: str
    state: TableState
    subjects: tuple[str, ...] = ()
    """The objects that are deleted, as texts, in the order of deletion: ``snapshot 3``, ``tag x``, ``partition
    dt=2024-01-01``.
    """
    files: tuple[PlannedFile, ...] = ()
    protected: tuple[Protected, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Further values that the operation needs, as plain JSON values."""

    def _summary(self) -> Summary:
        facts = (
            ("branch", None if self.branch == "main" else self.branch),
            ("subjects", len(self.subjects)),
            ("files", len(self.files)),
            ("bytes", self.size_bytes),
            ("protected", len(self.protected) or None),
        )
        rows = [("remove", subject) for subject in self.subjects]
        rows += [("keep", f"{one.what}, because of {one.by}") for one in self.protected]
        rows += [("file", f"{one.path} ({one.size:,} bytes)") for one in self.files]
        return Summary(f"{self.operation} {self.table}", facts, header=("step", "what"), rows=rows)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.subjects and not self.files

    @property
    def size_bytes(self) -> int:
        """The sum of the recorded file sizes in bytes."""
        return sum(f.size for f in self.files)

    def sentence(self) -> str:
        """Return a summary of one line for a person."""
        many = f"{', '.join(self.subjects[:3])}{f' and {len(self.subjects) - 3} more' if self.subjects[3:] else ''}"
        going = "; ".join(filter(None, (many, f"{len(self.files)} files, {self.size_bytes:,} bytes")))
        kept = f"; {len(self.protected)} protected" if self.protected else ""
        return f"{self.operation} {self.table}: {'nothing to do' if self.is_empty else going}{kept}"

    def check(self, context: TableContext, operation: str, *, expiry_harms: bool = True) -> None:
        """Check that the plan may be applied to this table.

        Plans are untrusted input: raises InvalidRequest for a plan of another operation, table or branch, and for a
        path outside of the table and of the allowed roots. Raises PlanOutdated when the table has changed
        (``TableState.check``).
        """
        self._check_operation(context, operation)
        self.state.check(context, expiry_harms=expiry_harms)
        self._check_paths(context, operation)

    def check_target(self, context: TableContext, operation: str) -> None:
        """Make the checks of ``check`` that do not read the table; raises InvalidRequest as ``check`` does."""
        self._check_operation(context, operation)
        self._check_paths(context, operation)

    def _check_operation(self, context: TableContext, operation: str) -> None:
        if (self.operation, self.table, self.branch) != (operation, context.name, context.branch):
            raise InvalidRequest(
                f"a plan to {self.operation} for table {self.table} (branch {self.branch}) cannot be applied as a plan "
                f"to {operation} for table {context.name} (branch {context.branch})",
                table=context.name,
            )

    def _check_paths(self, context: TableContext, operation: str) -> None:
        roots = [f"{root}/" for root in (context.paths.root, *context.paths.external.paths)]
        for file in self.files:
            root = next(filter(file.path.startswith, roots), None)
            if root is None or not {"", ".", ".."}.isdisjoint(file.path.removeprefix(root).split("/")):
                raise InvalidRequest(
                    f"a plan to {operation} for table {context.name} lists {file.path!r:.200}, which is not in the "
                    "directory of the table or below an allowed root",
                    table=context.name,
                    path=file.path,
                )

    def argument(self, name: str, kind: type[_T], of: type | None = None) -> _T:
        """Return one of ``arguments``; ``of`` is the type of a list's elements.

        Raises InvalidRequest when the argument is missing or has another type.
        """
        value = self.arguments.get(name)
        if type(value) is not kind or (isinstance(value, list) and any(type(v) is not of for v in value)):
            wanted = kind.__name__ if of is None else f"{kind.__name__} of {of.__name__}"
            raise InvalidRequest(
                f"a plan to {self.operation} for table {self.table} needs the argument {name!r} as {wanted}, "
                f"not {value!r:.60}",
                table=self.table,
                argument=name,
            )
        return value

    def to_bytes(self) -> bytes:
        """Return versioned JSON, which a person can review and another process can apply."""
        return pack(PLAN_VERSION, {**asdict(self), "state": self.state.to_plain()})

    @staticmethod
    def from_bytes(data: bytes) -> Plan:
        """Parse the result of ``to_bytes``.

        Raises InvalidRequest for other bytes, UnsupportedFeature for another version.
        """
        with unpacked(data, "plan", PLAN_VERSION) as value:
            return Plan(
                operation=_typed(str, value["operation"]),
                table=_typed(str, value["table"]),
                branch=_typed(str, value["branch"]),
                state=TableState.from_plain(value["state"]),
                subjects=tuple(_typed(str, s) for s in _typed(list, value["subjects"])),
                files=tuple(
                    PlannedFile(_typed(str, f["path"]), _typed(int, f["size"])) for f in _typed(list, value["files"])
                ),
                protected=tuple(
                    Protected(_typed(str, p["what"]), _typed(str, p["by"])) for p in _typed(list, value["protected"])
                ),
                arguments=_typed(dict, value["arguments"]),
            )


def _typed(kind: type[_T], value: object) -> _T:
    """Return the value when it has the type ``kind``; otherwise raise TypeError, which ``unpacked`` converts."""
    if type(value) is not kind:
        raise TypeError(f"{value!r:.60} is not of type {kind.__name__}")
    return value
