"""Parts of a compaction: the work of one large bucket is divided by key ranges, so that several processes share it.

The driver makes the steps of the compaction (``lsm.compaction.rewrite_plan``) and cuts the steps that merge many bytes
into key ranges, at keys from the statistics of the files and of their row groups. A part merges the rows of one key
range of one step, or rewrites one group of files of an append bucket. ``Division.message`` joins the results to the one
commit message that the compaction would have given in one process. The only difference is that a new file ends where a
range ends.

The sort of one large group is one part with a number of ``ranges``: several processes share it by the functions of
``range_sort``. A bucket whose compaction marks rows of higher levels in deletion vectors is not divided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.compact.append import rewrite_append
from paimon_core.compact.changelog import changelog_producer
from paimon_core.compact.compactor import (
    missing_is_conflict,
    run_task,
    steps_of,
    with_indexes,
    with_schema_of_inputs,
    write_step,
)
from paimon_core.compact.record_expiry import RecordExpiry
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.datafile.reading.row_groups import row_group_keys
from paimon_core.datafile.writing.rolling_writer import RollingWriter
from paimon_core.errors import CorruptTable
from paimon_core.lsm.compaction.rewrite_plan import Reread, Rewrite, Upgrade
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.lsm.key_order import KeyOrder, key_order
from paimon_core.lsm.sections import Section
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain
from paimon_core.metadata.member_types import checked
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.key_bounds import KeyBounds
from paimon_core.table_indexes.bucket_vectors import vectors_in

PART_VERSION = 2


@dataclass(frozen=True, slots=True)
class CompactionPart:
    """One part, as a value that can be sent to another process."""

    task: CompactionTask
    """The place, the output level and the index files of the compaction, with only the files that the part reads."""
    input_bytes: int
    """The approximate number of bytes that the part reads."""
    is_whole: bool = False
    """Whether the part is the whole task."""
    sections: tuple[Section, ...] = ()
    """With a primary key, the sections to merge, reduced to the files with keys of the range."""
    start: bytes | None = None
    """The first key of the range; None: the smallest key."""
    end: bytes | None = None
    """The first key after the range; None: the range ends with the largest key."""
    rereads: bool = False
    """Whether the rows are only read for the changelog, and the files stay."""
    ranges: int = 0
    """The number of key ranges into which the sort of a large group is to be divided (``range_sort``); 0: it is small.
    """

    def to_bytes(self) -> bytes:
        """Return the part as versioned JSON."""
        members = {
            "task": bytes_to_plain(self.task.to_bytes()),
            "input_bytes": self.input_bytes,
            "is_whole": self.is_whole,
            "sections": [[[run.level, [*map(to_plain, run.files)]] for run in s.runs] for s in self.sections],
            "bounds": [None if key is None else bytes_to_plain(key) for key in (self.start, self.end)],
            "rereads": self.rereads,
            "ranges": self.ranges,
        }
        return pack(PART_VERSION, members)

    @staticmethod
    def from_bytes(data: bytes) -> CompactionPart:
        """Return the part that ``to_bytes`` encoded.

        Raises InvalidRequest for other bytes, UnsupportedFeature for another version.
        """
        with unpacked(data, "part of a compaction", PART_VERSION) as value:
            task = CompactionTask.from_bytes(bytes_from_plain(value["task"]))
            start, end = (None if key is None else bytes_from_plain(key) for key in value["bounds"])
            sections = tuple(
                Section(tuple(SortedRun(level, tuple(map(from_plain, files))) for level, files in runs))
                for runs in value["sections"]
            )
            kind = (value["input_bytes"], value["is_whole"])
            return checked(CompactionPart(task, *kind, sections, start, end, value["rereads"], value["ranges"]))


RunParts = Callable[[TableContext, Sequence[CompactionPart]], list[CommitMessage]]
"""Runs ``run_part`` for parts, in any processes, and returns the messages in the order of the parts."""


def run_part(context: TableContext, part: CompactionPart) -> CommitMessage:
    """Run a part and return the files that it has written, as a message without the files that they replace.

    For a part that is a whole task: the message of the task. On an error, the written files are deleted. Raises
    CommitConflict as ``run_task`` does.
    """
    task, unit = part.task, part.task.unit
    if part.is_whole:
        return run_task(context, task)
    place, vectors = (task.partition, task.bucket, task.total_buckets), vectors_in(task.indexes)
    with missing_is_conflict(context, task):
        if isinstance(unit, AppendUnit):
            _, after = rewrite_append(context, task.partition, task.bucket, unit, vectors)
            return CommitMessage(*place, compact_after=tuple(after))
        bounds = KeyBounds.of(context.schema.file_key_fields, part.start, part.end)
        reader = BucketReader(context, *place[:2], keep=RecordExpiry.of(context), vectors=vectors, keys=bounds)
        producer = changelog_producer(reader, unit, task.higher)
        step = Reread(part.sections[0].files[0]) if part.rereads else Rewrite(part.sections)
        writers: list[RollingWriter] = []
        try:
            after, changelog = write_step(reader, unit, step, producer, writers)
        except BaseException:
            for begun in writers:
                begun.abort()
            raise
    return CommitMessage(*place, compact_after=tuple(after), compact_changelog=tuple(changelog))


@dataclass(frozen=True, slots=True)
class _Step:
    """The files that a step removes, the file that it only moves to another level, and the parts that write files."""

    before: tuple[DataFile, ...]
    moved: tuple[DataFile, ...]
    parts: tuple[CompactionPart, ...]


@dataclass(frozen=True, slots=True)
class Division:
    """The parts of one task, in the order of their results."""

    task: CompactionTask
    steps: tuple[_Step, ...]

    @property
    def parts(self) -> list[CompactionPart]:
        """All parts."""
        return [part for step in self.steps for part in step.parts]

    def message(self, context: TableContext, answers: Sequence[CommitMessage]) -> CommitMessage:
        """Return the message of the task from the messages of its parts.

        When this fails, the files of the parts are deleted. Raises CorruptTable when the new files of two parts
        overlap, because the keys of an input file are not within its statistics.
        """
        if any(part.is_whole for part in self.parts):
            return answers[0]
        task, left = self.task, iter(answers)
        before: list[DataFile] = []
        after: list[DataFile] = []
        changelog: list[DataFile] = []
        with aborted_on_error(answers, context):
            for step in self.steps:
                found = [next(left) for _ in step.parts]
                written = [f for message in found for f in message.compact_after]
                _check_disjoint(context, task, written)
                before += step.before
                after += [*step.moved, *written]
                changelog += [f for message in found for f in message.compact_changelog]
            joined = CommitMessage(
                task.partition,
                task.bucket,
                task.total_buckets,
                compact_before=tuple(before),
                compact_after=tuple(after),
                compact_changelog=tuple(changelog),
            )
            return with_indexes(context, task, joined, {})


def run_divided(
    context: TableContext, tasks: Sequence[CompactionTask], share: int, run: RunParts
) -> list[CommitMessage]:
    """Return the message of each task; tasks with much more input bytes than ``share`` are divided into parts.

    ``run`` runs all parts. When input files have a newer schema than ``context``, the parts of all tasks use the
    table's latest schema. Raises the errors of ``divided``, of ``run`` and of ``Division.message``; after an error of
    ``Division.message``, all written files are deleted.
    """
    context = with_schema_of_inputs(context, tasks)
    divisions = [divided(context, task, share) for task in tasks]
    parts = [part for division in divisions for part in division.parts]
    answers = run(context, parts)
    messages: list[CommitMessage] = []
    with aborted_on_error(messages, context):
        for division in divisions:
            count = len(division.parts)
            own, answers = answers[:count], answers[count:]
            with aborted_on_error(answers, context):
                messages.append(division.message(context, own))
    return messages


def divided(context: TableContext, task: CompactionTask, share: int) -> Division:
    """Return the parts of a task: about one for each ``share`` input bytes; one part for a task that is small or cannot
    be divided.

    Reads the footers of files with more bytes than half a share. Raises CommitConflict when a file is missing because
    of a concurrent commit, CorruptTable for damaged statistics and footers.
    """
    unit = task.unit
    whole = Division(task, (_Step((), (), (CompactionPart(task, task.input_bytes, is_whole=True),)),))
    if 2 * task.input_bytes < 3 * share:
        return whole
    if isinstance(unit, AppendUnit):
        steps = [_append_step(task, unit, groups, share) for groups in _shares(unit.groups, share)]
    elif task.higher and context.options["deletion-vectors.enabled"]:
        return whole
    else:
        expiry = RecordExpiry.of(context)
        reader = BucketReader(context, task.partition, task.bucket, keep=expiry, vectors=vectors_in(task.indexes))
        with missing_is_conflict(context, task):
            planned = steps_of(reader, unit, expiry, changelog_producer(reader, unit, task.higher))
            steps = [_keyed_step(reader, task, unit, step, share) for step in planned]
    division = Division(task, tuple(steps))
    return division if len(division.parts) > 1 or any(part.ranges for part in division.parts) else whole


def _append_step(task: CompactionTask, unit: AppendUnit, groups: Sequence[tuple[DataFile, ...]], share: int) -> _Step:
    size = sum(map(_bytes, groups))
    is_large = unit.sort is not None and len(groups) == 1 and 2 * size >= 3 * share
    ranges = max(2, round(size / share)) if is_large else 0
    part = CompactionPart(replace(task, unit=replace(unit, groups=tuple(groups))), size, ranges=ranges)
    return _Step(tuple(f for group in groups for f in group), (), (part,))


def _shares(groups: Sequence[tuple[DataFile, ...]], share: int) -> Iterator[list[tuple[DataFile, ...]]]:
    """Yield consecutive groups that have together about ``share`` bytes."""
    held: list[tuple[DataFile, ...]] = []
    for group in groups:
        if held and sum(map(_bytes, held)) + _bytes(group) > share:
            yield held
            held = []
        held.append(group)
    yield held


def _keyed_step(
    reader: BucketReader, task: CompactionTask, unit: CompactionUnit, step: Upgrade | Rewrite, share: int
) -> _Step:
    moved = (step.file.upgraded(unit.output_level),) if isinstance(step, Upgrade) else ()
    if isinstance(step, Upgrade) and not isinstance(step, Reread):
        return _Step(step.files, moved, ())
    fields = reader.context.schema.file_key_fields
    order = key_order([f.type for f in fields])
    parts = []
    for start, end, size in _ranges(_pieces(reader, step.files, share), order, share):
        bounds = KeyBounds.of(fields, start, end)

        def meets(file: DataFile, bounds: KeyBounds = bounds) -> bool:
            return bounds.meet(order(file.min_key), order(file.max_key))

        sections = tuple(filter(None, (_reduced(section, meets) for section in step.sections)))
        files = tuple(f for section in sections for f in section.files)
        read = replace(task, unit=replace(unit, files=files), higher=tuple(filter(meets, task.higher)))
        parts.append(
            CompactionPart(read, size, sections=sections, start=start, end=end, rereads=isinstance(step, Reread))
        )
    return _Step(step.files, moved, tuple(parts))


def _reduced(section: Section, meets: Callable[[DataFile], bool]) -> Section | None:
    """Return the section with the files for which ``meets`` is true; None if it has no such file. The runs keep their
    order.
    """
    runs = [SortedRun(run.level, tuple(filter(meets, run.files))) for run in section.runs]
    return Section(tuple(run for run in runs if run.files)) if any(run.files for run in runs) else None


def _pieces(reader: BucketReader, files: Sequence[DataFile], share: int) -> list[tuple[bytes, int]]:
    """Return the keys at which files or their row groups begin, each with the bytes up to the next key of the file."""
    fields = reader.context.schema.file_key_fields
    types = tuple(f.type for f in fields)
    pieces = []
    for file in files:
        lows = [file.min_key]
        if 2 * file.file_size > share:
            for keys in row_group_keys(reader.context.storage, reader.path(file), fields)[1:]:
                # The statistics bound the first columns only: null is the smallest value of each other column.
                rest = len(types) - len(keys.low)
                lows += [encode_row((*keys.low, *[None] * rest), types)] if keys.low else []
        pieces += [(low, file.file_size // len(lows)) for low in lows]
    return pieces


def _ranges(
    pieces: Sequence[tuple[bytes, int]], order: KeyOrder, share: int
) -> list[tuple[bytes | None, bytes | None, int]]:
    """Return ranges of keys of about equal bytes: the first key, the key after the range, and the bytes."""
    total = sum(size for _, size in pieces)
    count = max(1, round(total / share))
    cuts: list[bytes | None] = [None]
    sizes = [0]
    passed, last = 0, min(order(low) for low, _ in pieces)
    for low, size in sorted(pieces, key=lambda piece: order(piece[0])):
        if passed * count >= total * len(cuts) and order(low) > last:
            cuts.append(low)
            sizes.append(0)
            last = order(low)
        sizes[-1] += size
        passed += size
    return [(start, end, size) for (start, end), size in zip(pairwise([*cuts, None]), sizes, strict=True)]


def _check_disjoint(context: TableContext, task: CompactionTask, files: Sequence[DataFile]) -> None:
    if not context.is_keyed:
        return
    order = key_order([f.type for f in context.schema.key_fields])
    for one, other in pairwise(files):
        if order(one.max_key) >= order(other.min_key):
            raise CorruptTable(
                f"table {context.name}: bucket {task.bucket} cannot be compacted in several tasks, because a data file "
                f"has keys outside of its statistics: the new files {one.file_name} and {other.file_name} overlap",
                table=context.name,
                bucket=task.bucket,
            )


def _bytes(files: Sequence[DataFile]) -> int:
    return sum(f.file_size for f in files)
