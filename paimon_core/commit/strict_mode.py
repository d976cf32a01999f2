"""Strict mode: refuses commits to partitions that another user has rewritten after the last safe snapshot."""

from __future__ import annotations

from collections.abc import Collection

from paimon_core.codec.record_file import read_records
from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import describe
from paimon_core.errors import CommitConflict, SnapshotNotFound
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.metadata.snapshot import CommitKind, Snapshot

_OPTION = "commit.strict-mode.last-safe-snapshot"


def check_strict(base: Base, user: str, kind: CommitKind, partitions: Collection[bytes]) -> None:
    """Check option commit.strict-mode.last-safe-snapshot (format 14.5); with -1 or no value, nothing is checked.

    Raises CommitConflict when, after the safe snapshot, another user has committed a COMPACT or OVERWRITE snapshot of
    one of the partitions. If this commit is an OVERWRITE, an APPEND snapshot of another user is a conflict as well.
    Also raises CommitConflict when a snapshot that must be checked has expired.
    """
    safe = base.context.options[_OPTION]
    if safe is None or safe < 0 or not partitions:
        return
    for snapshot_id in range(safe + 1, base.id + 1):
        snapshot = _read(base, snapshot_id)
        if snapshot.commit_user != user and _clashes(base, snapshot, kind, partitions):
            raise CommitConflict(
                f"table {base.context.name}: {describe(snapshot)} changed partitions of this {kind} commit of user "
                f"{user} after snapshot {safe}, the last safe one (option {_OPTION}): check what it did, then set the "
                f"option to {snapshot.id} or more and commit again",
                table=base.context.name,
                other_user=snapshot.commit_user,
                other_snapshot=snapshot.id,
                other_kind=str(snapshot.commit_kind),
            )


def _read(base: Base, snapshot_id: int) -> Snapshot:
    try:
        return base.context.snapshots.read(snapshot_id)
    except SnapshotNotFound as error:
        raise CommitConflict(
            f"table {base.context.name}: snapshot {snapshot_id} has expired, so it cannot be determined whether a "
            f"commit after it is safe: set option {_OPTION} to a snapshot that you know to be safe",
            table=base.context.name,
            snapshot=snapshot_id,
        ) from error


def _clashes(base: Base, snapshot: Snapshot, kind: CommitKind, partitions: Collection[bytes]) -> bool:
    rewrites = snapshot.commit_kind in (CommitKind.COMPACT, CommitKind.OVERWRITE)
    if not rewrites and not (snapshot.commit_kind is CommitKind.APPEND and kind is CommitKind.OVERWRITE):
        return False
    delta = base.context.manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
    return _touches(base, delta, partitions, any_bucket=rewrites) or (
        rewrites and _changes_index(base, snapshot, partitions)
    )


def _touches(base: Base, delta: list[ManifestFile], partitions: Collection[bytes], *, any_bucket: bool) -> bool:
    """Whether the delta has an entry of one of the partitions.

    Without ``any_bucket`` the postpone bucket is ignored: its rows are not assigned to a bucket yet.
    """
    return any(
        entry.partition in partitions and (any_bucket or entry.bucket >= 0)
        for manifest in delta
        if base.may_hold(manifest, partitions)
        for entry in base.read(manifest)
    )


def _changes_index(base: Base, snapshot: Snapshot, partitions: Collection[bytes]) -> bool:
    """Whether a snapshot has a new index manifest, and this manifest has an entry of one of the partitions."""
    name = snapshot.index_manifest
    if name is None:
        return False
    try:
        if base.context.snapshots.read(snapshot.id - 1).index_manifest == name:
            return False
    except SnapshotNotFound:
        pass
    path = base.context.paths.manifest(name)
    return any(record.get("_PARTITION") in partitions for record in read_records(base.context.storage.read(path), path))
