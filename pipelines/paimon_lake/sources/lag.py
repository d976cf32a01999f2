"""Lag: how far a table is behind its source of changes, in values that every kind of source can give."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_lake.protocol import size_text


@dataclass(frozen=True)
class Lag:
    """How far a table is behind its source; None for what is not known."""

    position: str
    """Up to where the table is loaded; "" before its first load."""
    is_behind: bool
    """Whether a load has something to do: a first copy, changes, or the release of what the source keeps."""
    lag_bytes: int | None = None
    """The length of the source's log after the position; 0 when the log has no change of the table there."""
    lag_seconds: float | None = None
    """How long ago the oldest change that is not loaded was committed; 0 when there is none."""
    slot_bytes: int | None = None
    """The disk space of the source that keeps the log for the table."""
    note: str = ""
    """Why a load cannot run now, or why a number is not known."""
    is_read: bool = False
    """Whether another load or program reads the source now, so that a load would fail."""
    lag_messages: int | None = None
    """How many messages are not loaded, for a source that counts messages; the numbers of a log are then None."""

    @property
    def details(self) -> dict[str, int | float]:
        """The numbers that are known, by the names that results of loads and metadata have."""
        numbers = {
            "lag_bytes": self.lag_bytes,
            "lag_seconds": self.lag_seconds,
            "slot_bytes": self.slot_bytes,
            "lag_messages": self.lag_messages,
        }
        return {name: value for name, value in numbers.items() if value is not None}

    def text(self) -> str:
        """Return one line for people, such as ``1.2 MB behind, the oldest change waits for 3 s; slot of 18 MB``."""
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


Answer = tuple[str, Lag | Exception]
"""The name of a table, with its lag, or why the lag is not known."""
