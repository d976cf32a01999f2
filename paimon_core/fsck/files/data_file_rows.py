"""Row checks of one data file: the file decodes, is sorted, and agrees with its manifest entry (deep checks)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.bucket_function import buckets_of
from paimon_core.codec.binary_row.rows import decode_row, encode_rows, to_array
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.errors import UnsupportedFeature
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.files.file_indexes import IndexCheck
from paimon_core.fsck.files.file_statistics import StatsCheck
from paimon_core.fsck.finding_collector import Location
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.order_codes import order_codes
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.schema import KIND_FIELD, ROW_ID, SEQUENCE_FIELD, DataField, TableSchema

BATCH_ROWS = 1 << 16


def check_rows(run: CheckRun, entry: ManifestEntry, path: str, location: Location, *, changelog: bool = False) -> None:
    """Read and check all rows of a file; a broken rule is reported once per file, for the first row that breaks it."""
    collector, name = run.collector, entry.file.file_name
    collector.check("I6")
    run.broken.add(name)
    with collector.guarding("I6", location, path):
        try:
            _read(run, entry, path, location, changelog)
            run.broken.discard(name)
        except UnsupportedFeature as error:
            collector.skip("I6", f"some rows cannot be read: {error}")


def _read(run: CheckRun, entry: ManifestEntry, path: str, location: Location, changelog: bool) -> None:
    context, file = run.context, entry.file
    schema = context.schemas.read(file.schema_id)
    if file.write_cols is not None:
        if ROW_ID not in file.write_cols or context.evolves:
            raise UnsupportedFeature("files that contain only some columns")
        schema = schema.tracked(id_nullable=True, sequence_nullable=True)
    check = _RowCheck(run, entry, schema, path, location, changelog)
    for batch in read_batches(
        context.storage,
        path,
        file=file,
        file_schema=schema,
        read_fields=schema.file_fields if context.is_keyed else schema.fields,
        request=FileRequest(batch_rows=BATCH_ROWS),
    ):
        check.add(batch)
    check.finish()


class _RowCheck:
    """Checks the rows of one file in one pass."""

    def __init__(
        self, run: CheckRun, entry: ManifestEntry, schema: TableSchema, path: str, location: Location, changelog: bool
    ) -> None:
        self._run, self._entry, self._path, self._location = run, entry, path, location
        self._keyed = run.context.is_keyed
        self._sorted = self._keyed and entry.bucket >= 0
        self._changelog = changelog
        self._keys = schema.file_key_fields if self._keyed else ()
        self._stats = StatsCheck.of(entry.file, schema, keyed=self._keyed)
        self._indexes = None if changelog else IndexCheck.of(run, entry, schema)
        self._partition = self._values_of(schema.partition_fields)
        self._hashed = self._hashed_columns(schema)
        self._reported: set[tuple[str, ...]] = set()
        """The invariants and rules whose first violation in this file was reported; later violations are not
        reported.
        """
        self._rows = self._deletes = 0
        self._first: pa.RecordBatch | None = None
        self._last: pa.RecordBatch | None = None
        self._sequences: tuple[int, int] | None = None

    def _values_of(self, fields: Sequence[DataField]) -> list[tuple[str, pa.Array]]:
        types = [f.type for f in fields]
        values = decode_row(self._entry.partition, types) if fields else ()
        return [(f.name, to_array([v], f.type)) for f, v in zip(fields, values, strict=True)]

    def _hashed_columns(self, schema: TableSchema) -> tuple[DataField, ...]:
        """Return the file's columns of the bucket key; () when the bucket of a row cannot be computed."""
        context, entry = self._run.context, self._entry
        if entry.total_buckets < 1 or entry.bucket < 0 or not context.bucket_keys:
            return ()
        ids = {f.id: f for f in schema.fields}
        wanted = context.schema.select(context.bucket_keys)
        return tuple(ids[f.id] for f in wanted) if all(f.id in ids for f in wanted) else ()

    def _find(self, invariant: str, rule: tuple[str, ...], message: str) -> None:
        """Report a broken rule; only the first time in this file."""
        if (invariant, *rule) not in self._reported:
            self._reported.add((invariant, *rule))
            self._run.collector.find(invariant, self._location, f"{self._path}: {message}", path=self._path)

    def add(self, batch: pa.RecordBatch) -> None:
        """Check the next rows of the file."""
        for problem in self._stats.problems(batch):
            self._find("I19", problem.rule, problem.text)
        for name, value in self._partition:
            same = batch[name].is_null() if value[0].as_py() is None else pc.equal(batch[name], value[0])
            if not pc.all(pc.fill_null(same, False)).as_py():
                self._find(
                    "I15",
                    ("partition", name),
                    f"partition column {name} has a value other than {value[0].as_py()!r:.60}",
                )
        if self._hashed:
            function = self._run.context.options["bucket-function.type"]
            types = [f.type for f in self._hashed]
            columns = [batch[f.name] for f in self._hashed]
            buckets = buckets_of(columns, types, function, self._entry.total_buckets)
            wrong = buckets[buckets != self._entry.bucket]
            if len(wrong):
                self._find(
                    "I15",
                    ("bucket",),
                    f"rows of bucket {wrong[0]} of {self._entry.total_buckets} are in another bucket",
                )
        if self._indexes is not None:
            self._indexes.add(batch)
        if self._keyed:
            self._add_keyed(batch)
        self._rows += len(batch)

    def _add_keyed(self, batch: pa.RecordBatch) -> None:
        kinds = batch[KIND_FIELD.name].to_numpy(zero_copy_only=False)
        if ((kinds < 0) | (kinds > 3)).any():
            self._find("I6", ("kind",), f"kind {kinds[(kinds < 0) | (kinds > 3)][0]} of a row is not 0 to 3")
        self._deletes += int(np.count_nonzero((kinds == 1) | (kinds == 3)))
        low, high = pc.min_max(batch[SEQUENCE_FIELD.name]).values()
        known = self._sequences or (low.as_py(), high.as_py())
        self._sequences = (min(known[0], low.as_py()), max(known[1], high.as_py()))
        names = [f.name for f in self._keys]
        keys = batch.select(names)
        self._first = keys.slice(0, 1) if self._first is None else self._first
        joined = keys if self._last is None else pa.Table.from_batches([self._last, keys]).combine_chunks()
        codes = order_codes([joined[name] for name in names])
        falls = codes[1:] < codes[:-1] if self._changelog else codes[1:] <= codes[:-1]
        if self._sorted and falls.any():
            self._find("I12", ("order",), f"keys do not ascend before row {self._rows + int(np.argmax(falls)) + 1}")
        self._last = keys.slice(len(keys) - 1, 1)

    def finish(self) -> None:
        """Check the rules that need all rows of the file."""
        file, collector = self._entry.file, self._run.collector
        for invariant in ("I15", "I19", *(("I12", "I13") if self._keyed else ())):
            collector.check(invariant)
        for problem in self._stats.count_problems():
            self._find("I19", problem.rule, problem.text)
        for text in () if self._indexes is None else self._indexes.problems():
            self._find("I19", ("index", text), text)
        if not self._keyed or self._first is None or self._last is None:
            return
        recorded = (file.min_sequence_number, file.max_sequence_number)
        if self._sequences != recorded:
            self._find("I13", ("sequence",), f"sequence numbers are {self._sequences}, but {recorded} are recorded")
        if file.delete_row_count not in (None, self._deletes):
            self._find("I18", ("deletes",), f"deletes are {self._deletes}, but {file.delete_row_count} are recorded")
        types = [f.type for f in self._keys]
        order = key_order(types)
        for what, row, key in (("smallest", self._first, file.min_key), ("largest", self._last, file.max_key)):
            (found,) = encode_rows(row.columns, types)
            if self._sorted and order(found) != order(key):
                self._find(
                    "I12",
                    (what,),
                    f"{what} key is {decode_row(found, types)!r:.60}, not {decode_row(key, types)!r:.60}",
                )
