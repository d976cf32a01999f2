"""The end of a history: without faults, the remaining writers commit, and the whole table is checked."""

from __future__ import annotations

import contextlib
import datetime
import re
from typing import TYPE_CHECKING, Any

from paimon_core.errors import CommitConflict, CorruptTable, PaimonError
from paimon_core.fsck.check import check
from paimon_core.storage.paths import MAIN
from paimon_core.table.table import Table
from tests.simulator.world import DAY, Actor

if TYPE_CHECKING:
    from tests.simulator.history import History

WRITERS = 3


def check_end(history: History) -> None:
    """Check liveness, then the invariants of the whole table, with and without hints."""
    world = history.world
    world.quiet = True
    world.chances = type(world.chances)()
    check_liveness(history)
    table = history.table(None)
    try:
        check_orphaned(history, table)
        check_table(history, table)
        if history.world.seed % 2 == 0:
            check_garbage(history, table)
        check_fsck(history, table)
        history.check_more(table)
    except PaimonError as error:
        history.oracle.fail("the end", f"I6: {type(error).__name__}: {error}")


def check_liveness(history: History) -> None:
    """I33: every writer commits in at most writers + 2 tries.

    A snapshot of a paused writer that was left on a removed base stops all commits, and their error says to which
    snapshot to roll back. They must commit after that.
    """
    actors, advised = _commit_side_by_side(history)
    if advised is not None and history.oracle.orphaned:
        history.world.count("rolled back as the error says")

        def do(table: Table, begin: Any) -> None:
            call = begin("rollback")
            table.rollback(snapshot=advised)
            history.oracle.done(call)

        history.world.spawn("admin", lambda actor: history.job(actor, do))
        history.world.run()
        actors, _ = _commit_side_by_side(history)
    for actor in actors:
        if actor.call is None or actor.call.outcome != "acknowledged":
            history.oracle.fail(actor.name, f"I33: cannot commit although nothing fails: {actor.call}")
        elif actor.publishes > (WRITERS + 2) * max(1, len(actor.call.created)):
            history.oracle.fail(actor.name, f"I33: needed {actor.publishes} tries")


def _commit_side_by_side(history: History) -> tuple[list[Actor], int | None]:
    """Run a commit of each of some new writers; return them, and the snapshot that an error advised to roll back to."""
    advised: list[str] = []

    def commit_once(actor: Actor) -> None:
        def do(table: Table, begin: Any) -> None:
            try:
                history.survivor_write(actor)(table, begin, actor.name, 1)
            except CommitConflict as error:
                advised.extend(re.findall(r"roll back to snapshot (\d+)$", str(error)))
                raise

        history.job(actor, do, tries=history.SURVIVOR_TRIES)

    actors = [history.world.spawn(f"survivor {n}", commit_once) for n in range(WRITERS)]
    history.world.run()
    return actors, int(advised[0]) if advised else None


def check_orphaned(history: History, table: Table) -> None:
    """A writer that was paused and then crashed may leave an orphaned snapshot: the next expiry must delete it."""
    oracle = history.oracle
    if oracle.orphaned:
        history.world.count("orphaned snapshot left by a crash")
        oracle.end.kind = "expire"
        table.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0))
        oracle.end.kind = "the end"
    for path, (call, problem) in oracle.orphaned.items():
        oracle.fail(call, f"{problem}; it is still there at the end: {path}")


