"""Loads of files: each file once, in the order of the paths, with the rows that do not fit as rejects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from paimon_core.spark.tasks import spark_context
from paimon_core.storage.secret import Secret
from pipelines.lake.sources import FilesSource
from pipelines.load.file_plan import FilePlan, plan_files, split_files
from pipelines.load.ledger import FILES, MOST_FILES, TOTAL, LoadedFiles
from pipelines.load.replacement import replacement
from pipelines.load.row_shape import shape_of
from pipelines.load.source_files import fetch_files, file_kind, source_files
from pipelines.load.step import LoadStep, PlannedLoad
from pipelines.load.write_tasks import Written, write_parts
from pipelines.load_properties import PARTITION_COUNT
from pipelines.protocol import PipelineError, some
from pipelines.sources.files.listing import SourceFile
from pipelines.sources.files.reading import read_split
from pipelines.sources.files.rejects import Parsed
from pipelines.sources.files.splits import FileSplit, pack, plan_splits

TASK_BYTES = 32 << 20
"""The bytes of files from which a load has one task more."""
MOST_TASKS = 16
"""The largest number of tasks of a load: each adds a sorted run to the buckets of a table with a key."""


class FileLoads:
    """The loads of a table from files."""

    def __init__(self, source: FilesSource) -> None:
        self._source = source

    def plan(self, step: LoadStep) -> PlannedLoad | Sequence[str]:
        """Return the load of the files that the ledger does not have."""
        if step.partitions is not None and "{" not in self._source.path:
            raise PipelineError(
                f"{step.spec.name}: source.path {self._source.path} has no place for the partition, such as {{date}}: "
                f"the files of {step.partitions[0]} are not known"
            )
        fetch_files(step.settings, step.spec, self._source, step.partitions)
        listed = source_files(step.settings, self._source, step.partitions)
        found, outside, early = split_files(step.spec, listed, datetime.now(UTC))
        plan = plan_files(step.spec, self._source, found, step.ledger.files, reload=step.reload)
        plan = replace(plan, outside=tuple(outside), early=tuple(early))
        if not plan.files:
            return [self._nothing(step, plan)]
        loaded = [(file.ledger_name, file.version) for file in plan.files]
        total = len(step.ledger.files.with_files(loaded).versions)
        if total > MOST_FILES:
            raise PipelineError(
                f"{step.spec.name}: its loads would have {total:,} files, and the ledger of a table has at most "
                f"{MOST_FILES:,}: divide the source into several tables, or join its files"
            )
        partitions = sorted({file.partition for file in plan.files if file.partition is not None})
        counted = {PARTITION_COUNT: str(len(partitions))} if partitions else {}
        return PlannedLoad(
            lambda: self._write(step, plan.files),
            {FILES: LoadedFiles().with_files(loaded).to_text(), TOTAL: str(total), **counted},
            plan.details,
            replacement(step, step.partitions or partitions),
            left_out=tuple(_left_out(plan)),
        )

    def _nothing(self, step: LoadStep, plan: FilePlan) -> str:
        """Say why there is nothing to load."""
        kept = _left_out(plan)
        if plan.loaded or kept:
            return ", ".join(filter(None, (f"{plan.loaded} files loaded before" if plan.loaded else "", *kept)))
        of = f" for {', '.join(step.partitions)}" if step.partitions else ""
        return f"no file matches {self._source.path}{of}"

    def _write(self, step: LoadStep, files: Sequence[SourceFile]) -> Written:
        source, session = self._source, step.spark()
        kind = file_kind(source)
        shape = shape_of(step.spec, source, step.table)
        tasks = min(MOST_TASKS, _parallelism(session), 1 + sum(file.size for file in files) // TASK_BYTES)
        parts = [_to_payload(group) for group in pack(plan_splits(files, kind), tasks)]
        sealed = {name: Secret(text) for name, text in step.settings.storage_for(source.path).items()}

        def read(payload: bytes) -> Iterator[Parsed]:
            options = {name: text.reveal() for name, text in sealed.items()}
            for split in _from_payload(payload):
                for parsed in read_split(split, kind, shape.file_schema, shape.rules, options):
                    yield replace(parsed, rows=shape.table_rows(parsed.rows, split.file))

        return write_parts(
            session, parts, read, step.table, step.rejects, kinds=shape.kinds_column, overwrites=step.replaces
        )


def _left_out(plan: FilePlan) -> list[str]:
    """Say which of the files that the table does not have in this version are not loaded, and why."""
    read = set(plan.files)
    kept = [
        f"{len(files)} {word} not loaded"
        for files, word in (
            ([file for file in plan.changed if file not in read], "changed"),
            ([file for file in plan.late if file not in read], "late"),
        )
        if files
    ]
    return kept + [
        f"{len(files)} left out, because {why} ({some([file.path for file in files])})"
        for files, why in (
            (plan.outside, "their partitions are not declared"),
            (plan.early, "their partitions do not exist yet"),
        )
        if files
    ]


def _parallelism(session: SparkSession) -> int:
    """Return the number of tasks that run at the same time, 2 where the session does not say it."""
    context = spark_context(session)
    return 2 if context is None else max(1, int(context.defaultParallelism))


def _to_payload(splits: Sequence[FileSplit]) -> bytes:
    listed = [[s.file.path, s.file.size, s.file.version, s.file.partition, s.start, s.end] for s in splits]
    return json.dumps(listed).encode()


def _from_payload(payload: bytes) -> list[FileSplit]:
    return [FileSplit(SourceFile(*parts[:4]), *parts[4:]) for parts in json.loads(payload)]
