"""Replay: checks that a settled state plus the changelog after it gives the next settled state (I20, format 10).

A snapshot is settled when its changelog and the earlier changelogs together contain all changes that led to its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import PaimonError
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import Place
from paimon_core.fsck.files.row_fingerprints import Fingerprint, fingerprint, state_of, vectors_at
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.history.snapshot_chain import Step, values_of
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.lsm.levels import num_levels
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.options import COMBINING_ENGINES
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import KIND_FIELD, DataField
from paimon_core.types import NESTED_ROOTS, TypeRoot

_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_ADDS, _REMOVES = [0, 2], [1, 3]


@dataclass
class Replay:
    """The sum of the changelog since a known state, for tables whose changelog producer records all changes."""

    run: CheckRun
    known: Fingerprint | None = None
    """The state with which the replay starts; None: it starts with the state of the next settled snapshot."""
    since: int = 0
    """The snapshot id of the state ``known``; 0: the state before the first snapshot."""
    delta: Fingerprint = field(default_factory=Fingerprint)
    last: tuple[Snapshot, Location, Fingerprint] | None = None
    """The last settled snapshot, its location, and the value of ``delta`` when this snapshot was added."""

    def reason_against(self) -> str | None:
        """Return why this table's changelog cannot be replayed; None when a replay is possible."""
        context = self.run.context
        producer = context.options["changelog-producer"] if context.is_keyed else "none"
        if producer not in ("lookup", "full-compaction"):
            return f"changelog-producer = {producer} does not record all changes"
        if context.options["record-level.expire-time"] is not None:
            return "compactions drop expired records of this table without a changelog"
        return None

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns that are compared; the changelog need not record changes of any other column."""
        schema, options = self.run.context.schema, self.run.context.options
        ignored = options["changelog-producer.row-deduplicate-ignore-fields"] or ()
        # With row-deduplicate, another sign of a zero or another order of a map is not a change (format 10.7).
        loose = NESTED_ROOTS | _FLOATS if options["changelog-producer.row-deduplicate"] else frozenset()
        return tuple(f for f in schema.fields if f.name not in ignored and f.type.root not in loose)

    def add(self, step: Step) -> None:
        """Add the changelog of the next snapshot; after an error the replay starts again at the next settled state."""
        if self.reason_against():
            return
        try:
            self._add(step)
        except Exception:
            self._restart()
            raise

    def _add(self, step: Step) -> None:
        if step.before is None or step.changelog is None or step.snapshot.commit_kind is CommitKind.OVERWRITE:
            self._compare()
            self._restart()
            if step.snapshot.id == 1 and step.changelog is not None:
                self.known, self.since = Fingerprint(), 0
        if self.known is not None:
            self._add_changes(values_of(step.changelog or []))
        if not self._settled(step.files):
            return
        if self.known is None:
            self.known, self.since = self._state(step.files.live.buckets(), step.snapshot), step.snapshot.id
        else:
            self.last = (step.snapshot, step.location, self.delta)

    def finish(self) -> None:
        """Compare the last settled snapshot, or record why this table's changelog cannot be replayed."""
        if reason := self.reason_against():
            self.run.collector.skip("I20", reason)
        else:
            self._compare()

    def _settled(self, files: CheckedFiles) -> bool:
        """Whether a snapshot with these files is settled."""
        options = self.run.context.options
        levels = files.live.levels()
        if options["changelog-producer"] == "lookup":
            return all(level > 0 for level in levels)
        return len(levels) < 2 and min(levels, default=num_levels(options)) >= num_levels(options) - 1

    def _state(
        self, buckets: Iterable[tuple[Place, Iterable[ManifestEntry]]], snapshot: Snapshot
    ) -> Fingerprint | None:
        # All levels are merged: snapshots from before the use of deletion vectors may have one key in several levels.
        # With deletion vectors, a merge of all levels gives the same rows.
        context = self.run.context.merging_level_0()
        try:
            vectors = vectors_at(context, snapshot)
            return state_of(context, buckets, self.fields, vectors)
        except PaimonError as error:
            self.run.collector.skip("I20", str(error))
            return None

    def _add_changes(self, changelog: list[ManifestEntry]) -> None:
        context = self.run.context
        try:
            for entry in changelog:
                reader = BucketReader(context, entry.partition, entry.bucket)
                for batch in reader.file(entry.file, (*context.schema.fields, KIND_FIELD)):
                    kinds = batch[KIND_FIELD.name]
                    self.delta += fingerprint(batch.filter(pc.is_in(kinds, pa.array(_ADDS, pa.int8()))), self.fields)
                    self.delta -= fingerprint(batch.filter(pc.is_in(kinds, pa.array(_REMOVES, pa.int8()))), self.fields)
        except PaimonError as error:
            self.run.collector.skip("I20", str(error))
            self._compare()  # up to the last settled state, the changes are known
            self._restart()

    def _restart(self) -> None:
        self.known, self.last, self.delta = None, None, Fingerprint()

    def _compare(self) -> None:
        if self.known is None or self.last is None:
            return
        snapshot, location, delta = self.last
        buckets: defaultdict[Place, list[ManifestEntry]] = defaultdict(list)
        is_read = False
        with self.run.collector.guarding("I20", location):
            for entry in self.run.context.manifests.entries_of(snapshot):
                buckets[entry.partition, entry.bucket].append(entry)
            is_read = True
        found = self._state(buckets.items(), snapshot) if is_read else None
        if found is None:
            return
        self.run.collector.check("I20")
        if (expected := self.known + delta) != found:
            combines = self.run.context.options["merge-engine"] in COMBINING_ENGINES
            self.run.collector.find(
                "I20",
                location,
                f"the changelog from snapshot {self.since} to {snapshot.id} gives {expected.rows} rows, "
                f"the table has {found.rows}" + (" with other values" if expected.rows == found.rows else ""),
                # Changelogs of engines that combine values may differ from later results (format 10.6).
                level=Level.INFO if combines else Level.ERROR,
            )
