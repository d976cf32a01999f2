"""Outcome: what one piece of maintenance really did, beside what was predicted; OutcomeLog: where outcomes are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from paimon_core.health.plan.candidates import Candidate
from paimon_core.health.plan.history import History, Place

DONE, NOTHING, CONFLICT, FAILED = "done", "nothing", "conflict", "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One candidate that was run."""

    candidate: Candidate
    run: str
    """A random name that all outcomes of one run share."""
    host: str
    """The name of the machine, to which seconds belong."""
    started_millis: int
    status: str
    """``done``, ``nothing`` (there was nothing left to do), ``conflict`` (another commit came first, and nothing was
    changed) or ``failed``.
    """
    seconds: float
    bytes_read: int = 0
    bytes_written: int = 0
    files_removed: int = 0
    files_added: int = 0
    saved: float = 0.0
    """As ``Candidate.saved``, computed from the files that were really written."""
    peak_memory: int | None = None
    """The growth of the memory of this process while the work of its group ran; None where it cannot be measured."""
    group_peak_memory: int | None = None
    """The predicted peak of the group: the sum of the predictions of the pieces that ran at the same time."""
    error: str | None = None
    written_factor: float = 1.0
    """The correction from earlier runs that the predicted ``bytes_written`` contains."""
    key_domain: float | None = None
    """The number of keys from which the sorted runs of the bucket seem to be chosen (``distinct_keys.domain_of``)."""
    snapshot: int | None = None
    """The id of the committed snapshot."""

    @property
    def prediction_error(self) -> float | None:
        """The predicted bytes read and written, divided by the real ones, minus 1; None if nothing was done."""
        real = self.bytes_read + self.bytes_written
        predicted = self.candidate.bytes_read + self.candidate.bytes_written
        return None if self.status != DONE or real == 0 else round(predicted / real - 1, 4)

    def row(self) -> dict[str, Any]:
        """Return the values of the columns ``COLUMNS``."""
        predicted = asdict(self.candidate)
        names = {"table": "table_name", "branch": "branch", "action": "action", "partition": "partition"}
        names |= {"bucket": "bucket", "reason": "reason"}
        out = {names.get(name, f"predicted_{name}"): value for name, value in predicted.items()}
        out |= {f.name: getattr(self, f.name) for f in fields(self) if f.name != "candidate"}
        return {**out, "prediction_error": self.prediction_error}

    @staticmethod
    def of_row(row: dict[str, Any]) -> Outcome:
        """Return the outcome that ``row`` encoded."""
        predicted = ("saved", "bytes_read", "bytes_written", "seconds", "peak_memory")
        candidate = Candidate(
            table=row["table_name"],
            **{name: row[name] for name in ("branch", "action", "partition", "bucket", "reason")},
            **{name: row[f"predicted_{name}"] for name in predicted},
        )
        return Outcome(candidate, **{f.name: row[f.name] for f in fields(Outcome) if f.name != "candidate"})


COLUMNS = (
    "run STRING NOT NULL, host STRING NOT NULL, started_millis BIGINT NOT NULL, table_name STRING NOT NULL, "
    "branch STRING NOT NULL, action STRING NOT NULL, partition STRING, bucket INT, reason STRING NOT NULL, "
    "status STRING NOT NULL, error STRING, snapshot BIGINT, predicted_saved DOUBLE NOT NULL, saved DOUBLE NOT NULL, "
    "predicted_bytes_read BIGINT NOT NULL, bytes_read BIGINT NOT NULL, predicted_bytes_written BIGINT NOT NULL, "
    "bytes_written BIGINT NOT NULL, written_factor DOUBLE NOT NULL, key_domain DOUBLE, "
    "predicted_seconds DOUBLE NOT NULL, seconds DOUBLE NOT NULL, "
    "predicted_peak_memory BIGINT NOT NULL, group_peak_memory BIGINT, peak_memory BIGINT, "
    "files_removed BIGINT NOT NULL, files_added BIGINT NOT NULL, prediction_error DOUBLE"
)
"""The columns of ``sys.maintenance``."""


class OutcomeLog(Protocol):
    """The outcomes of earlier rounds, and the state of each place between rounds."""

    def outcomes(self) -> Sequence[Outcome]:
        """Return the outcomes of the last 30 days, the oldest first; raises PaimonError when they cannot be read."""

    def histories(self) -> Mapping[Place, History]:
        """Return the histories that the last round left; raises PaimonError when they cannot be read."""

    def append(self, outcomes: Sequence[Outcome], histories: Mapping[Place, History]) -> None:
        """Add the outcomes of a round, and keep the histories; raises PaimonError when they cannot be written."""
