"""MaintenanceReport: what a run of a plan did, beside what was predicted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from paimon_core.display import text_html
from paimon_core.health.places import counted, megabytes
from paimon_core.health.plan.candidates import Candidate
from paimon_core.health.plan.outcome import COLUMNS, CONFLICT, DONE, FAILED, Outcome
from paimon_core.table.system.columns import arrow_table, fields_of, from_rows

_FIELDS = fields_of(COLUMNS)


def outcome_rows(outcomes: Iterable[Outcome]) -> pa.Table:
    """Return outcomes as rows with the columns of ``sys.maintenance``."""
    rows = ([row[f.name] for f in _FIELDS] for row in (one.row() for one in outcomes))
    return arrow_table(_FIELDS, from_rows(" ".join(f.name for f in _FIELDS), rows))


@dataclass(frozen=True, repr=False)
class MaintenanceReport:
    """The outcomes of one run."""

    outcomes: tuple[Outcome, ...] = ()
    not_started: tuple[Candidate, ...] = ()
    """Chosen work that did not begin, because the seconds of the budget were used up."""
    seconds: float = 0.0
    log_error: str | None = None
    """Why the outcomes could not be added to the log; the work is done all the same."""

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes with an error other than a conflict."""
        return tuple(one for one in self.outcomes if one.status == FAILED)

    def count(self, status: str) -> int:
        """Return the number of outcomes of a status."""
        return sum(one.status == status for one in self.outcomes)

    def __repr__(self) -> str:
        """Return the numbers of outcomes."""
        return (
            f"MaintenanceReport(done={self.count(DONE)}, conflicts={self.count(CONFLICT)}, "
            f"failed={self.count(FAILED)}, not_started={len(self.not_started)}, seconds={self.seconds:.1f})"
        )

    def _repr_html_(self) -> str:
        return text_html(self.text())

    def text(self) -> str:
        """Return the report as text for a person."""
        done = [one for one in self.outcomes if one.status == DONE]
        real = sum(one.bytes_read + one.bytes_written for one in done)
        predicted = sum(one.candidate.bytes_read + one.candidate.bytes_written for one in done)
        lines = [
            f"{counted(len(done), 'piece')} of work done in {self.seconds:,.1f} seconds: {megabytes(real)} read and "
            f"written (predicted {megabytes(predicted)}), each full scan saves {megabytes(sum(o.saved for o in done))}"
        ]
        for one in self.outcomes:
            if one.status in (CONFLICT, FAILED):
                c = one.candidate
                where = " ".join(str(part) for part in (c.action, c.table, c.partition, c.bucket) if part is not None)
                lines.append(f"{one.status}: {where}: {one.error or 'another commit came first; nothing was changed'}")
        if self.not_started:
            lines.append(
                f"{counted(len(self.not_started), 'piece')} not started: the seconds of the budget are used up"
            )
        if self.log_error:
            lines.append(f"the outcomes could not be added to the log: {self.log_error}")
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """Return this object as values of JSON types."""
        return {
            "outcomes": [one.row() for one in self.outcomes],
            "not_started": [asdict(c) for c in self.not_started],
            "seconds": self.seconds,
            "log_error": self.log_error,
        }

    def to_arrow(self) -> pa.Table:
        """Return one row for each outcome, with the columns of ``sys.maintenance``."""
        return outcome_rows(self.outcomes)
