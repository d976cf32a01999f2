"""Consumers that fell silent: streaming readers whose progress nobody has written for long (format 15.6).

Each holds all snapshots from its next one on. Forgetting it lets them expire; the reader would begin anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.errors import InvalidRequest
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.metadata.context import TableContext

OPERATION = "expire-consumers"
LIFETIME = "consumer.expiration-time"


@dataclass(frozen=True)
class ConsumerReport:
    """Which consumers were forgotten."""

    table: str
    expired: tuple[str, ...] = ()


def plan_consumer_expiry(context: TableContext, *, now_millis: int, lifetime_millis: int | None = None) -> Plan:
    """Find the consumers that wrote nothing for their lifetime (default: option consumer.expiration-time).

    A file that does not parse counts by its age too. Raises InvalidRequest when no lifetime is given.
    """
    lifetime = context.options[LIFETIME] if lifetime_millis is None else lifetime_millis
    if lifetime is None:
        raise InvalidRequest(
            f"table {context.name} does not say when its consumers expire (option {LIFETIME}): give older_than",
            table=context.name,
            option=LIFETIME,
        )
    state = TableState.of(context)
    files = context.consumers.files()
    silent = [f for f in files if f.modified_millis < now_millis - lifetime]
    return Plan(
        OPERATION,
        context.name,
        context.branch,
        state,
        tuple(f.name.replace("-", " ", 1) for f in silent),
        tuple(PlannedFile(f.path, f.size) for f in silent),
        tuple(Protected(f.name.replace("-", " ", 1), "its last sign of life") for f in files if f not in silent),
        {"modified": {f.path: f.modified_millis for f in silent}},
    )


def apply_consumer_expiry(context: TableContext, plan: Plan) -> ConsumerReport:
    """Delete the files of the plan; one that was written since stays. Raises PlanOutdated when the table moved."""
    plan.check(context, OPERATION)
    modified = plan.argument("modified", dict)
    silent = [f for f in context.consumers.files() if modified.get(f.path) == f.modified_millis]
    context.storage.delete(f.path for f in silent)
    return ConsumerReport(context.name, tuple(f.name.partition("-")[2] for f in silent))
