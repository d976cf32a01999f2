"""explain_row: all versions of one row in the files of a snapshot, and which versions decided each value.

The versions are merged as a read merges them: first one version, then two versions, and so on; the row after each
version shows the effect of this version. A read returns the last of the merged rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.display import DisplayedText
from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.lsm.lookup import holds_states, with_level
from paimon_core.lsm.merge import merge_runs
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options.parsers import list_parts
from paimon_core.plan.split import Split
from paimon_core.predicate import BoundPredicate, Predicate, col
from paimon_core.query.description import ScanDescription
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import KIND_FIELD, ROW_KINDS, SEQUENCE_FIELD, SEQUENCE_NUMBER, VALUE_KIND

MOST_SNAPSHOTS = 1000
"""The maximum number of snapshots that are searched for the snapshot that added a file."""
_POSITION = "\x00position"


@dataclass(frozen=True)
class RowVersion:
    """One stored version of the row; ``number`` is its place in merge order, from 1."""

    number: int
    file: str
    level: int
    kind: str
    """"+I", "-U", "+U" or "-D"."""
    sequence_number: int
    snapshot_id: int | None
    """The snapshot that added the file; None when it has expired or is not among the last MOST_SNAPSHOTS snapshots."""
    commit_user: str | None
    """The commit user of that snapshot; for a compacted file, the user of the compaction."""
    removed: bool
    """Whether a deletion vector marks the version, so that reads ignore it."""
    values: Mapping[str, Any]
    after: Mapping[str, Any] | None
    """The row that results from this version and all versions before it; None: no row results."""


@dataclass(frozen=True)
class FieldChoice:
    """Why one column of the row has its value: the rule, and the numbers of the versions that decided the value."""

    column: str
    value: Any
    rule: str
    versions: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class RowExplanation(DisplayedText):
    """The versions of one row in merge order; ``str`` returns the explanation as a text."""

    table: str
    snapshot_id: int | None
    key: Mapping[str, Any]
    versions: tuple[RowVersion, ...]
    fields: tuple[FieldChoice, ...]
    """One choice per column; () when a read returns no row."""
    files_awaiting_compaction: int = 0
    """The number of level-0 files that may contain the key and that reads ignore until they are compacted."""

    @property
    def row(self) -> dict[str, Any] | None:
        """The row that a read returns; None when a read returns no row."""
        return {f.column: f.value for f in self.fields} if self.fields else None

    def to_arrow(self) -> pa.Table:
        """Return one row per version; the columns ``values`` and ``after`` are texts."""
        names = ("number", "file", "level", "kind", "sequence_number", "snapshot_id", "commit_user", "removed")
        columns: dict[str, Any] = {name: [getattr(v, name) for v in self.versions] for name in names}
        columns["values"] = [_text(v.values) for v in self.versions]
        columns["after"] = [None if v.after is None else _text(v.after) for v in self.versions]
        types = {"snapshot_id": pa.int64(), "removed": pa.bool_(), "number": pa.int64(), "level": pa.int32()}
        types["sequence_number"] = pa.int64()
        arrays = {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}
        return pa.table(arrays)

    def __str__(self) -> str:
        lines = [f"row {_text(self.key)} of {self.table} at snapshot {self.snapshot_id}"]
        for v in self.versions:
            origin = "an expired snapshot" if v.snapshot_id is None else f"snapshot {v.snapshot_id} by {v.commit_user}"
            lines.append(f"  {v.number}. {v.kind} {_text(v.values)}")
            lines.append(f"     level {v.level}, sequence number {v.sequence_number}, {v.file}, {origin}")
            state = "no row" if v.after is None else _text(v.after)
            lines.append("     removed by a deletion vector" if v.removed else f"     then: {state}")
        if not self.fields:
            lines.append("  a read returns no row")
        for f in self.fields:
            by = ", ".join(map(str, f.versions)) or "none"
            lines.append(f"  {f.column} = {f.value!r}: {f.rule}; from version {by}")
        if self.files_awaiting_compaction:
            lines.append(f"  {self.files_awaiting_compaction} files of level 0 are ignored until they are compacted")
        return "\n".join(lines)


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def key_filter(context: TableContext, key: Any) -> tuple[dict[str, Any], Predicate]:
    """Return the values of the primary key by column, and the filter for the row with these values.

    ``key`` maps columns to values, or is the value of a key with one column. Raises InvalidRequest for a table without
    a primary key and for a ``key`` that does not fit the table.
    """
    names = context.schema.primary_keys
    if not names:
        raise InvalidRequest(f"explain_row needs a primary key, and table {context.name} has none")
    given = dict(key) if isinstance(key, Mapping) else {names[0]: key} if len(names) == 1 else None
    if given is None or given.keys() != set(names):
        raise InvalidRequest(
            f"the key of table {context.name} is a mapping with the columns {', '.join(names)}, not {key!r:.80}"
        )
    if any(value is None for value in given.values()):
        raise InvalidRequest(f"a column of the primary key of table {context.name} is never null: {key!r:.80}")
    return {name: given[name] for name in names}, reduce(and_, [col(name) == given[name] for name in names])


def explain(scan: ScanDescription, key: Mapping[str, Any]) -> RowExplanation:
    """Return the explanation of the row of ``key``, which ``scan`` selects; see ``TableView.explain_row``."""
    context, plan = scan.context, scan.plan
    assert scan.where is not None
    bound = scan.where.bind(context.schema.fields)
    found: list[_Stored] = [stored for split in plan.splits for stored in _stored(context, split, bound)]
    order = MergeOrder.of(context.options)
    if found:
        ranks = order.ranks(pa.concat_tables([s.row for s in found]))
        found = [found[at] for at in np.lexsort(ranks[::-1]).tolist()]
    origins = _origins(context, plan.snapshot, {s.file.file_name for s in found})
    versions: list[RowVersion] = []
    live: list[_Stored] = []
    after: dict[str, Any] | None = None
    for number, stored in enumerate(found, 1):
        if not stored.removed:
            live.append(stored)
            after = _merged(context, order, live)
        (row,) = stored.row.to_pylist()
        origin = origins.get(stored.file.file_name)
        versions.append(
            RowVersion(
                number,
                stored.file.file_name,
                stored.file.level,
                ROW_KINDS[row[VALUE_KIND]],
                row[SEQUENCE_NUMBER],
                None if origin is None else origin.id,
                None if origin is None else origin.commit_user,
                stored.removed,
                {name: row[name] for name in context.schema.names},
                after,
            )
        )
    fields = () if after is None else tuple(_choices(context, after, [v for v in versions if not v.removed]))
    number_of = None if plan.snapshot is None else plan.snapshot.id
    return RowExplanation(context.name, number_of, key, tuple(versions), fields, plan.counts.awaiting_compaction)


@dataclass(frozen=True)
class _Stored:
    file: DataFile
    row: pa.Table
    removed: bool


def _stored(context: TableContext, split: Split, where: BoundPredicate) -> Iterator[_Stored]:
    """Yield the versions of the row in the files of a split, in the order of the sorted runs."""
    schema = context.schema
    fields = [*dict.fromkeys([*schema.key_fields, SEQUENCE_FIELD, KIND_FIELD, *schema.fields])]
    reader = BucketReader(context, split.partition, split.bucket)
    marks = BucketReader(context, split.partition, split.bucket, vectors=split.vectors)
    runs = [run.files for section in split.sections for run in section]
    for file in split.files if split.raw else (f for files in runs for f in files):
        deleted = marks.deleted(file)
        for batch in reader.file(file, fields, FileRequest(where, position=_POSITION)):
            for at in range(batch.num_rows):
                row = pa.Table.from_batches([batch.slice(at, 1)])
                place = row[_POSITION][0].as_py()
                removed = deleted is not None and place in deleted
                yield _Stored(file, row.drop_columns([_POSITION]), removed)


def _merged(context: TableContext, order: MergeOrder, versions: Sequence[_Stored]) -> dict[str, Any] | None:
    """Return the row that a read merges from the versions; None when the versions give no row."""
    leveled = len(versions) > 1 and holds_states(context.options)
    batches = [
        with_level(b, v.file.level) if leveled else b for v in versions for b in v.row.combine_chunks().to_batches()
    ]
    merged = merge_runs(
        [iter([batch]) for batch in batches],
        key=[f.name for f in context.schema.key_fields],
        order=order,
        engine=BucketReader(context, b"", 0).engine,
        drop_deletes=True,
        window_rows=1 << 10,
        columns=context.schema.names,
    )
    rows = [row for table in merged for row in table.to_pylist()]
    return rows[0] if rows else None


def _choices(context: TableContext, row: Mapping[str, Any], versions: Sequence[RowVersion]) -> Iterator[FieldChoice]:
    engine = context.options["merge-engine"]
    before: list[Mapping[str, Any] | None] = [None, *(v.after for v in versions)]
    for name in context.schema.names:
        changed = tuple(
            v.number
            for v, old in zip(versions, before, strict=False)
            if v.after is not None and (old is None or not _same(old[name], v.after[name]))
        )
        rule = _rule(context, engine, name)
        if name in context.schema.primary_keys:
            yield FieldChoice(name, row[name], "key", tuple(v.number for v in versions))
        elif engine == "deduplicate":
            yield FieldChoice(name, row[name], rule, (versions[-1].number,))
        else:
            yield FieldChoice(name, row[name], rule, changed)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (a != a and b != b)


def _rule(context: TableContext, engine: str, name: str) -> str:
    """Return the rule that the options of the table set for the merge of a column, as a text."""
    options = context.schema.options
    if engine == "deduplicate":
        return "deduplicate: the last version"
    if engine == "first-row":
        return "first-row: the first version"
    function = options.get(f"fields.{name}.aggregate-function", options.get("fields.default-aggregate-function"))
    if engine == "aggregation":
        return f"aggregation: {function or 'last_non_null_value'}"
    for key, columns in options.items():
        if key.startswith("fields.") and key.endswith(".sequence-group"):
            group = key.removeprefix("fields.").removesuffix(".sequence-group")
            if name in list_parts(group) or name in list_parts(columns):
                return f"partial-update: sequence group {group}" + (f", {function}" if function else "")
    return "partial-update: the last value that is not null"


def _origins(context: TableContext, snapshot: Snapshot | None, names: set[str]) -> dict[str, Snapshot]:
    """Return the snapshot that first added each file, by file name; files whose snapshot is not found are left out."""
    found: dict[str, Snapshot] = {}
    left = set(names)
    number = 0 if snapshot is None else snapshot.id
    for snapshot_id in range(number, max(0, number - MOST_SNAPSHOTS), -1):
        if not left:
            break
        try:
            step = context.snapshots.read(snapshot_id)
            with context.manifests.reading(step):
                listed = context.manifests.read_list(step.delta_manifest_list, step.delta_manifest_list_size)
                entries = [e for m in listed for e in context.manifests.read_manifest(m.file_name, m.file_size)]
        except SnapshotNotFound:  # it has expired
            break
        kinds: dict[str, set[FileKind]] = {}
        for entry in entries:
            if entry.file.file_name in left:
                kinds.setdefault(entry.file.file_name, set()).add(entry.kind)
        for name, seen in kinds.items():
            if FileKind.ADD in seen:
                found[name] = step
                if FileKind.DELETE not in seen:
                    left.discard(name)
    return found
