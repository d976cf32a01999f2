"""Infer sample: how much of its files the columns of a table were inferred from, and which types rest only on that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from paimon_lake.protocol import size_text
from paimon_lake.sources.files.listing import SourceFile
from paimon_lake.sources.files.rejects import shown
from paimon_lake.sources.files.sampled_file import Sample


@dataclass(frozen=True)
class Sampled:
    """What was read of the files of a source."""

    files: int
    """The number of files that were read, at least in part."""
    all_files: int
    rows: int | None
    """The number of rows read; None when the files state the types of their columns."""
    bytes: int
    """The number of stored bytes that were read."""
    all_bytes: int
    is_whole: bool
    """Whether the types hold for all rows of all files."""
    nulls: tuple[str, ...]
    """The columns, and members such as ``a.b`` and ``a[]``, without a value in what was read: STRING is a guess."""
    guesses: Mapping[str, str]
    """The columns whose types hold for the rows read and perhaps not for other rows, with their types; {} when all
    rows were read, and when the files state the types."""
    forced: tuple[str, ...] = ()
    """A sentence for each column or member that is STRING because of few values, or because its types differ by file,
    with the value, its file and its row."""

    def lines(self) -> Iterator[str]:
        """Yield the lines that ``paimon-lake infer`` prints below the columns."""
        files = f"{self.files:,} of {self.all_files:,} file{'s' if self.all_files > 1 else ''}"
        if self.rows is None:
            yield f"read the columns that {files} state{'s' if self.files == 1 else ''}; no row was read"
        else:
            every = "all " if self.is_whole else ""
            size = f"{size_text(self.bytes)} of {size_text(self.all_bytes)}"
            yield f"read {every}{self.rows:,} row{'' if self.rows == 1 else 's'} in {files}, {size}"
        if self.nulls:
            yield f"note: without a value in what was read, so STRING is a guess: {', '.join(self.nulls)}"
        yield from (f"note: {sentence}" for sentence in self.forced)
        whole = [name for name, kind in self.guesses.items() if kind == "BIGINT"]
        if whole:
            advice = "declare DECIMAL or DOUBLE for a column that may have fractions"
            yield f"note: only whole numbers in the rows read: {', '.join(whole)}; {advice}"
        others = [f"{name} {kind}" for name, kind in self.guesses.items() if kind != "BIGINT"]
        if others:
            yield f"note: types that fit the rows read, and perhaps not all rows: {', '.join(others)}"
        if self.rows is None and self.files < self.all_files:
            yield "note: the other files may state other columns and types; a load names the first that differs"


def sampled_of(
    samples: Sequence[Sample], files: Sequence[SourceFile], columns: Mapping[str, str], rename: Mapping[str, str]
) -> Sampled:
    """Return what the samples of the first of ``files`` say.

    ``columns``: the types by the names in the files, "" for a column without a value. ``rename``: the names of columns
    in the table by their names in the files.
    """
    is_stated = all(one.rows is None for one in samples)
    is_whole = all(one.is_whole for one in samples) and sum(one.size > 0 for one in files) == len(samples)
    nulls = dict.fromkeys(path for one in samples for path in one.nulls if not _has_value(path, samples, columns))
    guesses = {rename.get(name, name): kind for name, kind in columns.items() if kind and not _accepts_all(kind)}
    return Sampled(
        files=len(samples),
        all_files=len(files),
        rows=None if is_stated else sum(one.rows or 0 for one in samples),
        bytes=sum(one.bytes for one in samples),
        all_bytes=sum(one.size for one in files),
        is_whole=is_whole,
        nulls=tuple(rename.get(path, path) for path in nulls),
        guesses={} if is_whole or is_stated else guesses,
        forced=tuple(_forced(samples, columns, rename)),
    )


def _forced(samples: Sequence[Sample], columns: Mapping[str, str], rename: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each column and member that is STRING because of a value, or because of two files."""
    told = set[str]()
    for sample in samples:
        for path, value in sample.forced.items():
            if path not in told and columns.get(path, "STRING") == "STRING":
                told.add(path)
                yield value.sentence(rename.get(path, path))
    for column, kind in columns.items():
        kinds = {sample.columns[column]: sample for sample in samples if sample.columns.get(column)}
        if kind != "STRING" or column in told or len(kinds) < 2:
            continue
        found = [(one, sample.firsts.get(column)) for one, sample in kinds.items()]
        places = [f"{one} ({shown(at.value)} in {at.file}, row {at.row:,})" if at else one for one, at in found]
        yield f"{rename.get(column, column)} is STRING, because the files have {' and '.join(places)}"


def _has_value(path: str, samples: Sequence[Sample], columns: Mapping[str, str]) -> bool:
    """Whether a column or member that one sample has only as null has a value in another sample."""
    if path in columns:
        return bool(columns[path])
    top = path.partition(".")[0].partition("[")[0]
    return any(path not in one.nulls for one in samples if top in one.columns and top not in one.nulls)


def _accepts_all(kind: str) -> bool:
    """Whether a column of the type accepts every text."""
    return kind == "STRING"
