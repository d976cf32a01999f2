"""Leases: a lease protects the snapshot of a long read from expiry until the read ends.

A lease is a tag with a retention time, named as Java names its tags of batch reads
(``batch-read-<snapshot>-<random>``). So every expiry, including Java's, keeps the files of the snapshot, and plans of
an expiry name the tag. The end of the read deletes the tag; after a crash, the next expiry of tags after the retention
time deletes it.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from paimon_core.argument_checks import as_millis
from paimon_core.errors import InvalidRequest, TagNotFound
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.metadata.table_identity import same_table
from paimon_core.query.scan_options import LEASE_PREFIX, SCAN_HOLDER
from paimon_core.table.refs.tags import Tags

LONGEST = datetime.timedelta(days=7)
"""The longest time from the start of a lease to its end, including all renewals."""
MOST_LEASES = 256
"""The maximum number of leases of one table at a time."""
_NAME = re.compile(rf"{LEASE_PREFIX}[0-9]+-[0-9a-f]{{8}}(?:-(.+))?")
_HOLDER = re.compile(r"[A-Za-z0-9._-]{1,64}")
View = TypeVar("View")


@dataclass(frozen=True)
class LeaseTag:
    """A lease as the table records it; another engine may have created it."""

    tag: str
    snapshot_id: int
    holder: str
    """The holder that was stated when the lease was created; "" when no holder was stated."""
    expires_millis: int | None
    """The epoch milliseconds at which the protection ends; None: it ends when someone deletes the tag."""


class Lease(Generic[View]):
    """The lease of one read; ``with`` returns the view that is pinned to the protected snapshot.

    No expiry deletes files of the snapshot until the lease ends or its time is over. A rollback to an older snapshot
    deletes the tag: then a read raises SnapshotNotFound.
    """

    def __init__(
        self,
        context: TableContext,
        pinned: Snapshot | None,
        open_at: Callable[[Snapshot], View],
        keep_for: datetime.timedelta,
        holder: str,
    ) -> None:
        """Create the tag on ``pinned``, or else the latest snapshot, and open the view; see ``TableView.lease``."""
        self._context = context
        self._started = clock.now_millis()
        self._check(keep_for)
        if not isinstance(holder, str) or (holder and not _HOLDER.fullmatch(holder)):
            raise InvalidRequest(
                f"holder must be 1 to 64 letters, digits, '.', '_' and '-', not {holder!r:.80}", holder=holder
            )
        held = [
            lease
            for lease in leases_of(self._context)
            if not _is_over(lease, self._started) and lease.holder != SCAN_HOLDER
        ]
        if len(held) >= MOST_LEASES:
            raise InvalidRequest(
                f"table {self._context.name} has {len(held)} leases, and at most {MOST_LEASES} are allowed: delete "
                f"tags {LEASE_PREFIX}* that are not in use",
                table=self._context.name,
            )
        self._holder = holder
        position = pinned or context.snapshots.latest()
        name = self._new_name(0 if position is None else position.id)
        self.tag: Tag = Tags(context, pinned).create(name, keep_for=keep_for)
        self.table: View = open_at(self.tag.snapshot)

    def renew(self, keep_for: datetime.timedelta) -> None:
        """Protect the snapshot for ``keep_for`` from now on, even if its snapshot file has expired.

        A new tag is created, then the old tag is deleted, so that the snapshot is protected at every moment. Raises
        InvalidRequest when the lease would last more than ``LONGEST`` in all, TagNotFound when the lease has ended and
        its tag is deleted.
        """
        self._check(keep_for)
        old = Tags(self._context).read(self.tag.name)
        self.tag = Tags(self._context, old.snapshot).create(self._new_name(old.snapshot.id), keep_for=keep_for)
        with contextlib.suppress(TagNotFound):
            Tags(self._context).delete(old.name)

    def release(self) -> None:
        """End the lease, and delete the files that only the lease protected; does nothing when the lease has ended."""
        with contextlib.suppress(TagNotFound):
            Tags(self._context).delete(self.tag.name)

    def __enter__(self) -> View:
        return self.table

    def __exit__(self, *_: object) -> None:
        self.release()

    def _new_name(self, snapshot_id: int) -> str:
        return f"{LEASE_PREFIX}{snapshot_id}-{uuid.uuid4().hex[:8]}" + (f"-{self._holder}" if self._holder else "")

    def _check(self, keep_for: datetime.timedelta) -> None:
        end = clock.now_millis() + as_millis("keep_for", keep_for) - self._started
        if end < 1 or end > as_millis("LONGEST", LONGEST):
            raise InvalidRequest(f"a lease lasts more than 0 and at most {LONGEST.days} days, not {keep_for}")


def leases_of(context: TableContext) -> list[LeaseTag]:
    """Return the leases of a table, sorted by tag, including leases whose time is over."""
    return [
        LeaseTag(tag.name, tag.snapshot.id, name.group(1) or "", tag.expires_millis)
        for tag in same_table(context).tags.list()
        if (name := _NAME.fullmatch(tag.name)) is not None
    ]


def _is_over(lease: LeaseTag, now_millis: int) -> bool:
    return lease.expires_millis is not None and lease.expires_millis <= now_millis
