"""Shape tables: tables of several sorted runs with a key, a merge engine and a number of columns, and their limits.

A limit is what work needs in any case: decoding whole files with pyarrow, sorting by the key with pyarrow, or encoding
rows with pyarrow by the settings of our writer. pyarrow verifies page checksums, as paimon_core does.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import paimon_core
from benchmarks import workload
from paimon_core.compact.compactor import run_tasks
from paimon_core.compact.planning import plan
from paimon_core.datafile.parquet.parquet_schema import ParquetShape
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.write.table_writer import TableWriter

BUCKETS = 2
OPTIONS = {"bucket": str(BUCKETS), "write-only": "true"}
NAMES = ("b", "a", "c", "d", "name", "city", "ts")
FUNCTIONS = {"a": "sum", "b": "max", "c": "sum", "d": "min", "city": "first_value", "ts": "max"}
KEYS = {
    "bigint": ("id",),
    "sparse": ("id",),
    "text": ("key",),
    "uuid": ("key",),
    "composite": ("part", "key", "id"),
}
"""The key columns by the name of the key. sparse: numbers that are spread over 63 bits."""
ENGINES = ("deduplicate", "partial-update", "partial-update, nulls", "aggregation", "last values", "sequence.field")
CHANGELOGS = ("full-compaction", "lookup")


@dataclass(frozen=True)
class Shape:
    """What a table looks like; ``rows`` is the number of rows of all runs, ``columns`` counts the key columns."""

    engine: str
    key: str
    columns: int
    runs: int
    rows: int

    def batch(self, k: int) -> pa.Table:
        """Return the rows of run ``k``; its keys are drawn from twice the number of its rows."""
        rows = self.rows // self.runs
        source = workload.batch(k, rows, 2 * rows, holes=self.engine == "partial-update, nulls")
        made = self._key(source["id"].to_numpy())
        for number in range(self.columns - len(made)):
            made[self._column(number)] = source[NAMES[number % len(NAMES)]]
        key = KEYS[self.key]
        schema = pa.schema([pa.field(n, c.type, nullable=n not in key) for n, c in made.items()])
        return pa.table(list(made.values()), schema=schema)

    def options(self) -> dict[str, str]:
        """Return the options of the table."""
        if self.engine == "sequence.field":
            return {**OPTIONS, "sequence.field": "b"}
        if self.engine == "deduplicate":
            return OPTIONS
        if self.engine.startswith("partial-update"):
            return {**OPTIONS, "merge-engine": "partial-update"}
        options = {**OPTIONS, "merge-engine": "aggregation"}
        for number in range(self.columns - len(KEYS[self.key])):
            function = FUNCTIONS.get(NAMES[number % len(NAMES)], "last_value")
            function = function if self.engine == "aggregation" else "last_non_null_value"
            options[f"fields.{self._column(number)}.aggregate-function"] = function
        return options

    def filled(self, folder: Path, name: str, *, changelog: str | None = None) -> paimon_core.Table:
        """Create the table ``db.<name>`` with one level-0 file per run and bucket.

        With ``changelog``, a producer, the first run is compacted into the last level first.
        """
        catalog = paimon_core.open_catalog(str(folder))
        catalog.create_database("db", ignore_if_exists=True)
        options = self.options() | ({} if changelog is None else {"changelog-producer": changelog})
        first = self.batch(0)
        table = catalog.create_table(f"db.{name}", first.schema, primary_key=list(KEYS[self.key]), options=options)
        for k in range(self.runs):
            table.write(self.batch(k))
            if k == 0 and changelog is not None:
                table.compact(full=True)
        return table

    def _key(self, ids: np.ndarray) -> dict[str, pa.Array]:
        mixed = workload.mix(ids.astype(np.uint64))
        if self.key == "sparse":
            return {"id": pa.array((mixed >> np.uint64(1)).astype(np.int64))}
        if self.key == "text":
            return {"key": workload.text("customer-", ids)}
        if self.key == "uuid":
            return {"key": _uuids(mixed, workload.mix(mixed))}
        if self.key == "composite":
            part = pa.array((ids % 30).astype(np.int32))
            return {"part": part, "key": workload.text("customer-", ids // 7), "id": pa.array(ids)}
        return {"id": pa.array(ids)}

    @staticmethod
    def _column(number: int) -> str:
        return NAMES[number] if number < len(NAMES) else f"{NAMES[number % len(NAMES)]}{number}"


def _uuids(high: np.ndarray, low: np.ndarray) -> pa.Array:
    """Return texts of 36 characters, such as 6f1c3e5a-0b1d-4c2f-9a8b-7c6d5e4f3a2b."""
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    halves = np.stack([high, low], axis=1).astype(">u8").view(np.uint8).reshape(len(high), 16)
    image = np.full((len(high), 36), ord("-"), np.uint8)
    places = [at for at in range(36) if at not in (8, 13, 18, 23)]
    image[:, places[::2]], image[:, places[1::2]] = digits[halves >> 4], digits[halves & 15]
    offsets = np.arange(len(high) + 1, dtype=np.int32) * 36
    return pa.Array.from_buffers(pa.string(), len(high), [None, pa.py_buffer(offsets), pa.py_buffer(image)])


@dataclass(frozen=True)
class ShapeTable:
    """A filled table, what can be done with it, and the limits; nothing is committed."""

    shape: Shape
    table: paimon_core.Table
    folder: Path

    @property
    def files(self) -> list[Path]:
        """The data files of the latest snapshot."""
        return sorted(self._bucket(e.bucket) / e.file.file_name for e in latest_entries(self.table.context))

    @cached_property
    def rows(self) -> pa.Table:
        """The rows of the first run."""
        return self.shape.batch(0)

    def decoding(self, files: Sequence[Path], asked: Sequence[str] | None, where: pc.Expression | None = None) -> None:
        """Decode whole files, each in one thread, one per processor; ``asked`` None: all columns of the files."""
        names = None
        if asked is not None:
            needed = ["b"] if self.shape.engine == "sequence.field" else []
            names = list(dict.fromkeys([*KEYS[self.shape.key], "_SEQUENCE_NUMBER", "_VALUE_KIND", *needed, *asked]))

        def whole(file: Path) -> int:
            rows = pq.ParquetFile(file, page_checksum_verification=True).read(names, use_threads=False)
            return len(rows if where is None else rows.filter(where))

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(whole, files))

    def compacted(self) -> list[CommitMessage]:
        """Compact fully; the caller removes the files of the messages."""
        context = self.table.context
        return run_tasks(context, plan(context, full=True))

    def written(self) -> list[CommitMessage]:
        """Write the rows of a run; the caller removes the files of the messages."""
        writer = TableWriter(self.table.context)
        writer.write(self.rows)
        return writer.flush()

    def removing(self, work: Callable[[], list[CommitMessage]]) -> list[pa.Table]:
        """Return the rows of the files that ``work`` writes, with all columns of the files, and remove the files."""
        messages = work()
        found = [
            pq.read_table(self._bucket(message.bucket) / file.file_name)
            for message in messages
            for file in (*message.new_files, *message.compact_after, *message.compact_changelog)
        ]
        self.remove(messages)
        return found

    def _bucket(self, number: int) -> Path:
        return self.folder / "db.db" / self.table.name.rpartition(".")[2] / f"bucket-{number}"

    def remove(self, messages: list[CommitMessage]) -> None:
        """Remove the files of messages that are not committed."""
        abort(messages, self.table.context)

    def encoding(self, tables: Sequence[pa.Table], *, ordered: bool = True) -> None:
        """Encode each table to memory by the settings of our writer, two at a time; with ``ordered`` False, sort it."""
        context = self.table.context
        shape = ParquetShape.of(context.schema.file_fields, context.options, "zstd")
        key = [(f"_KEY_{name}", "ascending") for name in KEYS[self.shape.key]]

        def whole(rows: pa.Table) -> None:
            rows = rows if ordered else rows.sort_by(key)
            with pq.ParquetWriter(io.BytesIO(), rows.schema, **shape.settings(rows)) as writer:
                writer.write_table(rows)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(whole, tables))
