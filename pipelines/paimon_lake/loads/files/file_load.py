"""Loads of files: each file is loaded once, in the order of the paths; rows that do not fit become rejects."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from paimon_core.spark.tasks import spark_context
from paimon_core.storage.secret import Secret
from paimon_lake.checks.text import many
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.commit import LoadCommit, NumberTaken, commit_load
from paimon_lake.loads.files.file_plan import FilePlan, advice, plan_files, split_files
from paimon_lake.loads.files.missing_files import missing_text, names_one_file
from paimon_lake.loads.files.path_rules import path_problems
from paimon_lake.loads.files.source_files import fetch_files, file_kind, source_files
from paimon_lake.loads.files.split_reports import (
    SplitReport,
    check_members,
    contents_of,
    report_of,
    skipped_events,
    unchanged_files,
)
from paimon_lake.loads.ledger.load_properties import PARTITION_COUNT
from paimon_lake.loads.ledger.load_snapshot import CARRIED, CONTENTS, FILES, STEP, TOTAL
from paimon_lake.loads.ledger.loaded_files import MOST_FILES, LoadedFiles, path_digest
from paimon_lake.loads.ledger.restore import files_again, left_lost
from paimon_lake.loads.shapes.added_columns import alterations, left_out_columns
from paimon_lake.loads.shapes.row_shape import shape_of
from paimon_lake.loads.shapes.schema_changes import TableAltered
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad, abort_written
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.files.events.heads import check_one_source
from paimon_lake.sources.files.listing import SourceFile
from paimon_lake.sources.files.reading import read_split
from paimon_lake.sources.files.rejects import Parsed, no_rejects
from paimon_lake.sources.files.splits import FileSplit, pack, plan_splits
from paimon_lake.sources.files.text.json_members import Path

TASK_BYTES = 32 << 20
"""A load has one task, and one further task for each ``TASK_BYTES`` of files, at most as many as Spark runs at once."""
MOST_TASKS = 16
"""The largest number of tasks of a load: each adds a sorted run to the buckets of a table with a key."""


class FileLoads:
    """The loads of a table from files."""

    def __init__(self, source: FilesSource) -> None:
        self._source = source
        self._altered: list[str] = []
        """The alterations of the table in this run, one sentence each."""

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the load of files that are not in the ledger or must be read again, or NothingToLoad."""
        if step.partitions is not None and "{" not in self._source.path:
            raise PipelineError(
                f"{step.spec.name}: source.path {self._source.path} has no placeholder for the partition, such "
                f"as {{date}}, so the files of {step.partitions[0]} are not known"
            )
        for problem in path_problems(step.spec):
            raise PipelineError(f"{step.spec.load_name}: {problem}")
        fetch_files(step.settings, step.spec, self._source, step.partitions)
        listed = source_files(step.settings, self._source, step.partitions)
        if not listed:
            self._check_missing(step)
        found, outside, early = split_files(step.spec, listed, datetime.now(UTC))
        same = {} if step.reload else self._same_content(step, found)
        loaded_files = step.ledger.files
        plan = plan_files(step.spec, self._source, found, loaded_files, reload=step.reload, same=same)
        if again := files_again(step, found, plan.files):
            plan = plan_files(step.spec, self._source, found, loaded_files, same=same, again=again)
        plan = replace(plan, outside=tuple(outside), early=tuple(early))
        if step.reload and not step.ledger.lost and (by := _loaded_meanwhile(step, plan.files)):
            return NothingToLoad([by])
        loaded = [(file.ledger_name, file.version) for file in (*plan.files, *same)]
        entries = LoadedFiles().with_files(loaded)
        total = len(step.ledger.files.with_files(loaded).versions)
        contents = {file.ledger_name: content for file, content in same.items()}
        if not plan.files:
            recorded = _record_versions(step, entries.with_contents(contents), total) if same else None
            note = f"no row written, new versions of {many(len(same), 'file')} recorded" if recorded is not None else ""
            return NothingToLoad([self._nothing(step, plan)], plan.details, recorded, note)
        if total > MOST_FILES:
            raise PipelineError(
                f"{step.spec.name}: its loads would have {total:,} files, and the ledger of a table has at most "
                f"{MOST_FILES:,}: divide the source into several tables, or join its files"
            )
        partitions = sorted({file.partition for file in plan.files if file.partition is not None})
        counted = {PARTITION_COUNT: str(len(partitions))} if partitions else {}
        return PlannedLoad(
            lambda: self._write(step, plan.files, entries, contents),
            {FILES: entries.to_text(), TOTAL: str(total), **counted},
            plan.details,
            step.replacement(step.partitions or partitions),
            rejects_of={file.path for file in plan.files},
            left_out=(
                *_left_out(step.spec, plan),
                *(_gone(step, listed) if step.replaces else _stays(plan)),
                *left_lost(step, found),
            ),
            schema_changes=tuple(self._altered),
        )

    def _same_content(self, step: LoadStep, found: Sequence[SourceFile]) -> dict[SourceFile, bytes]:
        """Return the files whose version changed although their content did not change, with the digest of the
        content.
        """
        loaded, options = step.ledger.files, step.settings.storage_for(self._source.path)
        changed = [file for file in found if loaded.state(file.ledger_name, file.version) == "changed"]
        return dict(unchanged_files(changed, loaded, file_kind(self._source), options)) if changed else {}

    def _nothing(self, step: LoadStep, plan: FilePlan) -> str:
        """Return a text that says why there is nothing to load."""
        loaded = [f"{plan.loaded} files loaded before"] if plan.loaded else []
        same = [f"{len(plan.same)} of them written again with the same content"] if plan.same else []
        if kept := [*loaded, *same, *_left_out(step.spec, plan)]:
            return ", ".join(kept)
        of = f" for {', '.join(step.partitions)}" if step.partitions else ""
        return f"no file matches {self._source.path}{of}"

    def _check_missing(self, step: LoadStep) -> None:
        """Raise PipelineError when no file was listed because the path is probably wrong.

        That is so for a path that names one file, and for a table that was never loaded if its source has no file at
        all. A later load that finds no file is normal: its source may be empty until the next delivery. So is a part
        without files: the parts of a table need not begin together.
        """
        source, was_loaded = self._source, bool(step.ledger.number or step.ledger.files.versions)
        if names_one_file(source) or not (
            was_loaded or step.spec.is_part or (step.partitions and source_files(step.settings, source, None))
        ):
            raise PipelineError(f"{step.spec.load_name}: {missing_text(step.settings, source)}")

    def _write(
        self, step: LoadStep, files: Sequence[SourceFile], entries: LoadedFiles, contents: Mapping[str, bytes]
    ) -> WriteResult:
        source, session = self._source, step.spark()
        kind = file_kind(source)
        shape = shape_of(step.spec, source, step.table, step.lookups)
        parts = [_to_payload(group) for group in pack(plan_splits(files, kind), _task_count(step, session, files))]
        sealed = {name: Secret(text) for name, text in step.settings.storage_for(source.path).items()}

        def read(payload: bytes) -> Iterator[Parsed]:
            options = {name: text.reveal() for name, text in sealed.items()}
            for split in _from_payload(payload):
                members: frozenset[Path] = frozenset()
                skipped: Counter[str] = Counter()
                sources: frozenset[str] = frozenset()
                new: Mapping[str, Collection[str]] = {}
                for parsed in read_split(split, kind, shape.file_schema, shape.rules, options):
                    members |= parsed.members
                    sources |= parsed.sources
                    new = parsed.new_columns
                    skipped.update(parsed.skipped)
                    rows = shape.table_rows(parsed.rows, split.file)
                    yield replace(parsed, rows=rows, version=split.file.version, file=split.file.path)
                report = replace(report_of(split, options, members, skipped, sources), new_columns=new)
                yield Parsed(no_rejects(), no_rejects(), 0, report=report.to_bytes())

        written = write_parts(
            session,
            parts,
            read,
            step.table,
            step.rejects,
            step.stamp,
            kinds=shape.kinds_column,
            overwrites=step.replaces,
            lookups=step.lookups,
        )
        reports = [SplitReport.from_bytes(report) for report in written.reports]
        tables = {table for report in reports for table in report.sources}
        try:
            if not kind.has_patterns:
                check_one_source(tables, f"source.path {source.path}")
            noted = [report.new_columns for report in reports]
            ignored = left_out_columns(step, source, noted, f"source.path {source.path}")
            added = [name for name in step.table.schema.names if name not in step.spec.columns]
            check_members(files, reports, kind, shape.file_schema, shape.rules, added)
        except (PipelineError, TableAltered) as error:
            abort_written(step, written)
            if isinstance(error, TableAltered):
                self._altered += alterations(step.table.schema.fields, error.table.schema.fields)
                raise
            raise PipelineError(f"{step.spec.name}: {error}") from None
        known = entries.with_contents({**contents, **contents_of(files, reports)})
        return replace(
            written,
            entries={CONTENTS: known.contents_text()},
            skipped=tuple(skipped_events(reports)),
            source_tables=tuple(sorted(tables)) if kind.has_patterns else (),
            ignored_columns=(*written.ignored_columns, *ignored),
        )


