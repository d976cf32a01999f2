"""Worker: a process that runs one operation after the other on the table, and records each in its journal.

It records the start of an operation, what it publishes, and the result. An error that an operation does not document
is a violation, with its traceback. After it was killed, a worker repeats the operation without result, or leaves it.
"""

from __future__ import annotations

import datetime
import logging
import os
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paimon_core as paimon
from paimon_core.errors import (
    AlreadyExists,
    CommitConflict,
    CommitStateUnknown,
    NotFound,
    PlanOutdated,
    SnapshotNotFound,
    TagNotFound,
)
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.table.table import Table
from tests.soak.gate import Gate
from tests.soak.journal import Journal, lines_of
from tests.soak.model import ENGINES, SCHEMA, Spec, arrow, content_hash, draw_spec, predicate

NAME = "db.t"
SYSTEM_CALLS = ("link", "fsync", "unlink", "open", "replace", "rmdir")
ROUNDS_OF_A_ROLLBACK = 5


def create(folder: Path, engine_name: str) -> None:
    engine = ENGINES[engine_name]
    catalog = paimon.open_catalog(str(folder / "warehouse"))
    catalog.create_database("db")
    options = dict(engine.options) | {
        "num-sorted-run.compaction-trigger": "4",
        "snapshot.num-retained.min": "6",
        "snapshot.num-retained.max": "30",
        "snapshot.time-retained": "1 s",
        "manifest.merge-min-count": "5",
        "manifest.target-file-size": "4 kb",
        "commit.max-retries": "1000",
        "commit.timeout": "10 min",
    }
    keys = ["p", "k"] if engine.is_keyed else []
    catalog.create_table(NAME, SCHEMA, primary_key=keys, partition_by=["p"], options=options)


def facts(snapshot: Snapshot | None) -> dict[str, Any] | None:
    """Return what identifies a snapshot, and its user."""
    if snapshot is None:
        return None
    return {
        "id": snapshot.id,
        "uuid": snapshot.uuid,
        "user": snapshot.commit_user,
        "identifier": snapshot.commit_identifier,
        "kind": str(snapshot.commit_kind),
    }


