"""Automatic tag names: each automatic tag is named after the period that has just ended (format 15.1).

Times are milliseconds of local wall clock time since 1970, without a time zone.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest
from paimon_core.options import TableOptions

EPOCH = datetime.datetime(1970, 1, 1)
MILLISECOND = datetime.timedelta(milliseconds=1)
_HOUR = 3_600_000
_LENGTHS = {"daily": 24 * _HOUR, "hourly": _HOUR, "two-hours": 2 * _HOUR}
_DAYS = {"with_dashes": "%Y-%m-%d", "without_dashes": "%Y%m%d", "without_dashes_and_spaces": "%Y%m%d"}
_HOURS = {"with_dashes": "%Y-%m-%d %H", "without_dashes": "%Y%m%d %H", "without_dashes_and_spaces": "%Y%m%d%H"}
_MINUTES = "%Y%m%d%H%M"
_FIELDS = {"%Y": r"(?P<year>[0-9]{4})", "%m": r"(?P<month>[0-9]{2})", "%d": r"(?P<day>[0-9]{2})"} | {
    "%H": r"(?P<hour>[0-9]{2})",
    "%M": r"(?P<minute>[0-9]{2})",
}


BY_PERIOD = ("process-time", "watermark")
"""Values of ``tag.automatic-creation`` that name tags after periods."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Periods of ``millis`` milliseconds, counted from 1970-01-01 00:00, and the format of their names."""

    millis: int
    form: str
    """The format of a name, for ``strftime``."""
    days_only: bool = False
    """Whether only the part of a name before its first blank is parsed."""

    @staticmethod
    def of(options: TableOptions) -> Periods:
        """Return the periods of a table; ``tag.creation-period-duration`` replaces ``tag.creation-period``."""
        duration, period = options["tag.creation-period-duration"], options["tag.creation-period"]
        if duration is not None:
            return Periods(duration, _MINUTES)
        formatter = options["tag.period-formatter"]
        if period == "daily":
            return Periods(_LENGTHS[period], _DAYS[formatter], days_only=True)
        # Names for periods of two hours always have the same form; the formatter does not change it (format 15.1).
        return Periods(_LENGTHS[period], _HOURS["with_dashes" if period == "two-hours" else formatter])

    def ended(self, local_millis: int) -> int:
        """Return the start of the last period that has ended at the time ``local_millis``."""
        return local_millis - local_millis % self.millis - self.millis

    def name(self, start: int) -> str:
        """Return the name of the tag of the period that starts at ``start``."""
        moment = EPOCH + start * MILLISECOND
        # strftime writes years before 1000 with fewer digits on some systems.
        return moment.strftime(self.form.replace("%Y", f"{moment.year:04d}"))

    def start(self, name: str) -> int | None:
        """Return the start of the period of a tag name; None for a name that is not the name of an automatic tag."""
        pattern = self.form
        for field, part in _FIELDS.items():
            pattern = pattern.replace(field, part)
        found = re.fullmatch(pattern, name.split(" ")[0] if self.days_only else name)
        if found is None:
            return None
        try:
            moment = datetime.datetime(**{field: int(text) for field, text in found.groupdict().items()})  # type: ignore[arg-type]
        except ValueError:
            return None
        return (moment - EPOCH) // MILLISECOND


def check_tag_options(options: TableOptions) -> None:
    """Raise InvalidRequest when the delay of automatic tags is not less than their period: no tag would be created."""
    delay, period = options["tag.creation-delay"], Periods.of(options).millis
    if options["tag.automatic-creation"] in BY_PERIOD and delay >= period:
        raise InvalidRequest(
            f"option tag.creation-delay ({delay} ms) must be less than the period of the automatic tags ({period} ms)",
            option="tag.creation-delay",
        )