def _task_count(step: LoadStep, session: SparkSession, files: Sequence[SourceFile]) -> int:
    """Return the number of tasks that read files; it is 1 if one task must read all rows (``Lookups.keeps_order``)."""
    if step.lookups is not None and step.lookups.keeps_order:
        return 1
    return min(MOST_TASKS, _parallelism(session), 1 + sum(file.size for file in files) // TASK_BYTES)


def _record_versions(step: LoadStep, files: LoadedFiles, total: int) -> int | None:
    """Record new versions of files with unchanged content in the ledger, so that later loads do not read them again.

    Return the id of the empty snapshot with the record. Return None and record nothing when the table does not have the
    option ``commit.force-create-snapshot``, or when a concurrent load has taken the number.
    """
    if step.table.options["commit.force-create-snapshot"]:
        texts = {FILES: files.to_text(), CONTENTS: files.contents_text(), TOTAL: str(total)}
        with contextlib.suppress(NumberTaken):
            after = step.ledger.number  # a rollback may have removed the rows of these files
            record = LoadCommit(step.number, {STEP: CARRIED, **texts}, loaded=step.spec.load_name, after=after)
            return commit_load(step.table, [], record).id
    return None


def _loaded_meanwhile(step: LoadStep, files: Sequence[SourceFile]) -> str:
    """Return a sentence when other loads have read all ``files`` since this load began; "" otherwise."""
    loaded = step.meanwhile.files
    if not files or any(loaded.state(file.ledger_name, file.version) != "loaded" for file in files):
        return ""
    return f"{len(files)} files loaded by another load since this one began"


def _left_out(spec: TableSpec, plan: FilePlan) -> list[str]:
    """Return sentences about new or changed files that are not loaded, each with the reason."""
    read = set(plan.files)
    kept = [
        f"{len(files)} {word} not loaded ({some([file.path for file in files])}; {what_to_do})"
        for files, word, what_to_do in (
            ([file for file in plan.changed if file not in read], "changed", advice(spec)),
            ([file for file in plan.late if file not in read], "late", "`source.late: load` loads them"),
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


def _gone(step: LoadStep, listed: Sequence[SourceFile]) -> list[str]:
    """Return a sentence when a reload of the whole table does not find earlier loaded files in the source."""
    if not step.reload or step.partitions is not None:
        return []
    gone = len(step.ledger.files.versions.keys() - {path_digest(file.ledger_name) for file in listed})
    sentence = "of earlier loads not in the source any more: the table has no rows of them now"
    return [f"{many(gone, 'file')} {sentence}"] if gone else []


def _stays(plan: FilePlan) -> list[str]:
    """Return a sentence when changed files are loaded; [] otherwise.

    The old rows of these files stay, because rows do not record their file.
    """
    changed = [file.path for file in plan.changed if file in set(plan.files)]
    sentence = "rows that only their older versions have stay in the table"
    return [f"{len(changed)} changed loaded ({some(changed)}): {sentence}"] if changed else []


def _parallelism(session: SparkSession) -> int:
    """Return the number of tasks that run at the same time; 2 when the session has no such number (Spark Connect)."""
    context = spark_context(session)
    return 2 if context is None else max(1, int(context.defaultParallelism))


def _to_payload(splits: Sequence[FileSplit]) -> bytes:
    return json.dumps([[vars(split.file), split.start, split.end] for split in splits]).encode()


def _from_payload(payload: bytes) -> list[FileSplit]:
    return [FileSplit(SourceFile(**file), start, end) for file, start, end in json.loads(payload)]