class Worker:
    def __init__(self, folder: Path, name: str, life: int, seed: int, engine: str, orphan_seconds: float) -> None:
        self.folder, self.name, self.life = folder, name, life
        self.engine = ENGINES[engine]
        self.chance = random.Random(f"{seed} {name} {life}")
        self.journal = Journal(folder, name, life)
        self.gate = Gate(folder)
        self.age = datetime.timedelta(seconds=orphan_seconds)
        self.epoch = self.gate.epoch()
        self.table: Table = paimon.open_catalog(str(folder / "warehouse")).table(NAME)
        self.last = life * 1_000_000
        """The number of the last operation, which is also the identifier of its commit."""
        self.held: dict[str, int] = {}
        """The tags of this worker, with the epoch in which each was created."""

    # -- the process

    def run(self, may_die: bool) -> None:
        self.journal.note("start", pid=os.getpid())
        self._watch_publishes()
        self._record_warnings()
        self._resume()
        if may_die and self.chance.random() < 0.5:
            self._die_after(int(20 * 300 ** self.chance.random()))
        actions = self._actions()
        while not (self.folder / "stop").exists():
            action = self.chance.choices([a for a, _ in actions], [w for _, w in actions])[0]
            try:
                action()
            except Exception:
                self.violation(action.__name__.strip("_"), traceback.format_exc())
        self.journal.note("stop")

    def _actions(self) -> list[tuple[Callable[[], None], float]]:
        return [
            (self._commit, 56),
            (self._read_latest, 9),
            (self._read_snapshot, 9),
            (self._read_tag, 6),
            (self._expire, 10),
            (self._tag, 4),
            (self._delete_tag, 2),
            (self._clean, 2),
            (self._fsck, 3),
            (self._rollback, 0.7),
        ]

    def violation(self, what: str, problem: str) -> None:
        self.journal.note("violation", action=what, problem=problem)

    def count(self, action: str, outcome: str) -> None:
        self.journal.note("done", action=action, outcome=outcome)

    def _die_after(self, calls: int) -> None:
        """Kill this process before or after one of the system calls that change the disk."""
        left = [calls]

        def dying(name: str) -> None:
            original = getattr(os, name)

            def call(*args: Any, **kwargs: Any) -> Any:
                left[0] -= 1
                if left[0] == 0 and calls % 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = original(*args, **kwargs)
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            setattr(os, name, call)

        for name in SYSTEM_CALLS:
            dying(name)

    def _watch_publishes(self) -> None:
        create = SnapshotStore.create

        def noting(store: SnapshotStore, snapshot: Snapshot, *given: Any) -> bool:
            self.journal.note(
                "publish", snapshot=facts(snapshot), epoch=self.epoch, earliest=min(store.ids(), default=1)
            )
            made = create(store, snapshot, *given)
            self.journal.note("published", uuid=snapshot.uuid, made=made)
            return made

        SnapshotStore.create = noting  # type: ignore[method-assign]

    def _record_warnings(self) -> None:
        journal = self.journal

        class Noting(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                journal.note("warning", text=record.getMessage())

        logging.getLogger("paimon_core").addHandler(Noting(logging.WARNING))

    def _resume(self) -> None:
        """After a kill: repeat the last write with the same identifier, as a scheduler would, or leave it."""
        before = self.folder / "journal" / f"{self.name}-{self.life - 1:05}.jsonl"
        if not before.exists():
            return
        ended, begun = set(), None
        for line in lines_of(before):
            if line["what"] == "begin":
                begun = line
            elif line["what"] == "end":
                ended.add(line["op"])
        if begun is None or begun["op"] in ended or begun["spec"]["do"] not in ("write", "overwrite"):
            return
        if self.chance.random() < 0.7:
            self.commit(begun["spec"], begun["op"], only_in=begun["epoch"])

    # -- operations that commit

    def _commit(self) -> None:
        self.last += 1
        self.commit(draw_spec(self.chance, self.engine, self._first_value()), self.last)

    def _first_value(self) -> int:
        return (int(self.name.removeprefix("w")) * 100_000 + self.life) * 10_000_000 + (self.last % 1_000_000) * 10

    def commit(self, spec: Spec, number: int, only_in: int | None = None) -> None:
        with self.gate.commits(self._finish) as self.epoch:
            if only_in not in (None, self.epoch):
                return
            counts = spec["do"] in ("write", "overwrite")
            user = self.name if counts else f"{self.name}-{number}"
            snapshots = self.table.context.snapshots
            self.journal.note(
                "begin", op=number, user=user, spec=spec, epoch=self.epoch, again=only_in is not None,
                before=snapshots.latest_id() or 0, earliest=snapshots.earliest_id() or 0,
            )  # fmt: skip
            start = time.monotonic()
            made: Snapshot | None = None
            try:
                made = self.do(spec, user, number)
                outcome = "ok"
            except CommitConflict as error:
                outcome = f"conflict {error.facts.get('committed', '')}".strip()
            except CommitStateUnknown:
                outcome = "unknown"
            except Exception:
                outcome = "failed"
                self.violation(spec["do"], f"operation {user} {number} {spec}\n{traceback.format_exc()}")
            self.journal.note(
                "end", op=number, outcome=outcome, snapshot=facts(made), after=snapshots.latest_id() or 0,
                seconds=round(time.monotonic() - start, 3),
            )  # fmt: skip
        if made is not None and self.chance.random() < 0.5:
            self._read_again(made)

    def do(self, spec: Spec, user: str, number: int) -> Snapshot | None:
        table = self.table
        if spec["do"] == "delete":
            return table.delete(predicate(spec["where"]), user=user)
        if spec["do"] == "compact":
            return table.compact(spec["full"], user=user).snapshot
        data = arrow(spec["rows"])
        if spec["do"] == "write":
            kinds = [row[0] for row in spec["rows"]] if self.engine.is_keyed else None
            return table.write(data, kinds, user=user, identifier=number)
        where = None if spec["partition"] is None else predicate({"p": spec["partition"]})
        return table.overwrite(data, where, user=user, identifier=number)

    # -- reads: all rows of one snapshot, recorded with the snapshot

    def read(self, view: Any, how: str, *, slow: bool = False, tag: str = "") -> None:
        scan = view.scan()
        if scan.snapshot is None:
            return
        try:
            if slow:
                scan.splits()
                time.sleep(self.chance.random())
            rows = sorted([r["p"], r["k"], r["v"], r["w"]] for r in scan.to_arrow().to_pylist())
        except SnapshotNotFound:
            if self._must_exist(tag) or view.context.snapshots.is_live(scan.snapshot):
                self.violation("read", f"snapshot {scan.snapshot.id} is there\n{traceback.format_exc()}")
            self.count(how, "expired")
            return
        digest = content_hash(rows)
        self.journal.keep_content(digest, rows)
        self.journal.note("read", how=how, snapshot=facts(scan.snapshot), rows=len(rows), digest=digest)

    def _read_again(self, made: Snapshot) -> None:
        """Read a snapshot that this process has just committed."""
        try:
            view = self.table.at(snapshot=made.id)
        except SnapshotNotFound:
            return
        self.read(view, "read back")

    def _read_latest(self) -> None:
        self.read(self.table, "read latest", slow=self.chance.random() < 0.2)

    def _read_snapshot(self) -> None:
        ids = self.table.context.snapshots.ids()
        if not ids:
            return
        try:
            view = self.table.at(snapshot=self.chance.choice(ids))
        except SnapshotNotFound:
            self.count("read snapshot", "expired")
            return
        self.read(view, "read snapshot", slow=self.chance.random() < 0.5)

    def _read_tag(self) -> None:
        """Read a tag; a tag of this worker exists until this worker or a rollback deletes it."""
        names = [tag.name for tag in self.table.tags.list() if not tag.name.startswith("paimon-core")]
        if not names:
            return
        name = self.chance.choice([n for n in names if n in self.held] or names)
        try:
            self.read(self.table.at(tag=name), "read tag", slow=self.chance.random() < 0.5, tag=name)
        except (TagNotFound, SnapshotNotFound):
            self.count("read tag", "gone")
            if self._must_exist(name):
                self.violation("read tag", f"own tag {name} should be there\n{traceback.format_exc()}")

    def _must_exist(self, tag: str) -> bool:
        """Whether the tag must exist now, because no rollback started since it was created."""
        return self.gate.pending() is None and self.held.get(tag) == self.gate.epoch()

    # -- maintenance

    def _expire(self) -> None:
        keep, age = self.chance.choice((1, 1, 2, 8)), self.chance.choice((0.0, 0.0, 1.0))
        self.table.expire_snapshots(keep_last=keep, older_than=datetime.timedelta(seconds=age))
        self.count("expire", "ok")

    def _tag(self) -> None:
        self.last += 1
        name, epoch = f"{self.name}-t{self.last}", self.gate.epoch()
        ids = self.table.context.snapshots.ids()
        number = self.chance.choice(ids) if ids and self.chance.random() < 0.5 else None
        try:
            self.table.tags.create(name, number)
        except (SnapshotNotFound, AlreadyExists):
            self.count("tag", "expired")
            return
        self.held[name] = epoch
        self.count("tag", "ok")

    def _delete_tag(self) -> None:
        own = [tag.name for tag in self.table.tags.list() if tag.name.startswith(f"{self.name}-")]
        for name in own[: max(1, len(own) - 3)]:
            self.held.pop(name, None)
            try:
                self.table.tags.delete(name)
            except TagNotFound:
                self.count("delete tag", "gone")
            else:
                self.count("delete tag", "ok")

    def _clean(self) -> None:
        maintenance = self.table.maintenance
        try:
            maintenance.apply(maintenance.plan_orphan_removal(older_than=self.age))
            if self.chance.random() < 0.3:
                maintenance.apply(maintenance.plan_quarantine_purge(older_than=self.age))
            elif self.chance.random() < 0.3 and (found := maintenance.quarantines()):
                maintenance.undo(self.chance.choice(found).id)
        except (PlanOutdated, NotFound) as error:
            self.count("clean", error.kind)
        else:
            self.count("clean", "ok")

    def _fsck(self) -> None:
        with self.gate.commits(self._finish):
            report = self.table.maintenance.check(deep=self.chance.random() < 0.2)
        if report.errors:
            self.violation("fsck", "\n".join(f.sentence() for f in report.errors[:5]))
        self.count("fsck", "ok" if not report.errors else "errors")

    # -- rollback

    def _rollback(self) -> None:
        with self.gate.alone() as self.epoch:
            if (cut_short := self.gate.pending()) is not None:
                self._finish(cut_short)
                return
            self._record_all()
            context = self.table.context
            tags = [t.snapshot for t in context.tags.list() if not t.name.startswith("paimon-core")]
            target = None
            try:
                if tags and self.chance.random() < 0.4:
                    target = self.chance.choice(tags)
                elif ids := context.snapshots.ids()[-6:]:
                    target = context.snapshots.read(self.chance.choice(ids))
            except SnapshotNotFound:
                pass
            if target is not None:
                to = {"epoch": self.epoch, "id": target.id, "uuid": target.uuid}
                self.gate.begin(to)
                self._finish(to)

    def _finish(self, to: dict[str, Any]) -> None:
        """Roll back, or complete the rollback of another process; the caller holds the gate exclusively."""
        if self.gate.epoch() != to["epoch"]:  # the process was killed after the rollback was done
            self.gate.give_up()
            return
        try:
            for number in range(ROUNDS_OF_A_ROLLBACK):
                try:
                    self.table.rollback(snapshot=to["id"])
                    break
                except CommitConflict:
                    if number == ROUNDS_OF_A_ROLLBACK - 1:
                        raise
        except NotFound:
            self.gate.give_up()
            self.count("rollback", "expired")
            return
        latest = self.table.context.snapshots.latest()
        if latest is None or latest.uuid != to["uuid"]:
            self.violation("rollback", f"to {to}, but the latest is {facts(latest)}")
        self.gate.end(to)
        self.epoch = self.gate.epoch()
        self.count("rollback", "ok")

    def _record_all(self) -> None:
        snapshots = self.table.context.snapshots
        for number in snapshots.ids():
            try:
                found = snapshots.read(number)
            except SnapshotNotFound:
                continue
            self.journal.note("seen", snapshot=facts(found), epoch=self.epoch)

    # -- the end

    def end(self) -> None:
        """When no other worker runs: read and check everything, clean up, and read and check again."""
        self.journal.note("start", pid=os.getpid())
        self._watch_publishes()
        with self.gate.commits(self._finish) as self.epoch:
            pass
        self._record_all()
        for number in range(2):
            for snapshot_id in self.table.context.snapshots.ids():
                self.read(self.table.at(snapshot=snapshot_id), "read at the end")
            for tag in self.table.tags.list():
                self.read(self.table.at(tag=tag.name), "read at the end")
            report = self.table.maintenance.check(deep=True)
            if report.errors:
                self.violation("fsck at the end", "\n".join(f.sentence() for f in report.errors[:5]))
            if number == 0:
                maintenance = self.table.maintenance
                time.sleep(0.05)
                plan = maintenance.plan_orphan_removal(older_than=datetime.timedelta(milliseconds=1), mode="delete")
                maintenance.apply(plan)
        self.journal.note("stop")


def live(watched: int, **given: Any) -> None:
    """Run a worker in a forked process; it ends with its parent, whose end closes ``watched``."""
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()
    is_last = given.pop("is_last")
    worker = Worker(**given)
    try:
        if is_last:
            worker.end()
        else:
            worker.run(may_die=True)
    except BaseException:
        worker.violation("life", traceback.format_exc())


def _end_with_parent(watched: int) -> None:
    os.read(watched, 1)
    os._exit(3)
