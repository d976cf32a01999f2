"""Group run: compacts some buckets and commits them together, with the forecast in the snapshot.

The tasks run in threads of this process, or where a function runs them, such as in Spark.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_core.commit.author import Author
from paimon_core.compact.compaction import Work as RunTasks
from paimon_core.compact.compaction import commit_buckets
from paimon_core.compact.compactor import run_task
from paimon_core.compact.report import CompactReport
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import CommitConflict, PaimonError
from paimon_core.health.plan.candidates import Candidate
from paimon_core.health.plan.distinct_keys import domain_of, rows_of_runs
from paimon_core.health.plan.outcome import CONFLICT, DONE, FAILED, Outcome
from paimon_core.health.plan.works import Work
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.parallel_work import run_parallel
from paimon_core.table.upkeep.peak_memory import PeakMemory

PREFIX = "paimon-core.maintenance."
"""The prefix of the properties of a snapshot that maintenance committed (docs/health.md)."""


@dataclass(frozen=True, slots=True)
class RunLabel:
    """What all outcomes of one run have in common."""

    run: str
    host: str

    def outcome(self, candidate: Candidate, status: str, seconds: float, started: int, error: object = None) -> Outcome:
        """Return an outcome of a candidate without numbers of bytes."""
        text = f"{error.kind}: {error}" if isinstance(error, PaimonError) else None
        return Outcome(candidate, self.run, self.host, started, status, round(seconds, 4), error=text)


@dataclass
class _Ran:
    work: Work
    task: CompactionTask
    seconds: float
    message: CommitMessage | None = None
    error: PaimonError | None = None


def threads_within(candidates: Sequence[Candidate], memory: int | None, most: int) -> int:
    """Return how many of the candidates may run at the same time: their largest peaks together stay below ``memory``.

    At least 1, at most ``most``.
    """
    peaks = sorted((c.peak_memory for c in candidates), reverse=True)[: max(1, most)]
    threads, total = 0, 0
    for peak in peaks:
        total += peak
        if threads and memory is not None and total > memory:
            break
        threads += 1
    return max(1, threads)


def predicted_peak(candidates: Sequence[Candidate], threads: int) -> int:
    """Return the predicted peak of work that runs in ``threads`` threads: the sum of the largest peaks."""
    return sum(sorted((c.peak_memory for c in candidates), reverse=True)[:threads])


def run_group(
    context: TableContext,
    author: Author,
    works: Sequence[Work],
    threads: int,
    label: RunLabel,
    elsewhere: RunTasks | None = None,
) -> tuple[list[Outcome], CompactReport]:
    """Compact exactly the files of ``works`` and commit the buckets together; return an outcome for each work.

    ``elsewhere`` runs the tasks and returns a message for each; without it they run in ``threads`` of this process. A
    bucket whose task fails is left out of the commit, and the others are committed. Raises only errors that are no
    PaimonError; the written files are then deleted.
    """
    started = time.time_ns() // 1_000_000
    tasks = [(work, work.task) for work in works if work.task is not None]
    group_peak = predicted_peak([work.candidate for work in works], threads)
    messages: list[CommitMessage] = []

    def run(one: tuple[Work, CompactionTask]) -> _Ran:
        begun = time.perf_counter()
        try:
            message = run_task(context, one[1])
        except PaimonError as error:
            return _Ran(*one, time.perf_counter() - begun, error=error)
        messages.append(message)
        return _Ran(*one, time.perf_counter() - begun, message)

    with PeakMemory() as memory, aborted_on_error(messages, context):
        ran = run_parallel(run, tasks, threads) if elsewhere is None else _ran(context, tasks, elsewhere, messages)
        peak = memory.growth() if elsewhere is None else None
        properties = {**author.properties, **_properties(ran, group_peak, peak)}
    commit_begun = time.perf_counter()
    report, refused = CompactReport(), None
    if messages:
        try:
            report = commit_buckets(
                context, replace(author, properties=properties), [r.message for r in ran if r.message]
            )
        except PaimonError as error:
            refused = error
    share = (time.perf_counter() - commit_begun) / len(ran)
    committed = {(m.partition, m.bucket) for m in report.messages}
    ids = [snapshot.id for snapshot in report.snapshots]
    outcomes = []
    for one in ran:
        seconds, problem = one.seconds + share, one.error or refused
        if one.message is not None and (one.task.partition, one.task.bucket) in committed:
            found = _done(one.work, one.message, label.outcome(one.work.candidate, DONE, seconds, started))
            found = replace(found, snapshot=ids[-1], written_factor=one.work.written_factor)
        else:
            # A bucket that was left out of a commit without an error had a conflict of its own.
            status = CONFLICT if problem is None or isinstance(problem, CommitConflict) else FAILED
            found = label.outcome(one.work.candidate, status, seconds, started, problem)
        outcomes.append(replace(found, peak_memory=peak, group_peak_memory=group_peak))
    return outcomes, report


def _ran(
    context: TableContext,
    tasks: Sequence[tuple[Work, CompactionTask]],
    elsewhere: RunTasks,
    messages: list[CommitMessage],
) -> list[_Ran]:
    """Run tasks with ``elsewhere`` and add their messages; after an error, each task runs again by itself.

    The time of tasks that run together is divided by their bytes.
    """
    begun = time.perf_counter()
    try:
        found = elsewhere(context, [task for _, task in tasks])
    except PaimonError as error:
        if len(tasks) > 1:
            return [ran for one in tasks for ran in _ran(context, [one], elsewhere, messages)]
        return [_Ran(*tasks[0], time.perf_counter() - begun, error=error)]
    messages += found
    a_byte = (time.perf_counter() - begun) / max(1, sum(task.input_bytes for _, task in tasks))
    return [_Ran(*one, a_byte * one[1].input_bytes, message) for one, message in zip(tasks, found, strict=True)]


def _done(work: Work, message: CommitMessage, outcome: Outcome) -> Outcome:
    """Return the outcome with the bytes that were really read and written, and what this saves."""
    removed, added = _replaced(message)
    read, written = sum(removed.values()), sum(added.values())
    found = replace(
        outcome,
        bytes_read=read,
        bytes_written=written,
        files_removed=len(removed),
        files_added=len(added),
        key_domain=_domain(work, message),
    )
    if work.before is None:
        return found
    after = work.before.after(list(removed.values()), list(added.values()), work.runs_after)
    return replace(found, saved=work.before.weight - after.weight)


def _domain(work: Work, message: CommitMessage) -> float | None:
    """Return the domain of keys of a bucket whose runs were all merged into new files; None otherwise."""
    unit = None if work.task is None else work.task.unit
    moved = {f.file_name for f in message.compact_before} & {f.file_name for f in message.compact_after}
    if not isinstance(unit, CompactionUnit) or moved or len(unit.files) != len(message.compact_before):
        return None
    return domain_of(rows_of_runs(unit.files), sum(f.row_count for f in message.compact_after))


def _replaced(message: CommitMessage) -> tuple[dict[str, int], dict[str, int]]:
    """Return the sizes of removed and of new files by name; files that only moved are left out."""
    before = {f.file_name: f.file_size for f in message.compact_before}
    after = {f.file_name: f.file_size for f in message.compact_after}
    return (
        {name: size for name, size in before.items() if name not in after},
        {name: size for name, size in after.items() if name not in before},
    )


def _properties(ran: Sequence[_Ran], predicted_memory: int, peak: int | None) -> Mapping[str, str]:
    """Return the forecast and the outcome before the commit, as the properties of its snapshot."""
    done = [(one.work.candidate, _replaced(one.message)) for one in ran if one.message is not None]
    numbers = {
        "buckets": len(done),
        "predicted-bytes-read": sum(c.bytes_read for c, _ in done),
        "bytes-read": sum(sum(removed.values()) for _, (removed, _) in done),
        "predicted-bytes-written": sum(c.bytes_written for c, _ in done),
        "bytes-written": sum(sum(added.values()) for _, (_, added) in done),
        "predicted-seconds": round(sum(c.seconds for c, _ in done), 3),
        "seconds": round(sum(one.seconds for one in ran if one.message is not None), 3),
        "predicted-peak-memory": predicted_memory,
        "peak-memory": peak,
    }
    return {PREFIX + name: str(value) for name, value in numbers.items() if value is not None}
