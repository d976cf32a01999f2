"""Oracle: checks the guarantees of a table at every change of the store and at the end of every call.

It knows every snapshot that was ever created, also expired ones, and the call that created it. It counts by path which
files live snapshots and tags need, so that a deletion of a needed file is found at the call that deletes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.manifest_file import live_entries
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from paimon_core.metadata.stores.snapshot_store import parse_snapshot
from paimon_core.storage.paths import MAIN
from tests.simulator.store import Disk, SimStorage
from tests.simulator.world import World

State = Any
"""The logical content of a table, immutable: rows by partition."""


@dataclass(eq=False)
class Version:
    """A snapshot as it was created."""

    snapshot: Snapshot
    branch: str
    call: Call
    files: dict[Any, ManifestEntry]
    """The live files by identity."""
    state: State
    paths: frozenset[str]
    """All files that are needed to read its rows."""
    changelog: frozenset[str]
    data: bytes
    rolled_back: bool = False


@dataclass(eq=False)
class Call:
    """One request to the product by one process, with the facts that the oracle needs."""

    number: int
    actor: str
    kind: str
    user: str = ""
    identifier: int = BATCH_IDENTIFIER
    messages: Sequence[CommitMessage] | None = None
    """The committed messages; None when the product creates them itself."""
    replaces: Callable[[bytes], bool] | None = None
    """The partitions that an overwrite replaces."""
    apply: Callable[[State], State] | None = None
    """How its snapshot changes the content, without its compaction."""
    retain: int = 1
    rollbacks: int = 0
    """The number of rollbacks before it."""
    created: list[Version] = field(default_factory=list)
    outcome: str = "running"

    def __str__(self) -> str:
        return f"call {self.number} ({self.kind} of {self.actor}, {self.user} {self.identifier % BATCH_IDENTIFIER})"


@dataclass
class Oracle:
    world: World
    disk: Disk
    context: TableContext
    """The table on a storage without faults."""
    empty: State
    contents: dict[str, Any] = field(default_factory=dict)
    """The rows by data file, where they are known."""
    state_of: Callable[[dict[Any, ManifestEntry]], State] | None = None
    """Returns the content of files; None: it is known only by reading."""
    chains: dict[str, list[Version]] = field(default_factory=dict)
    """The history by branch, without snapshots that were rolled back, with expired ones."""
    by_uuid: dict[str, Version] = field(default_factory=dict)
    needed: Counter[str] = field(default_factory=Counter)
    roots: dict[str, frozenset[str]] = field(default_factory=dict)
    """The needed files by snapshot file or tag file."""
    unprotected: dict[str, Call] = field(default_factory=dict)
    """Tags and snapshot files whose files may be deleted: the calls that created them must delete them again."""
    orphaned: dict[str, tuple[Call, str]] = field(default_factory=dict)
    """Orphaned snapshots, for example of a paused writer: the calls that created them must withdraw them."""
    orphaned_during_rollback: set[str] = field(default_factory=set)
    """Uuids of orphaned snapshots created during a rollback, which may delete them even after their call succeeded."""
    orphaned_uuids: set[str] = field(default_factory=set)
    """Uuids of all orphaned snapshots."""
    rollbacks: int = 0
    rollback_runs: bool = False
    """Whether a rollback runs, from its first try to its success."""
    versions_at: dict[str, bytes] = field(default_factory=dict)
    """The bytes of every snapshot file as it was created last."""
    calls: int = 0
    commits: int = 0
    unknown: int = 0

    def __post_init__(self) -> None:
        self.root = self.context.paths.root + "/"
        self.plain = SimStorage(self.disk)
        self.end = Call(0, "the end", "the end")

    # -- calls

    def begin(self, actor: str, kind: str, **known: Any) -> Call:
        self.calls += 1
        before = self.rollbacks - self.rollback_runs  # without one that runs now: it may still have effects
        if kind == "rollback":
            self.rollback_runs = True
            self.rollbacks += 1
            before += 1
        return Call(self.calls, actor, kind, rollbacks=before, **known)

    def acknowledged(self, call: Call, returned: Iterable[Snapshot]) -> None:
        """The call succeeded: check that the returned snapshots exist, or existed until an expiry or rollback."""
        self._end(call, "acknowledged")
        returned = list(returned)
        uuids = {s.uuid for s in returned}
        for version in call.created:
            # After it has expired, another process may commit it again: the identifier is then not known any more.
            here = self._path(version) in self.roots and not version.rolled_back
            own = version.snapshot.commit_user == call.user  # the compaction after a write has another user
            if here and own and version.snapshot.uuid not in uuids and len(call.created) == 1:
                self.fail(call, f"I4: made snapshot {version.snapshot.id} and returned {[s.id for s in returned]}")
        for snapshot in returned:
            version = self.by_uuid.get(snapshot.uuid or "")
            if version is None:
                if snapshot.uuid not in self.orphaned_during_rollback and not (
                    snapshot.uuid in self.orphaned_uuids and self._landed(call)
                ):
                    self.fail(call, f"I4: returned snapshot {snapshot.id}, which was never made")
            elif call.identifier != BATCH_IDENTIFIER and (
                (version.snapshot.commit_user, version.snapshot.commit_identifier) != (call.user, call.identifier)
            ):
                self.fail(call, f"I4: returned snapshot {snapshot.id}, which is another's")
        if call.kind in ("append", "overwrite") and not returned:
            self.fail(call, "I4: a commit of rows returned without a snapshot")

    def _landed(self, call: Call) -> bool:
        """Whether this (user, identifier) is in the snapshot chain; it may have expired."""
        identity = (call.user, call.identifier)
        versions = self.by_uuid.values()
        return any((v.snapshot.commit_user, v.snapshot.commit_identifier) == identity for v in versions)

    def refused(self, call: Call, error: Exception) -> None:
        """The call failed: check that none of its snapshots is visible, except those that the error names."""
        self._end(call, f"failed: {type(error).__name__}")
        describe = set(getattr(error, "facts", {}).get("committed", ()))
        made = {v.snapshot.id for v in call.created if not v.rolled_back}
        if made - describe or (
            describe - {v.snapshot.id for v in call.created} and call.identifier == BATCH_IDENTIFIER
        ):
            self.fail(call, f"I5: failed with {error!r}, but snapshots {sorted(made)} of it were made")

    def undecided(self, call: Call) -> None:
        """The outcome of the call is unknown, for example because its process ended."""
        self.unknown += 1
        self._end(call, "unknown")

    def done(self, call: Call) -> None:
        """A call that commits nothing succeeded."""
        self._end(call, "done")
        for path, maker in self.unprotected.items():
            if maker is call and "/snapshot/" in path:
                self.fail(call, f"I22: {path} was made, but its files may be gone")
        if call.kind == "rollback":
            self._forget_the_rest()
            self.rollback_runs = False
            self.check_contiguous(call)
            for path, (maker, problem) in self.orphaned.items():
                if maker.outcome != "running":
                    self.fail(call, f"{problem}; it is still there after the rollback: {path}")

    def _end(self, call: Call, outcome: str) -> None:
        call.outcome = outcome
        self.world.note(call, outcome)
        for path, (maker, problem) in self.orphaned.items():
            if maker is call and outcome != "unknown" and not self.rollback_runs:
                self.fail(call, f"{problem}; it is still there at the end of the call: {path}")

    def _forget_the_rest(self) -> None:
        """Mark snapshots above the latest as rolled back: an expiry may have deleted the others during the rollback."""
        for branch, chain in self.chains.items():
            latest = max((v.snapshot.id for v in chain if self._path(v) in self.roots), default=None)
            if latest is not None:
                for version in chain:
                    version.rolled_back = version.rolled_back or version.snapshot.id > latest
                self.chains[branch] = [v for v in chain if v.snapshot.id <= latest]

    def check_contiguous(self, call: Any) -> None:
        """I1: the existing snapshots have no gap."""
        for branch, chain in self.chains.items():
            ids = [v.snapshot.id for v in chain if self._path(v) in self.roots]
            if ids and ids != list(range(ids[0], ids[-1] + 1)):
                self.fail(call, f"I1: the snapshots of {branch} are {ids}")

    def fail(self, call: Any, problem: str) -> None:
        self.world.fail(f"{problem} [{call}]")

    # -- changes of the store

    def watch(self, what: str, path: str, data: bytes) -> None:
        name = path.rpartition("/")[2]
        if name in ("LATEST", "EARLIEST") or not path.startswith(self.root):
            return
        if "/snapshot/snapshot-" in path:
            self._snapshot(what, path, data, int(name.removeprefix("snapshot-")))
        elif "/tag/tag-" in path:
            self._tag(what, path, data)
        elif what == "delete":
            if self.needed.get(path):
                roots = [r.removeprefix(self.root) for r, paths in self.roots.items() if path in paths]
                self.fail(self._call(), f"I6: deletes {path.removeprefix(self.root)}, which {roots} need")
        elif what == "replace" and self._call().kind != "create branch":
            self.fail(self._call(), f"I9: {path} is written again")

    def _call(self) -> Call:
        current = self.world.current
        return current.call if current is not None and current.call is not None else self.end

    def branch_of(self, path: str) -> str:
        rest = path.removeprefix(self.root)
        return rest.split("/")[1].removeprefix("branch-") if rest.startswith("branch/") else MAIN

    def _snapshot(self, what: str, path: str, data: bytes, number: int) -> None:
        call, branch = self._call(), self.branch_of(path)
        chain = self.chains.setdefault(branch, [])
        if what == "replace" and (call.kind != "create branch" or self.versions_at.get(path) != data):
            self.fail(call, f"I2: snapshot {number} is replaced")
        if what == "create":
            self.versions_at[path] = data
        if what == "replace":
            return
        if what == "delete" and path in self.orphaned:
            del self.orphaned[path]
        elif what == "create":
            snapshot = parse_snapshot(data, path)
            known = self.by_uuid.get(snapshot.uuid or "")
            if known is not None and call.kind in RESTORING and call is not known.call:
                self._restored(call, branch, known, path, data)
            else:
                self._made(call, branch, snapshot, path, data)
        else:
            self._unprotect(path)
            self.unprotected.pop(path, None)
            version = next((v for v in reversed(chain) if v.snapshot.id == number), None)
            if call.kind in ("delete branch", "create branch"):
                self.chains[branch] = [v for v in chain if v is not version]
            if version is None or call.kind in ("delete branch", "create branch"):
                return
            present = [v.snapshot.id for v in chain if self._path(v) in self.roots]
            withdrawn = version.call is call and number - 1 not in present  # a rollback has deleted its base
            if call.kind == "rollback" or withdrawn:
                version.rolled_back = True
                self.chains[branch] = [v for v in chain if v is not version]
            elif call.kind == "expire" or (call.messages is None and call.kind in WRITING):
                if present and number > min(present):
                    self.fail(call, f"I1: expires {number} before {min(present)}")
                alone = not self.rollback_runs and call.rollbacks == self.rollbacks
                if number > chain[-1].snapshot.id - call.retain and alone:
                    self.fail(call, f"I26: expires {number} of {present}, but keeps {call.retain}")
            else:
                self.fail(call, f"I1: deletes snapshot {number}")

    def _path(self, version: Version) -> str:
        return self.paths(version.branch).snapshot(version.snapshot.id)

    def paths(self, branch: str) -> Any:
        return type(self.context.paths)(self.context.paths.root, branch)

    def _restored(self, call: Call, branch: str, known: Version, path: str, data: bytes) -> None:
        """Check a snapshot file that was restored from a tag or a branch: the same snapshot, with all its files."""
        if parse_snapshot(data, path) != known.snapshot:
            self.fail(call, f"I21: snapshot {known.snapshot.id} comes back with other contents")
        if call.kind == "fast forward" and self.chains[branch]:
            top = self.chains[branch][-1].snapshot.id
            if known.snapshot.id != top + 1:
                self.fail(call, f"I22: a fast-forward adds snapshot {known.snapshot.id} after {top}")
        version = Version(
            known.snapshot, branch, known.call, known.files, known.state, known.paths, known.changelog, data
        )
        self.chains[branch] = [v for v in self.chains[branch] if v.snapshot.id != known.snapshot.id] + [version]
        self.chains[branch].sort(key=lambda v: v.snapshot.id)
        if call.kind == "create branch" and not all(self.needed.get(p) for p in version.paths):
            self.unprotected[path] = call  # its tag was deleted concurrently
            return
        self._protect(path, version.paths)
        self._check_there(call, version.paths, f"snapshot {known.snapshot.id}")

    def _made(self, call: Call, branch: str, snapshot: Snapshot, path: str, data: bytes) -> None:
        if self.rollback_runs:
            self._forget_the_rest()
        chain = self.chains[branch]
        before = chain[-1] if chain else None
        top = before.snapshot.id if before else 0
        if call is self.end:
            self.fail(call, f"I3: snapshot {snapshot.id} comes from nowhere")
        manifests = self.context.manifests
        base = [e for m in manifests.read_list(snapshot.base_manifest_list) for e in self._entries(m)]
        files = dict(before.files) if before else {}
        if snapshot.id != top + 1:
            self.orphaned[path] = call, f"I3: makes snapshot {snapshot.id} where {top} is the latest"
        elif {e.identity for e in live_entries(base)} != files.keys():
            self.orphaned[path] = call, f"I7: the base of snapshot {snapshot.id} is not what was there before it"
        if path in self.orphaned:
            self.world.count("orphaned snapshot")
            self.orphaned_uuids.add(snapshot.uuid or "")
            if self.rollback_runs:
                self.orphaned_during_rollback.add(snapshot.uuid or "")
            return
        self._check_once(call, branch, snapshot)
        changelog = self._follow(call, before, snapshot, files)
        state = before.state if before else self.empty
        if snapshot.commit_kind is not CommitKind.COMPACT and call.apply is not None:
            state = call.apply(state)
        if self.state_of is not None:
            held = self.state_of(files)
            if held != state:
                self.fail(call, f"I10/I11: snapshot {snapshot.id} ({snapshot.commit_kind}) holds {held}, not {state}")
        paths = self._needs(snapshot, files)
        version = Version(snapshot, branch, call, files, state, paths, changelog, data)
        chain.append(version)
        call.created.append(version)
        self.by_uuid[snapshot.uuid or ""] = version
        self.commits += 1
        self._check_there(call, paths | changelog, f"snapshot {snapshot.id}")
        self._protect(path, paths | changelog)
        self.made(version)

    def made(self, version: Version) -> None:
        """Called for every new snapshot; overridden by oracles that read rows."""

    def _check_once(self, call: Call, branch: str, snapshot: Snapshot) -> None:
        is_compaction = snapshot.commit_kind is CommitKind.COMPACT
        if (snapshot.commit_user, snapshot.commit_identifier) != (call.user, call.identifier) and call.messages:
            self.fail(call, f"I4: snapshot {snapshot.id} is of user {snapshot.commit_user}")
        for other in call.created:
            o = other.snapshot
            same = (o.commit_user, is_compaction) == (snapshot.commit_user, o.commit_kind is CommitKind.COMPACT)
            # After a conflict, a compaction commits each bucket separately.
            if same and not other.rolled_back and not (is_compaction and call.messages is None):
                self.fail(call, f"I4: lands twice, as snapshots {o.id} and {snapshot.id}")
        if BATCH_IDENTIFIER in (call.identifier, snapshot.commit_identifier):
            return
        for other in self.chains[branch]:
            o = other.snapshot
            same = (o.commit_user, o.commit_identifier) == (snapshot.commit_user, snapshot.commit_identifier)
            if same and is_compaction == (o.commit_kind is CommitKind.COMPACT) and self._path(other) in self.roots:
                self.fail(call, f"I30: {o.commit_user} {o.commit_identifier} is snapshots {o.id} and {snapshot.id}")

    def _follow(
        self, call: Call, before: Version | None, snapshot: Snapshot, files: dict[Any, ManifestEntry]
    ) -> frozenset[str]:
        """Apply the delta of the snapshot to ``files``, check it, and return the paths of its changelog."""
        manifests = self.context.manifests
        delta = [e for m in manifests.read_list(snapshot.delta_manifest_list) for e in self._entries(m)]
        if call.messages is not None:
            self._check_delta(call, snapshot, files, delta)
        for entry in delta:
            if entry.kind is FileKind.ADD:
                if entry.identity in files:
                    self.fail(call, f"I8: snapshot {snapshot.id} adds {entry.file.file_name}, which is there")
                files[entry.identity] = entry
            elif files.pop(entry.identity, None) is None:
                self.fail(call, f"I8: snapshot {snapshot.id} deletes {entry.file.file_name}, which is not there")
        changed = sum(e.file.row_count * (1 if e.kind is FileKind.ADD else -1) for e in delta)
        total = sum(e.file.row_count for e in files.values())
        if (snapshot.total_record_count, snapshot.delta_record_count) != (total, changed):
            self.fail(call, f"I18: snapshot {snapshot.id} counts {snapshot.total_record_count} rows of {total}")
        if before and snapshot.time_millis < before.snapshot.time_millis:
            self.fail(call, f"I31: snapshot {snapshot.id} is earlier than the one before")
        if before and (snapshot.watermark or 0) < (before.snapshot.watermark or 0):
            self.fail(call, f"I31: the watermark falls at snapshot {snapshot.id}")
        return self._changelog(call, snapshot)

    def _entries(self, manifest: Any) -> list[ManifestEntry]:
        return self.context.manifests.read_manifest(manifest.file_name, manifest.file_size)

    def _check_delta(self, call: Call, snapshot: Snapshot, files: Any, delta: list[ManifestEntry]) -> None:
        added, deleted = set(), set()
        for m in call.messages or ():
            if snapshot.commit_kind is CommitKind.COMPACT:
                added |= {f.file_name for f in m.compact_after}
                deleted |= {f.file_name for f in m.compact_before}
            else:
                added |= {f.file_name for f in m.new_files}
                deleted |= {f.file_name for f in m.deleted_files}
        if call.replaces is not None and snapshot.commit_kind is CommitKind.OVERWRITE:
            deleted |= {e.file.file_name for e in files.values() if call.replaces(e.partition)}
        for kind, wanted in ((FileKind.ADD, added), (FileKind.DELETE, deleted)):
            found = {e.file.file_name for e in delta if e.kind is kind}
            if found != wanted:
                self.fail(call, f"I7: snapshot {snapshot.id} {kind.name}s {sorted(found)}, not {sorted(wanted)}")

    def _changelog(self, call: Call, snapshot: Snapshot) -> frozenset[str]:
        paths, wanted = set(), set()
        for m in call.messages or ():
            if snapshot.commit_kind is CommitKind.COMPACT:
                wanted |= {f.file_name for f in m.compact_changelog}
            elif call.replaces is None:
                wanted |= {f.file_name for f in m.changelog_files}
        found = set()
        if snapshot.changelog_manifest_list is not None:
            paths.add(self.context.paths.manifest(snapshot.changelog_manifest_list))
            for manifest in self.context.manifests.read_list(snapshot.changelog_manifest_list):
                paths.add(self.context.paths.manifest(manifest.file_name))
                for entry in self._entries(manifest):
                    found.add(entry.file.file_name)
                    paths.add(self.data_path(entry))
        if call.messages is not None and found != wanted:
            self.fail(call, f"I20: the changelog of snapshot {snapshot.id} is {sorted(found)}, not {sorted(wanted)}")
        return frozenset(paths)

    def data_path(self, entry: ManifestEntry, name: str = "") -> str:
        """Return the path of the data file, or of another file beside it."""
        partition = self.context.partition_path(entry.partition)
        return self.context.paths.data_file(partition, entry.bucket, name or entry.file.file_name)

    def _needs(self, snapshot: Snapshot, files: dict[Any, ManifestEntry]) -> frozenset[str]:
        manifest = self.context.paths.manifest
        out = {self.data_path(e, name) for e in files.values() for name in (e.file.file_name, *e.file.extra_files)}
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            out.add(manifest(name))
            out |= {manifest(m.file_name) for m in self.context.manifests.read_list(name)}
        if snapshot.index_manifest is not None:
            out.add(manifest(snapshot.index_manifest))
            indexes = self.context.manifests.read_indexes(snapshot.index_manifest)
            out |= {self.context.paths.index(i.file.file_name) for i in indexes}
        return frozenset(out)

    def _check_there(self, call: Any, paths: Iterable[str], what: str) -> None:
        missing = [p.removeprefix(self.root) for p in paths if p not in self.disk.files]
        if missing:
            self.fail(call, f"I6: {what} needs {sorted(missing)}, which are not there")

    def _tag(self, what: str, path: str, data: bytes) -> None:
        call = self._call()
        if what != "create":
            self._unprotect(path)
            self.unprotected.pop(path, None)
        if what == "delete":
            return
        snapshot = parse_snapshot(data, path)
        version = self.by_uuid.get(snapshot.uuid or "")
        if version is None and snapshot.uuid in self.orphaned_uuids:
            self.unprotected[path] = call
        elif version is None or parse_snapshot(version.data, path) != snapshot:
            self.fail(call, f"I21: tag {path} is no snapshot that was ever made")
        elif all(self.needed.get(p) for p in version.paths):
            self._protect(path, version.paths)
        else:
            self.unprotected[path] = call

    # -- needed files

    def _protect(self, root: str, paths: frozenset[str]) -> None:
        self.roots[root] = paths
        self.needed.update(paths)

    def _unprotect(self, root: str) -> None:
        needed = self.needed
        for path in self.roots.pop(root, ()):
            if needed[path] == 1:
                del needed[path]
            else:
                needed[path] -= 1

    def latest(self, branch: str = MAIN) -> Version | None:
        chain = self.chains.get(branch)
        return chain[-1] if chain else None


WRITING = ("append", "overwrite", "delete", "compact")
"""Calls that also expire snapshots, unless the table is write-only."""
RESTORING = ("rollback", "expire", "create branch", "fast forward")
