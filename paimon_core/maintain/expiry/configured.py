"""Configured expiry: runs the expiry that the table options request, on demand and after each write (format 16)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from paimon_core.errors import PaimonError
from paimon_core.maintain.expiry import consumers, partitions
from paimon_core.maintain.expiry.changelogs import changelog_retention, expire_changelogs, preview_changelog_expiry
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.expiry.snapshots import ExpireReport, expire
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot


def retentions(
    context: TableContext,
    now_millis: int,
    *,
    retain_min: int | None = None,
    retain_max: int | None = None,
    age_millis: int | None = None,
    limit: int | None = None,
) -> tuple[Retention, Retention | None]:
    """Return the retention of snapshots, and the retention of changelogs if they outlive snapshots (else None).

    Arguments that are None are taken from the options. Times are in milliseconds. With ``age_millis`` 0, age protects
    nothing, not even a snapshot that was committed in the present millisecond.
    """
    options = context.options
    most = options["snapshot.num-retained.max"] if retain_max is None else retain_max
    snapshots = Retention(
        min(most, options["snapshot.num-retained.min"]) if retain_min is None else retain_min,
        most,
        age_limit_millis(now_millis, options["snapshot.time-retained"] if age_millis is None else age_millis),
        options["snapshot.expire.limit"] if limit is None else limit,
    )
    return snapshots, changelog_retention(context, snapshots, now_millis)


def age_limit_millis(now_millis: int, age_millis: int) -> int:
    """Return the epoch milliseconds before which a commit is older than an age; with age 0, all commits are older."""
    return now_millis - age_millis if age_millis else now_millis + 1


def expire_retained(
    context: TableContext, snapshots: Retention, changelogs: Retention | None, *, dry_run: bool = False
) -> ExpireReport:
    """Expire snapshots, then lasting changelogs; raises the errors of ``expire`` and ``expire_changelogs``.

    With ``dry_run``, nothing changes, and the report says which snapshots would be expired and which files removed.
    """
    report = expire(context, snapshots, decoupled=changelogs is not None, dry_run=dry_run)
    if changelogs is None:
        return report
    if dry_run:
        also = preview_changelog_expiry(context, changelogs, report.expired, report.removed.paths)
    else:
        also = expire_changelogs(context, changelogs)
    return replace(
        report,
        removed=report.removed + also.removed,
        protected=(*report.protected, *also.protected),
        changelogs=also.expired,
    )


def expire_due(context: TableContext, now_millis: int, committed: list[Snapshot] | None = None) -> ExpireReport:
    """Expire partitions, then consumers, then snapshots and changelogs, as the options request after a write.

    The last snapshot that dropped partitions is appended to ``committed``.

    When one of the steps fails, the later steps still run. The first error is raised at the end, with later errors as
    its notes.
    """
    errors: list[PaimonError] = []
    report = ExpireReport(context.name)
    with _collecting(errors):
        if partitions.is_due_after_write(context):
            plan = partitions.plan_partition_expiry(context, now_millis=now_millis)
            dropped = partitions.apply_partition_expiry(context, plan)
            if committed is not None:
                committed += filter(None, [dropped.snapshot])
    with _collecting(errors):
        if context.options[consumers.LIFETIME] is not None:
            plan = consumers.plan_consumer_expiry(context, now_millis=now_millis)
            if not plan.is_empty:
                consumers.apply_consumer_expiry(context, plan)
    with _collecting(errors):
        report = expire_retained(context, *retentions(context, now_millis))
    if errors:
        for text in dict.fromkeys(map(str, errors[1:])):
            errors[0].add_note(f"a later step failed too: {text}")
        raise errors[0]
    return report


@contextlib.contextmanager
def _collecting(errors: list[PaimonError]) -> Iterator[None]:
    """Append the error of the body to ``errors`` instead of raising it."""
    try:
        yield
    except PaimonError as error:
        errors.append(error)
