"""Survival: check whether the stored values of a table survive a change of their columns' types.

A value survives when a cast to the new type and a cast back give the same value. The rows in the data files of the
latest snapshot are checked, except rows that deletion vectors delete. With a primary key, rows that a later row has
replaced are checked as well, until a compaction removes them, because a merge reads them. Tags, older snapshots and
branches are read with their own schemas, so their values do not change.

For casts that keep all values of a range, files whose statistics are within the range are not read. The other files are
read, one batch at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paimon_core.alter.changes import SchemaChange, UpdateType
from paimon_core.alter.evolve import evolve
from paimon_core.alter.exact_casts import ExactRange, exact_range, leaf_types, lost
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.prune import ValuePruner
from paimon_core.predicate import Predicate, col
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import DataField, TableSchema
from paimon_core.table_indexes.live_vectors import vectors_by_bucket, vectors_of
from paimon_core.types import NESTED_ROOTS

_AFTER = "\x00after"


@dataclass(frozen=True, slots=True)
class Survival:
    """Changes of types that must keep all values, and what was checked: call ``check``, then ``check_later``."""

    context: TableContext
    """The table with its schema before the change."""
    changed: tuple[tuple[DataField, DataField], ...]
    """The columns whose cast could lose a value, before and after the change."""
    snapshot_id: int | None = None
    """The snapshot that was checked: all of its values survive."""
    files: frozenset[str] = frozenset()
    """The names of the data files of the checked snapshot."""

    @staticmethod
    def of(context: TableContext, latest: TableSchema, changes: Sequence[SchemaChange]) -> Survival | None:
        """Return the check for ``changes`` of the schema ``latest``; None when no change needs a check.

        Changes of types with ``lossy`` are left out.
        """
        strict = [c for c in changes if not (isinstance(c, UpdateType) and c.lossy)]
        if not any(isinstance(c, UpdateType) for c in strict):
            return None
        new = evolve(latest, strict, has_snapshots=False, table=context.name)
        before = {f.id: f for f in latest.fields}
        changed = tuple((before[f.id], f) for f in new.fields if f.id in before and _may_lose(before[f.id], f))
        return Survival(context.reopened(latest), changed) if changed else None

    def check(self) -> Survival:
        """Check the latest snapshot; return a copy of this value that records the checked snapshot.

        Raises InvalidRequest with the column, the file and a lost value.
        """
        snapshot, files = read_latest(self.context.snapshots, self._checked)
        return replace(self, snapshot_id=snapshot, files=files)

    def check_later(self, schema_id: int) -> None:
        """Check the files that were committed after ``check``; ``schema_id`` is the id of the new schema.

        Raises InvalidRequest like ``check``.
        """
        if self.context.snapshots.latest_id() != self.snapshot_id:
            read_latest(self.context.snapshots, lambda latest: self._checked(latest, schema_id))

    def _checked(self, latest: Snapshot | None, schema_id: int | None = None) -> tuple[int | None, frozenset[str]]:
        if latest is None:
            return None, frozenset()
        entries = self.context.manifests.entries_of(latest)
        later = [e for e in entries if e.file.file_name not in self.files]
        later = [e for e in later if schema_id is None or e.file.schema_id < schema_id]
        for before, after in self.changed:
            self._check_column(latest, later, before, after)
        return latest.id, frozenset(e.file.file_name for e in entries)

    def _check_column(
        self, snapshot: Snapshot, entries: Sequence[ManifestEntry], before: DataField, after: DataField
    ) -> None:
        context = self.context
        where = _suspects(before, after).bind(context.schema.fields)
        pruner = ValuePruner.of(where, context.schema, context.schemas.read)
        name = snapshot.index_manifest
        vectors = {} if name is None else vectors_by_bucket(context.manifests.read_indexes(name), name)
        fields = (before, replace(after, name=_AFTER, type=after.type.with_nullable(True)))
        for entry in entries:
            known = {f.id: f.type for f in context.schemas.read(entry.file.schema_id).fields}
            if before.id not in known or not pruner.keeps(entry.partition, entry.file):
                continue
            deleted = vectors_of([entry.file], vectors.get((entry.partition, entry.bucket), {}))
            reader = BucketReader(context, entry.partition, entry.bucket, vectors=deleted)
            path = reader.path(entry.file)
            try:
                for batch in reader.file(entry.file, fields):
                    found = lost(batch[before.name], batch[_AFTER], before.type, after.type)
                    if found is not None:
                        raise self._refused(before, after, f"{found[0]} in {path} would be read as {found[1]}")
            except UnsupportedFeature as error:
                if error.facts.get("column") != _AFTER:
                    raise
                text = str(error).replace(repr(_AFTER), repr(before.name))
                raise self._refused(before, after, f"reads would fail with {text!r}") from error

    def _refused(self, before: DataField, after: DataField, why: str) -> InvalidRequest:
        hint = (
            ", or compact it fully when a later row has replaced the value" if self.context.schema.primary_keys else ""
        )
        return InvalidRequest(
            f"table {self.context.name}: column {before.name!r} cannot change from {before.type} to {after.type}, "
            f"which loses values: {why}. Change the rows{hint}, or allow the loss: "
            "ALTER COLUMN ... TYPE ... LOSSY, UpdateType(..., lossy=True)",
            table=self.context.name,
            column=before.name,
            stored=before.type.sql,
            wanted=after.type.sql,
        )


def _may_lose(before: DataField, after: DataField) -> bool:
    return any(exact_range(*pair) is not True for pair in leaf_types(before.type, after.type))


def _suspects(before: DataField, after: DataField) -> Predicate:
    """Return a filter on the statistics of files, for the files that may have a value that does not survive."""
    value = col(before.name)
    kept = exact_range(before.type, after.type)
    if not isinstance(kept, ExactRange) or before.type.root in NESTED_ROOTS:
        return value.is_not_null()
    outside: Predicate = (value < kept.low) | (value > kept.high)
    return outside
