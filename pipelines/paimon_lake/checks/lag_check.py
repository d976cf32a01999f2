"""Lag check: compares the distance between a table and its source of changes with the bounds of its declaration."""

from __future__ import annotations

from paimon_lake.check_result import CheckResult
from paimon_lake.checks.row_checks import Result
from paimon_lake.declarations.tables.checks import LagCheck
from paimon_lake.protocol import size_text
from paimon_lake.sources.lag import Lag


def lag_result(check: LagCheck, table: str, found: Lag | Exception) -> CheckResult:
    """Return the result of a check. ``found`` is the lag, or the error of its request; then the check fails."""
    if isinstance(found, Exception):
        return CheckResult(check.label, table, 1, f"cannot be evaluated: {found}", check.severity)
    return CheckResult(check.label, table, *compared(check, found), check.severity, found.details)


def compared(check: LagCheck, found: Lag) -> Result:
    """Return the number of broken bounds, and a sentence; a number that is not known breaks its bound.

    While another load or program reads the slot, the age is not known, and breaks no bound, because a load seems to
    run. Each part of a wide table that has a lag must be within the bounds.
    """
    if found.parts:
        results = {part: _of_part(check, one) for part, one in found.parts.items()}
        return sum(wrong for wrong, _ in results.values()), "; ".join(f"part {p}: {r[1]}" for p, r in results.items())
    broken = []
    if not found.position:
        return 1, found.text()
    if found.lag_messages is not None:  # the other bounds apply only to tables that follow a database
        if check.max_messages is not None and found.lag_messages > check.max_messages:
            broken.append(f"at most {check.max_messages:,} messages behind are allowed")
        return len(broken), ": ".join([found.text(), *broken])
    if check.max_bytes is not None and (found.lag_bytes is None or found.lag_bytes > check.max_bytes):
        broken.append(f"at most {size_text(check.max_bytes)} behind are allowed")
    is_old = found.lag_seconds is None and not found.is_read
    if check.max_seconds is not None and (is_old or (found.lag_seconds or 0) > check.max_seconds):
        broken.append(f"a change may wait for at most {check.max_seconds:g} s")
    if check.max_slot_bytes is not None and (found.slot_bytes is None or found.slot_bytes > check.max_slot_bytes):
        broken.append(f"the slot may hold at most {size_text(check.max_slot_bytes)}")
    return len(broken), ": ".join([found.text(), *([", and ".join(broken)] if broken else [])])


def _of_part(check: LagCheck, found: Lag | Exception) -> Result:
    return compared(check, found) if isinstance(found, Lag) else (1, f"cannot be evaluated: {found}")
