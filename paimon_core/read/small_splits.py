"""Small splits: reads many splits of few rows together, so that columns are built, merged and filtered once for all.

``groups_of_splits`` puts consecutive small splits into groups. By default the first group has one split, each later one
at most twice as many, so that the first rows of a read come early. ``read_together`` reads the files of a group one
after the other, with all their checks, and holds the batches. When a batch is held, a number is added to its rows: the
number of their split. The rows of all splits are then filtered at once, and merged at once with this number before the
key. The values of partition columns are taken by this number.

Memory: one batch of a file, as in every read, at most ``HELD_BYTES`` bytes of rows that wait, and the files of
``_OPEN_SPLITS`` small splits, at most 8 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.rows import to_array
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.errors import PaimonError
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.lookup import holds_states
from paimon_core.lsm.merge import RowFilter, merge_window
from paimon_core.metadata.context import TableContext
from paimon_core.plan.index_filter import IndexFilter
from paimon_core.plan.split import Split
from paimon_core.read.bucket_reader import BucketReader, open_small
from paimon_core.read.pushdown import Pushdown, Pushdowns
from paimon_core.read.request import ReadRequest
from paimon_core.read.section_filter import section_may_match
from paimon_core.read.section_merge import SectionMerge
from paimon_core.read.split_reader import naming_expired_snapshot, reader_of

HELD_BYTES = 4 << 20
"""The bytes of decoded rows that wait until they are returned together."""
_VALUES, _FILE_BYTES = 1 << 15, 1 << 18
"""A split with at most this many values of the result, and at most this many bytes of files, is small."""
_FILE_VALUES = 1 << 14
"""Files with on average at most this many values to decode are read by one thread."""
_GROUP = 512
"""The largest number of splits of a group."""
_SECTION_BYTES = 1 << 20
"""The bytes of decoded rows of a section that is merged together with others."""
_OPEN_SPLITS = 32
"""The number of splits whose files are opened together. The files of a split take at most ``_FILE_BYTES``."""
_NUMBER = "\x00split"


def is_small(split: Split, columns: int) -> bool:
    """Whether a split has so few values in ``columns`` columns that the calls for its files cost more than decoding."""
    return split.row_count * columns <= _VALUES and split.size_bytes <= _FILE_BYTES


def has_few_values(splits: Sequence[Split], columns: int) -> bool:
    """Whether the files of the splits have on average so few values that the calls for a file cost more than decoding.

    ``columns``: the number of columns to read.
    """
    files = sum(len(split.files) for split in splits)
    return sum(split.row_count for split in splits) * columns <= _FILE_VALUES * files


def groups_of_splits(
    context: TableContext,
    splits: Sequence[Split],
    request: ReadRequest,
    most: int | None = None,
    *,
    first_is_alone: bool = True,
) -> list[list[Split]]:
    """Return the splits in groups of at most ``most``, in order; a group of several has only small splits.

    ``first_is_alone``: the first group has one split, and each later one at most twice as many as the one before it, so
    that the first rows come early. Otherwise each group may have ``most`` splits.
    Every split is alone if the request has a limit, counts or metadata columns, or no column of the files.
    """
    most = _GROUP if most is None else min(most, _GROUP)
    columns = len(request.columns)
    if not _can_group(context, request):
        return [[split] for split in splits]
    groups: list[list[Split]] = []
    size, is_open, raw = 1 if first_is_alone else most, False, False
    for split in splits:
        small = is_small(split, columns)
        if small and is_open and split.raw == raw and len(groups[-1]) < size:
            groups[-1].append(split)
            continue
        size = min(most, 2 * size) if groups else size
        groups.append([split])
        is_open, raw = small, split.raw
    return groups


def _can_group(context: TableContext, request: ReadRequest) -> bool:
    names, schema = {*request.columns}, context.schema
    if request.limit is not None or request.counts is not None or request.position is not None or context.evolves:
        return False
    if not names - set(schema.partition_keys):
        return False
    if request.where is not None:
        names |= request.where.columns
    return names <= schema.by_name.keys() and not (context.is_keyed and holds_states(context.options))


def read_together(context: TableContext, splits: Sequence[Split], request: ReadRequest) -> Iterator[pa.Table]:
    """Yield the rows of small splits, in order, with the columns of the request; see ``read_split`` for the errors.

    The rows of the splits before a damaged file are returned before the error is raised; an error in the partition or
    the schema of a split comes before the rows of the splits that are opened together with it.
    """
    held = _Held(context, request)
    try:
        for start in range(0, len(splits), _OPEN_SPLITS):
            for part in held.opened(splits[start : start + _OPEN_SPLITS]):
                for piece in held.pieces(*part):
                    if not held.fits(piece):
                        yield from held.tables()
                    held.add(piece)
                    if piece.sources is None:
                        yield from held.tables()
    except PaimonError:
        yield from held.tables()
        raise
    yield from held.tables()


@dataclass(frozen=True)
class _Piece:
    """Rows of one split: of a file that is not merged, or of the sorted runs of a section."""

    split: Split
    pushed: Pushdown
    sources: Sequence[pa.Table] | None
    """The rows, one table for each sorted run; None: too many rows to be held, which are read when they are merged."""
    size: int
    """The bytes of the rows."""
    reader: BucketReader
    merge: SectionMerge | None = None

    def is_like(self, other: _Piece) -> bool:
        """Whether the rows can be merged and returned together."""
        if self.sources is None or other.sources is None or (self.merge is None) is not (other.merge is None):
            return False
        if self.merge is None or other.merge is None:
            return bool(self.sources[0].schema == other.sources[0].schema)
        mine, its = self.merge, other.merge
        return (
            mine.fields == its.fields
            and (mine.order is None) is (its.order is None)
            and mine.drop_deletes == its.drop_deletes
            and (len(mine.runs) == 1) is (len(its.runs) == 1)
        )


@dataclass
class _Held:
    """The pieces that wait to be returned together."""

    context: TableContext
    request: ReadRequest
    waiting: list[_Piece] = field(default_factory=list)
    size: int = 0

    @cached_property
    def pushdowns(self) -> Pushdowns:
        return Pushdowns(self.context, self.request.columns, self.request.where)

    @cached_property
    def engine(self) -> MergeEngine:
        return merge_engine(self.context.schema.without_row_state, self.context.options)

    def fits(self, piece: _Piece) -> bool:
        """Whether a piece can be returned together with those that wait."""
        return not self.waiting or (self.size + piece.size <= HELD_BYTES and self.waiting[0].is_like(piece))

    def add(self, piece: _Piece) -> None:
        self.waiting.append(piece)
        self.size += piece.size

    def opened(self, splits: Sequence[Split]) -> list[tuple[Split, Pushdown, BucketReader]]:
        """Open the files of splits whose partition matches the filter."""
        found = []
        for split in splits:
            with naming_expired_snapshot(self.context, split):
                pushed = self.pushdowns.of(split)
            found.append((split, pushed, reader_of(self.context, split, self.request)))
        open_small([(reader, file) for split, pushed, reader in found if pushed.matches for file in split.files])
        return found

    def pieces(self, split: Split, pushed: Pushdown, reader: BucketReader) -> Iterator[_Piece]:
        """Read the rows of a split."""
        if not pushed.matches:
            return
        with naming_expired_snapshot(self.context, split):
            yield from self._raw(split, pushed, reader) if split.raw else self._merged(split, pushed, reader)

    def _raw(self, split: Split, pushed: Pushdown, reader: BucketReader) -> Iterator[_Piece]:
        context = self.context
        index = IndexFilter.of(pushed.tested, context.schema, context.options, context.schemas.read)
        for file in split.files:
            some = None if index is None else index.rows(file, context.storage, reader.path_of)
            if some is not None and not some.any():
                continue
            for batch in reader.file(file, pushed.fields, FileRequest(rows=some)):
                yield _Piece(split, pushed, [pa.Table.from_batches([batch])], batch.nbytes, reader)

    def _merged(self, split: Split, pushed: Pushdown, reader: BucketReader) -> Iterator[_Piece]:
        for runs in split.sections:
            if pushed.late is not None and not section_may_match(reader, runs, pushed.late):
                continue
            merge = SectionMerge.of(self.context, self.engine, runs, pushed.fields)
            sources, size = list[pa.Table](), 0
            for run in reader.runs(merge, pushed.early):
                batches = []
                for batch in run:
                    batches.append(batch)
                    size += batch.nbytes
                    if size > _SECTION_BYTES:
                        break
                if size > _SECTION_BYTES:
                    break
                if batches:
                    sources.append(pa.Table.from_batches(batches))
            if size > _SECTION_BYTES:
                yield _Piece(split, pushed, None, 0, reader, merge)
            elif sources:
                yield _Piece(split, pushed, sources, size, reader, merge)

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows of the pieces that wait, and hold none of them any more."""
        waiting, self.waiting, self.size = self.waiting, [], 0
        if not waiting:
            return
        if waiting[0].sources is None:
            yield from self._alone(waiting[0])
            return
        try:
            rows = self._together(waiting)
        except PaimonError:  # the sections are read again alone, so that the error names the file
            for piece in waiting:
                yield from self._alone(piece)
            return
        if len(rows):
            yield rows

    def _together(self, waiting: Sequence[_Piece]) -> pa.Table:
        pushed, merge = waiting[0].pushed, waiting[0].merge
        most = max(len(piece.sources or ()) for piece in waiting)
        runs = []
        for at in range(most):
            parts = [(number, p.sources[at]) for number, p in enumerate(waiting) if p.sources and at < len(p.sources)]
            runs.append(_numbered(parts))
        if merge is None:
            rows = runs[0]
        else:
            columns = [*merge.columns, _NUMBER]
            merged = merge_window(
                runs, [_NUMBER, *merge.key], merge.order, self.engine, columns, drop_deletes=merge.drop_deletes
            )
            rows = runs[0].slice(0, 0).select(columns) if merged is None else merged
        tested = pushed.tested if merge is None else pushed.late
        if tested is not None:
            rows = RowFilter(tested).kept(rows)
        return self._completed(rows, waiting)

    def _completed(self, rows: pa.Table, waiting: Sequence[_Piece]) -> pa.Table:
        """Return the columns of the request: partition columns are taken by the number of the split."""
        constants = self.pushdowns.constants
        if constants:
            numbers = rows[_NUMBER].combine_chunks()
            values = zip(*(piece.pushed.values for piece in waiting), strict=True)
            for constant, column in zip(constants, values, strict=True):
                rows = rows.append_column(constant.name, to_array(column, constant.type).take(numbers))
        return rows.select(list(self.request.columns))

    def _alone(self, piece: _Piece) -> Iterator[pa.Table]:
        """Yield the rows of a section, or of a file, read as in ``read_split``."""
        pushed, merge = piece.pushed, piece.merge
        if merge is None:
            assert piece.sources is not None
            yield self._together([piece])
            return
        with naming_expired_snapshot(self.context, piece.split):
            late = None if pushed.late is None else RowFilter(pushed.late)
            for rows in piece.reader.section(merge, early=pushed.early, late=late):
                if len(rows):
                    numbers = pa.chunked_array([pa.array(np.zeros(len(rows), np.int32))])
                    yield self._completed(rows.append_column(_NUMBER, numbers), [piece])


def _numbered(parts: Sequence[tuple[int, pa.Table]]) -> pa.Table:
    """Return the rows of the parts in one table of one chunk per column, with the number of each part."""
    rows = pa.concat_tables([table for _, table in parts]).combine_chunks()
    counts = [len(table) for _, table in parts]
    numbers = np.repeat(np.array([number for number, _ in parts], np.int32), counts)
    return rows.append_column(_NUMBER, pa.array(numbers))
