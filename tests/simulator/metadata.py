"""Histories of metadata only: data files have no rows, the oracle knows which rows they stand for."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import TableSchema, new_schema
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.types import parse_type
from tests.simulator.cheap import cheap_manifests
from tests.simulator.history import Begin, History, Job
from tests.simulator.oracle import Oracle
from tests.simulator.world import MILLI, Actor, World, simulated
from tests.support.fake_tables import fake_rows

PARTITIONS = {name: encode_row([name], [parse_type("STRING")]) for name in "ab"}
BUCKETS = 2
KEYS = tuple(encode_row([k], [parse_type("INT NOT NULL")]) for k in (0, 9))
Files = tuple[DataFile, ...]


@dataclass
class MetadataHistory(History):
    """Rows are (partition, number of the call that wrote them)."""

    keyed: bool = True

    def draw_schema(self) -> TableSchema:
        draw = self.world.draw
        self.keyed = draw() < 0.8
        small = draw() < 0.5
        return new_schema(
            pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int32())]),
            primary_key=["p", "k"] if self.keyed else [],
            partition_by=["p"],
            options={
                "bucket": str(BUCKETS) if self.keyed else "-1",
                "write-only": "true",
                "manifest.merge-min-count": "3",
                "manifest.target-file-size": "500 b" if small else "8 mb",
                "manifest.full-compaction-threshold-size": "1 kb" if small else "16 mb",
            },
        )

    def new_oracle(self) -> Oracle:
        return Oracle(self.world, self.disk, self.context, frozenset(), state_of=self.state_of)

    def state_of(self, files: dict[Any, Any]) -> Any:
        """Return the rows of the files; no row may be in two files."""
        out: set[Any] = set()
        count = 0
        for entry in files.values():
            held = self.oracle.contents[entry.file.file_name]
            count += len(held)
            out |= held
        return frozenset(out) if len(out) == count else ("twice", sorted(out))

    # -- writes

    def draw_place(self) -> tuple[str, int]:
        draw = self.world.draw
        return "ab"[int(draw() * 2)], int(draw() * BUCKETS) if self.keyed else 0

    def new_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        kind = ("append", "append", "append and compact", "overwrite")[int(self.world.draw() * 4)]
        place = self.draw_place()
        return lambda table, begin, user, identifier: self.write(table, begin, user, identifier, kind, place)

    def survivor_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        return self.write

    def write(
        self,
        table: Table,
        begin: Begin,
        user: str,
        identifier: int | None,
        kind: str = "append",
        place: tuple[str, int] = ("a", 0),
    ) -> None:
        """Do what ``Table.write`` and ``Table.overwrite`` do, with files without rows."""
        call = begin("overwrite" if kind == "overwrite" else "append", user=user)
        request = CommitRequest.of(table.context, user, identifier, None)
        call.identifier = request.identifier
        try:
            committed_snapshot = request.committed_snapshot()
        except InvalidRequest as error:  # another process has committed a higher identifier
            self.oracle.refused(call, error)
            return
        if committed_snapshot is not None:
            self.oracle.acknowledged(call, [committed_snapshot])
            return
        partition, row = place[0], (place[0], call.number)
        new = self.file(table, place, {row})
        before, after = (), ()  # type: tuple[Files, Files]
        if kind == "append and compact" and self.keyed:
            before, after = self.merged(table, place, (new,))
        has_changelog = self.world.draw() < 0.3
        call.messages = [
            CommitMessage(
                PARTITIONS[partition],
                place[1],
                BUCKETS if self.keyed else -1,
                new_files=(new,),
                compact_before=before,
                compact_after=after,
                changelog_files=(self.file(table, place, set(), "changelog"),) if has_changelog else (),
            )
        ]
        overwrite = None
        if kind == "overwrite":
            overwrite = Overwrite()
            call.replaces = PARTITIONS[partition].__eq__
            call.apply = lambda state: frozenset(r for r in state if r[0] != partition) | {row}
        else:
            call.apply = lambda state: state | {row}
        snapshot = request.commit_own(call.messages, overwrite)
        self.oracle.acknowledged(call, [] if snapshot is None else [snapshot])

    def file(
        self, table: Table, place: tuple[str, int], rows: set[Any], prefix: str = "data", level: int = 0
    ) -> DataFile:
        """Write a new data file that stands for these rows."""
        name = f"{prefix}-{uuid.uuid4()}-0.parquet"
        self.oracle.contents[name] = frozenset(rows)
        context = table.context
        context.storage.write(context.paths.data_file(f"p={place[0]}", place[1], name), b"rows")
        keys = KEYS if self.keyed else (DataFile("", 0, 0, 0).min_key,) * 2
        made = self.world.nanos() // MILLI
        return DataFile(name, 4, max(1, len(rows)), 0, level, *keys, creation_time_millis=made, delete_row_count=0)

    def merged(self, table: Table, place: tuple[str, int], new: Files = ()) -> tuple[Files, Files]:
        """Return input and output of a full compaction of a bucket: one file on level 5, or one upgraded file."""
        entries = []
        with contextlib.suppress(SnapshotNotFound):  # it has expired: then there is nothing to merge this time
            latest = table.context.snapshots.latest()
            entries = table.context.manifests.entries_of(latest) if latest else []
        where = (PARTITIONS[place[0]], place[1])
        before = (*(e.file for e in entries if (e.partition, e.bucket) == where), *new)
        if not before:
            return (), ()
        if len(before) == 1 and before[0].level == 0 and self.keyed and self.world.draw() < 0.5:
            return before, (before[0].upgraded(5),)
        rows = frozenset[Any]().union(*(self.oracle.contents[f.file_name] for f in before))
        return before, (self.file(table, place, set(rows), level=5 if self.keyed else 0),)

    def new_compaction(self) -> Job:
        place = self.draw_place()
        return lambda table, begin: self.compact(table, begin, place)

    def compact(self, table: Table, begin: Begin, place: tuple[str, int]) -> None:
        request = CommitRequest.of(table.context, None, None, None)
        call = begin("compact", user=request.user)
        before, after = self.merged(table, place)
        if len(before) < (1 if self.keyed else 2):
            self.oracle.done(call)
            return
        total = BUCKETS if self.keyed else -1
        call.messages = [
            CommitMessage(PARTITIONS[place[0]], place[1], total, compact_before=before, compact_after=after)
        ]
        snapshot = request.commit_own(call.messages)
        self.oracle.acknowledged(call, [] if snapshot is None else [snapshot])

    # -- reads

    def read(self, table: Table, begin: Begin) -> None:
        snapshot = self.pick_snapshot(table)
        if snapshot is None:
            return
        call = begin("read")
        self.rest()
        context = table.context
        entries = context.manifests.entries_of(snapshot)
        version = self.oracle.by_uuid.get(snapshot.uuid or "")
        if version is not None and {e.identity for e in entries} != version.files.keys():
            self.oracle.fail(call, f"I10: a reader of snapshot {snapshot.id} finds other files")
        for entry in entries[:3]:
            path = self.oracle.data_path(entry)
            try:
                context.storage.read(path)
            except FileNotFoundError:
                if context.snapshots.read(snapshot.id) == snapshot:
                    self.oracle.fail(call, f"I26: {path} is missing, and snapshot {snapshot.id} still there")
        self.oracle.done(call)


def play(seed: int, *, keep: bool = False, calm: str | None = None) -> MetadataHistory:
    """Run one history of metadata only; a violation is in ``history.world.violation``."""
    world = World(seed, keep=keep)
    with cheap_manifests(), fake_rows(), simulated(world):
        history = MetadataHistory(world, calm=calm)
        history.play()
    return history
