"""ScanExplanation: the files that a scan reads, the files that each rule excludes, and the costs (format 8.7, 8.8)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from paimon_core.display import DisplayedText
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.plan.split import Split

_NAMED_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Amount:
    """The number of some splits, and the numbers of files, rows and bytes in these splits."""

    splits: int = 0
    files: int = 0
    rows: int = 0
    size_bytes: int = 0

    @staticmethod
    def of(splits: Collection[Split]) -> Amount:
        """Return the numbers for some splits; rows known to be deleted are not counted."""
        return Amount(
            len(splits),
            sum(len(s.files) for s in splits),
            sum(s.row_count for s in splits),
            sum(s.size_bytes for s in splits),
        )

    def __str__(self) -> str:
        if not self.splits:
            return "nothing"
        return (
            f"{_counted(self.splits, 'split')} of {_counted(self.files, 'file')}, {_counted(self.rows, 'row')}, "
            f"{size_text(self.size_bytes)}"
        )


@dataclass(frozen=True, slots=True)
class Analysis:
    """The measurements of a read of the whole scan: files opened, files left out, and data decoded."""

    seconds: float
    """Processor seconds."""
    files_opened: int
    files_skipped: int
    """The files that were left out after the file or its index file had been opened."""
    sections_skipped: int
    """The sections that were not merged, because none of their files contains a row that the filter selects."""
    row_groups: int
    row_groups_read: int
    rows_decoded: int
    """Rows of which at least one column was decoded."""
    bytes_decoded: int
    """The bytes in memory of the decoded columns."""
    rows_returned: int
    columns: tuple[tuple[str, int], ...]
    """The decoded columns, each with its number of decoded values."""
    ignored_files: tuple[str, ...] = ()
    """The paths of damaged data files that were left out (options scan.ignore-*)."""

    def lines(self) -> list[str]:
        """Return the analysis as text."""
        skipped = [
            f"{_counted(count, noun)} left out"
            for count, noun in ((self.files_skipped, "file"), (self.sections_skipped, "section"))
            if count
        ]
        ignored = [f"  ignored    {_counted(len(self.ignored_files), 'damaged file')}: {', '.join(self.ignored_files)}"]
        return [
            f"  opened     {', '.join([_counted(self.files_opened, 'file'), *skipped])}; "
            f"{self.row_groups_read:,} of {_counted(self.row_groups, 'row group')} decoded",
            f"  decoded    {_counted(self.rows_decoded, 'row')}, {size_text(self.bytes_decoded)}, "
            f"{_counted(self.rows_returned, 'row')} returned, {self.seconds:.3f} processor seconds",
            *(ignored if self.ignored_files else []),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class ScanExplanation(DisplayedText):
    """A scan plan in numbers; ``str`` returns a few lines of text, ``to_dict`` returns plain values."""

    snapshot: Snapshot | None
    """None: the table has no snapshot, and nothing is read."""
    schema_id: int
    where: str | None
    is_keyed: bool
    """Whether the table has a primary key."""
    manifests_total: int
    manifests_read: int
    files_total: int
    """Live files of the snapshot."""
    files_selected: int
    skipped: tuple[tuple[str, int], ...]
    """The rules that left out files, each with the number of files that it left out."""
    raw: Amount
    """The splits whose files are read without a merge."""
    merged: Amount
    """The splits whose files are merged."""
    runs_at_once: int
    """The largest number of sorted runs that are merged at once; 0 without a merge."""
    levels: tuple[tuple[int, int], ...]
    """The number of selected files of each level."""
    columns: tuple[str, ...] = ()
    """The columns to decode: the requested columns, and the columns that the filter or a merge needs."""
    bytes_to_read: int = 0
    """The bytes of the columns to decode in the files, estimated from the file sizes and the types of all columns."""
    merge_bytes: int = 0
    """The bytes of memory that a merge may use, in addition to one batch of each sorted run; 0 without a merge."""
    limit: int | None = None
    splits_for_limit: int = 0
    """The number of splits that a read with the limit may have to open."""
    files_to_count: int = 0
    """The number of files that must be read to count the rows, because metadata does not state the count."""
    analysis: Analysis | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as numbers, texts, lists and dicts, which JSON can contain."""
        return {
            "snapshot": None if self.snapshot is None else self.snapshot.id,
            "schema": self.schema_id,
            "where": self.where,
            "manifests": {"total": self.manifests_total, "read": self.manifests_read},
            "files": {"total": self.files_total, "selected": self.files_selected},
            "skipped": dict(self.skipped),
            "raw": _plain(self.raw),
            "merged": {**_plain(self.merged), "runs_at_once": self.runs_at_once},
            "levels": {str(level): files for level, files in self.levels},
            "columns": list(self.columns),
            "bytes_to_read": self.bytes_to_read,
            "merge_bytes": self.merge_bytes,
            "limit": self.limit,
            "splits_for_limit": self.splits_for_limit,
            "files_to_count": self.files_to_count,
            "analysis": None
            if self.analysis is None
            else {**asdict(self.analysis), "columns": dict(self.analysis.columns)},
        }

    def __str__(self) -> str:
        if self.snapshot is None:
            return "nothing to scan: the table has no snapshot"
        s = self.snapshot
        at = datetime.fromtimestamp(s.time_millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        left_out = ", ".join(f"{count:,} by {rule}" for rule, count in self.skipped)
        lines = [
            f"scan of snapshot {s.id} ({s.commit_kind}, {at}), schema {self.schema_id}",
            f"  where      {self.where if self.where is not None else 'everything'}",
            f"  manifests  {self.manifests_read:,} of {self.manifests_total:,} read",
            f"  files      {self.files_selected:,} of {self.files_total:,} selected"
            + (f"; left out: {left_out}" if left_out else ""),
            f"  read raw   {self.raw}",
        ]
        if self.is_keyed or self.merged.splits:
            depth = f", up to {self.runs_at_once} sorted runs at once" if self.merged.splits else ""
            lines.append(f"  merge      {self.merged}{depth}")
        if self.is_keyed:
            texts = [f"L{level}: {_counted(count, 'file')}" for level, count in self.levels]
            lines.append(f"  levels     {', '.join(texts) or 'none'}")
        return "\n".join([*lines, *self._costs(), *(self.analysis.lines() if self.analysis else [])])

    def _costs(self) -> list[str]:
        lines = []
        if self.columns:
            names = [*self.columns[:_NAMED_COLUMNS], *(["..."] if len(self.columns) > _NAMED_COLUMNS else [])]
            number = _counted(len(self.columns), "column")
            lines.append(f"  decode     {number} ({', '.join(names)}), about {size_text(self.bytes_to_read)}")
        if self.merge_bytes:
            lines.append(f"  memory     {size_text(self.merge_bytes)} for a merge, and a batch of each sorted run")
        if self.limit is not None:
            of = f"{self.raw.splits + self.merged.splits:,}"
            lines.append(
                f"  limit      {_counted(self.limit, 'row')}: at most {self.splits_for_limit:,} of {of} splits"
            )
        if self.columns:
            read = f"reads {_counted(self.files_to_count, 'file')}" if self.files_to_count else "from metadata"
            lines.append(f"  count      {read}")
        return lines


def explain_plan(plan: ScanPlan) -> ScanExplanation:
    """Return the explanation of a plan, without the estimated costs."""
    n = plan.counts
    merged = [x for x in plan.splits if not x.raw]
    rules = (
        ("partition", n.pruned_by_partition),
        ("bucket", n.pruned_by_bucket),
        ("key range", n.pruned_by_key),
        ("creation time", n.pruned_by_time),
        ("value range or file index", n.pruned_by_value),
        ("level 0, until they are compacted", n.awaiting_compaction),
    )
    return ScanExplanation(
        snapshot=plan.snapshot,
        schema_id=plan.schema.id,
        where=None if plan.where is None else str(plan.where),
        is_keyed=bool(plan.schema.primary_keys),
        manifests_total=n.manifests_total,
        manifests_read=n.manifests_read,
        files_total=n.files_total,
        files_selected=n.files_selected,
        skipped=tuple((rule, count) for rule, count in rules if count),
        raw=Amount.of([x for x in plan.splits if x.raw]),
        merged=Amount.of(merged),
        runs_at_once=max((len(section) for x in merged for section in x.layout), default=0),
        levels=_levels(plan.files),
    )


def _levels(files: Iterable[DataFile]) -> tuple[tuple[int, int], ...]:
    counts: dict[int, int] = {}
    for f in files:
        counts[f.level] = counts.get(f.level, 0) + 1
    return tuple(sorted(counts.items()))


def _plain(amount: Amount) -> dict[str, int]:
    return {"splits": amount.splits, "files": amount.files, "rows": amount.rows, "bytes": amount.size_bytes}


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_text(size: float) -> str:
    """Return a number of bytes as text, in units of 1024."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"
