"""FindingCollector: collects findings up to a maximum, and counts checks; errors during a check become findings."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from paimon_core.errors import PaimonError, SnapshotNotFound, UnsupportedFeature
from paimon_core.fsck.finding import Finding, Level, Report
from paimon_core.fsck.invariants import INVARIANTS, NEEDS_HISTORY, When

MOST_FINDINGS = 1000
"""Maximum number of findings in a report."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the table: a branch, and the snapshot, tag or other metadata file at ``path``."""

    branch: str
    snapshot: int | None = None
    path: str | None = None
    holder: str = "the table"
    """The place in words, for messages: ``snapshot 3``, ``tag x``."""


@dataclass
class FindingCollector:
    """Collects the contents of a report."""

    table: str
    deep: bool
    findings: list[Finding] = field(default_factory=list)
    left_out: int = 0
    checked: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    incomplete: bool = False
    """Whether some metadata could not be read, so that not all referenced files are known."""

    def check(self, invariant: str, count: int = 1) -> None:
        """Count ``count`` checks of an invariant."""
        self.checked[invariant] += count

    def find(
        self, invariant: str, location: Location, message: str, *, level: Level = Level.ERROR, path: str | None = None
    ) -> None:
        """Add a finding; beyond ``MOST_FINDINGS`` only count it."""
        if len(self.findings) >= MOST_FINDINGS:
            self.left_out += 1
            return
        self.findings.append(
            Finding(invariant, level, message, path or location.path, location.snapshot, location.branch)
        )

    def skip(self, invariant: str, reason: str) -> None:
        """Record why an invariant was not checked; the first reason is kept."""
        self.skipped.setdefault(invariant, reason)

    @contextlib.contextmanager
    def guarding(self, invariant: str, location: Location, path: str | None = None) -> Iterator[None]:
        """Suppress an error of the body, and add a finding for the error.

        SnapshotNotFound is suppressed without a finding: the snapshot has expired during the check.
        """
        try:
            yield
        except SnapshotNotFound:
            self.incomplete = True
        except UnsupportedFeature as error:
            self.incomplete = True
            self.find(invariant, location, f"not supported here: {error}", level=Level.WARNING, path=path)
        except PaimonError as error:
            self.incomplete = True
            self.find(invariant, location, str(error), path=error.facts.get("path") or path)
        except Exception as error:  # metadata is untrusted: no file may end the check
            self.incomplete = True
            self.find(invariant, location, f"{path or location.path}: {error!r:.200}", path=path)

    def report(self) -> Report:
        """Return the report; invariants that this kind of check cannot check are listed as skipped."""
        for number, invariant in INVARIANTS.items():
            if invariant.when is When.HISTORY:
                self.skip(number, NEEDS_HISTORY)
            elif invariant.when is When.DEEP and not self.deep:
                self.skip(number, "this check needs the rows: run a deep check")
        checked = {n: self.checked[n] for n in INVARIANTS if n in self.checked or n not in self.skipped}
        skipped = {n: self.skipped[n] for n in INVARIANTS if n in self.skipped}
        return Report(self.table, tuple(self.findings), checked, skipped, self.left_out)
