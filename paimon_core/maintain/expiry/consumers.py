"""Consumer expiry: deletes the files of consumers that recorded no progress for a long time (format 15.6).

A consumer protects the next snapshot that it will read and all later snapshots. When the file of the consumer is
deleted, these snapshots can expire, and the streaming reader has to start from the beginning.
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
    """The names of the consumers whose files were deleted."""

    table: str
    expired: tuple[str, ...] = ()


def plan_consumer_expiry(context: TableContext, *, now_millis: int, lifetime_millis: int | None = None) -> Plan:
    """Find the consumers that recorded no progress for their lifetime (default: option consumer.expiration-time).

    The time without progress is the age of the consumer's file, even when the file cannot be parsed. Raises
    InvalidRequest when neither the argument nor the option gives a lifetime.
    """
    lifetime = context.options[LIFETIME] if lifetime_millis is None else lifetime_millis
    if lifetime is None:
        raise InvalidRequest(
            f"table {context.name} has no option {LIFETIME}, so its consumers do not expire: give older_than",
            table=context.name,
            option=LIFETIME,
        )
    state = TableState.of(context)
    files = context.consumers.files()
    expired = [f for f in files if f.modified_millis < now_millis - lifetime]
    return Plan(
        OPERATION,
        context.name,
        context.branch,
        state,
        tuple(f.name.replace("-", " ", 1) for f in expired),
        tuple(PlannedFile(f.path, f.size) for f in expired),
        tuple(Protected(f.name.replace("-", " ", 1), "its last recorded progress") for f in files if f not in expired),
        {"modified": {f.path: f.modified_millis for f in expired}},
    )


def apply_consumer_expiry(context: TableContext, plan: Plan) -> ConsumerReport:
    """Delete the planned files, except files that were written after the plan was created.

    Raises PlanOutdated when the table has changed.
    """
    plan.check(context, OPERATION)
    modified = plan.argument("modified", dict)
    expired = [f for f in context.consumers.files() if modified.get(f.path) == f.modified_millis]
    context.storage.delete(f.path for f in expired)
    return ConsumerReport(context.name, tuple(f.name.partition("-")[2] for f in expired))
