"""Notes: findings and counts as they come in, bounded; whatever fails while something is checked becomes a finding."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from paimon_core.errors import PaimonError, SnapshotNotFound, UnsupportedFeature
from paimon_core.fsck.finding import Finding, Level, Report
from paimon_core.fsck.invariants import INVARIANTS, NEEDS_HISTORY, When

MOST_FINDINGS = 1000


@dataclass(frozen=True, slots=True)
class Location:
    """Where in the table a check is: a branch, and the snapshot of it whose file is ``path``."""

    branch: str
    snapshot: int | None = None
    path: str | None = None
    holder: str = "the table"
    """In words: ``snapshot 3``, ``tag x``."""


@dataclass
class FindingCollector:
    """The makings of a report."""

    table: str
    deep: bool
    findings: list[Finding] = field(default_factory=list)
    left_out: int = 0
    checked: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    incomplete: bool = False
    """Whether some metadata could not be read, so that what it reaches is not known."""

    def check(self, invariant: str, count: int = 1) -> None:
        """Something was checked."""
        self.checked[invariant] += count

    def find(
        self, invariant: str, location: Location, message: str, *, level: Level = Level.ERROR, path: str | None = None
    ) -> None:
        """Something is not as it should be."""
        if len(self.findings) >= MOST_FINDINGS:
            self.left_out += 1
            return
        self.findings.append(
            Finding(invariant, level, message, path or location.path, location.snapshot, location.branch)
        )

    def skip(self, invariant: str, reason: str) -> None:
        """Something could not be checked; the first reason counts."""
        self.skipped.setdefault(invariant, reason)

    @contextlib.contextmanager
    def guarding(self, invariant: str, location: Location, path: str | None = None) -> Iterator[None]:
        """What fails within is a finding, and the check goes on; a snapshot that expires meanwhile is none."""
        try:
            yield
        except SnapshotNotFound:
            self.incomplete = True
        except UnsupportedFeature as error:
            self.incomplete = True
            self.find(invariant, location, f"not known here: {error}", level=Level.WARNING, path=path)
        except PaimonError as error:
            self.incomplete = True
            self.find(invariant, location, str(error), path=error.facts.get("path") or path)
        except Exception as error:  # metadata is untrusted, and no file of it may end the check
            self.incomplete = True
            self.find(invariant, location, f"{path or location.path}: {error!r:.200}", path=path)

    def report(self) -> Report:
        """All of it; what was neither checked nor skipped by name is accounted for."""
        for number, invariant in INVARIANTS.items():
            if invariant.when is When.HISTORY:
                self.skip(number, NEEDS_HISTORY)
            elif invariant.when is When.DEEP and not self.deep:
                self.skip(number, "needs the rows: check deep")
        checked = {n: self.checked[n] for n in INVARIANTS if n in self.checked or n not in self.skipped}
        skipped = {n: self.skipped[n] for n in INVARIANTS if n in self.skipped}
        return Report(self.table, tuple(self.findings), checked, skipped, self.left_out)
