"""Lag: the distance between a table and its source of changes, in values that are defined for every kind of source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_lake.protocol import PipelineError, size_text


@dataclass(frozen=True)
class Lag:
    """The distance between a table and its source; None for values that are not known."""

    position: str
    """The position up to which the table is loaded; "" before its first load."""
    is_behind: bool
    """Whether the next load has something to do: a first copy, changes, or letting the source release its log."""
    lag_bytes: int | None = None
    """The length of the source's log after the position; 0 when this part of the log has no change of the table."""
    lag_seconds: float | None = None
    """The age of the commit of the oldest change that is not loaded; 0 when there is no such change."""
    slot_bytes: int | None = None
    """The bytes of log that the server keeps on its disk for the slot of the table."""
    note: str = ""
    """Why a load cannot run now, or why a number is not known."""
    is_read: bool = False
    """Whether another load or program reads the source now, so that a load would fail."""
    lag_messages: int | None = None
    """How many messages are not loaded, for a source that counts messages; the numbers of a log are then None."""
    parts: Mapping[str, Lag | Exception] = field(default_factory=dict)
    """The lags of the parts of a wide table, or the reasons why they are not known; {} for a table without parts. A
    table with parts has no numbers of its own.
    """

    @staticmethod
    def of_parts(parts: Mapping[str, Lag | Exception]) -> Lag | Exception:
        """Return the lags of the parts of a table as one lag; return an error when the lag of no part is known."""
        known = {part: found for part, found in parts.items() if isinstance(found, Lag)}
        behind = [found for found in known.values() if found.is_behind]
        position = ", ".join(f"{part} {found.position}" for part, found in known.items())
        is_read = bool(behind) and all(found.is_read for found in behind)
        whole = Lag(position, bool(behind), is_read=is_read, parts=parts)
        return whole if known else PipelineError(whole.text())

    @property
    def problem(self) -> str:
        """Why the lags of some parts are not known; "" when all lags are known."""
        errors = {part: found for part, found in self.parts.items() if isinstance(found, Exception)}
        return "; ".join(f"part {part}: {error}" for part, error in errors.items())

    @property
    def details(self) -> dict[str, int | float]:
        """The known numbers, by their names in the results of loads and in metadata."""
        if self.parts:
            known = {part: found for part, found in self.parts.items() if isinstance(found, Lag)}
            return {f"{part}_{name}": value for part, found in known.items() for name, value in found.details.items()}
        numbers = {
            "lag_bytes": self.lag_bytes,
            "lag_seconds": self.lag_seconds,
            "slot_bytes": self.slot_bytes,
            "lag_messages": self.lag_messages,
        }
        return {name: value for name, value in numbers.items() if value is not None}

    def text(self) -> str:
        """Return one line for people.

        An example: ``1.2 MB behind, the oldest change waits for 3 s; the slot holds 18.0 MB``.
        """
        if self.parts:
            return "; ".join(f"part {part}: {_text(found)}" for part, found in self.parts.items())
        if not self.position:
            return "; ".join(one for one in ("nothing is loaded yet", self.note) if one)
        if self.lag_messages is not None:
            parts = [f"{self.lag_messages:,} messages behind" if self.lag_messages else "up to date"]
        elif self.lag_bytes is None:
            parts = ["the lag is not known"]
        elif self.lag_bytes == 0:
            parts = ["up to date"]
        else:
            waits = "" if self.lag_seconds is None else f", the oldest change waits for {self.lag_seconds:,.0f} s"
            parts = [f"{size_text(self.lag_bytes)} behind{waits}"]
        if self.slot_bytes is not None:
            parts.append(f"the slot holds {size_text(self.slot_bytes)}")
        return "; ".join([*parts, *([self.note] if self.note else [])])


def _text(found: Lag | Exception) -> str:
    return found.text() if isinstance(found, Lag) else f"the lag is not known: {found}"


Answer = tuple[str, Lag | Exception]
"""The name of a table, and its lag or an error that says why the lag is not known."""