def check_table(history: History, table: Table, branch: str = MAIN) -> None:
    oracle, disk, context = history.oracle, history.disk, table.context
    chain = oracle.chains.get(branch, [])
    ids = context.snapshots.ids()
    if not chain and not ids:
        return
    present = [v for v in chain if oracle._path(v) in disk.files]
    if ids != list(range(ids[0], ids[-1] + 1)) or ids[-1] != chain[-1].snapshot.id:
        oracle.fail("the end", f"I1: the ids are {ids}, the latest is {chain[-1].snapshot.id}")
    if [v.snapshot.id for v in present] != ids:
        oracle.fail("the end", f"I1: the ids are {ids}, not {[v.snapshot.id for v in present]}")
    for version in present:
        if disk.files[oracle._path(version)].data != version.data:
            oracle.fail("the end", f"I2: snapshot {version.snapshot.id} has changed")
        _check_content(history, table, version.snapshot, version.files)
    for tag in context.tags.list():
        version = oracle.by_uuid.get(tag.snapshot.uuid or "")
        if version is None:  # of a snapshot that was withdrawn: it must be readable nevertheless
            context.manifests.entries_of(tag.snapshot)
            continue
        _check_content(history, table, tag.snapshot, version.files, f"I21: tag {tag.name}")
        oracle._check_there("the end", version.paths, f"tag {tag.name}")
    if branch == MAIN:
        _check_hints(history, ids)
        for name in table.branches.list():
            check_table(history, table.branch(name), name)


def _check_content(history: History, table: Table, snapshot: Any, files: Any, what: str = "") -> None:
    found = {e.identity for e in table.context.manifests.entries_of(snapshot)}
    if found != files.keys():
        history.oracle.fail(
            "the end", f"I10: {what or f'snapshot {snapshot.id}'} has other files than it was made with"
        )


def _check_hints(history: History, ids: list[int]) -> None:
    """I24: the first and the last snapshot do not depend on the hints."""
    disk, oracle = history.disk, history.oracle
    snapshots = history.table(None).context.snapshots
    for content in (None, b"", b"garbage", b"1", b"999"):
        for name in ("LATEST", "EARLIEST"):
            path = snapshots.paths.hint(name)
            if content is None:
                disk.remove(path)
            else:
                disk.put(path, content)
        if (snapshots.earliest_id(), snapshots.latest_id()) != (ids[0], ids[-1]):
            oracle.fail("the end", f"I24: with hints {content!r} the ids end at {snapshots.latest_id()}")


def check_garbage(history: History, table: Table) -> None:
    """I27, I29: without concurrent operations, one clean-up leaves exactly the files that are needed."""
    oracle, world = history.oracle, history.world
    world.now += 30 * DAY
    maintenance = table.maintenance
    maintenance.apply(maintenance.plan_orphan_removal(older_than=datetime.timedelta(days=1), mode="delete"))
    maintenance.apply(maintenance.plan_quarantine_purge(older_than=datetime.timedelta(0)))
    root = oracle.root
    kept = {path.removeprefix(root) for path in (*oracle.needed, *oracle.roots)}
    there = {path.removeprefix(root) for path in history.disk.files}
    named = _named(table)
    left = {path for path in there - kept if path.rpartition("/")[2] not in named}
    if left or kept - there:
        oracle.fail("the end", f"I29: after a clean-up {sorted(left)} are left and {sorted(kept - there)} are missing")
    check_table(history, table)


def _named(table: Table) -> set[str]:
    """Return the files that snapshots and tags reference without needing them.

    These are files that they delete, and changelogs of tagged snapshots.
    """
    names = {"schema-0", "LATEST", "EARLIEST"}
    for context in (table.context, *(table.context.on_branch(b) for b in table.branches.list())):
        snapshots = [context.snapshots.read(i) for i in context.snapshots.ids()]
        for snapshot in [*snapshots, *(t.snapshot for t in context.tags.list())]:
            for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
                with contextlib.suppress(CorruptTable):  # a changelog that has expired
                    for manifest in context.manifests.read_list(name) if name else ():
                        names |= {name or "", manifest.file_name}
                        files = [e.file for e in context.manifests.read_manifest(manifest.file_name)]
                        names |= {n for file in files for n in (file.file_name, *file.extra_files)}
    return names


def check_fsck(history: History, table: Table) -> None:
    """Check that fsck finds no error; only in one of eight histories, because it takes long."""
    if history.world.seed % 8:
        return
    report = check(table.context)
    # The changelog of a snapshot that was restored or copied from a tag may have expired.
    versions = history.oracle.by_uuid.values()
    changelogs = {path for v in versions for path in v.changelog if path not in history.oracle.needed}
    errors = [f for f in report.errors if f.path not in changelogs]
    if errors:
        history.oracle.fail("the end", f"fsck: {errors[0].sentence()}")
