"""Changelog producers: compactions that write changelog files or use lookups in higher levels (format 10.5, 10.6).

A lookup reads files that this compaction does not replace, but a concurrent compaction may replace them. This is safe
for two reasons (format 10.8). A compaction without files of level 0 does not change the row of any key. A compaction
with files of level 0 takes all files of level 0, so two such compactions, or such a compaction and an overwrite, delete
the same files, and the later commit conflicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from paimon_core.datafile.file_plan import file_format
from paimon_core.lsm.changelog import Merged, RowComparison
from paimon_core.lsm.compaction.rewrite_plan import Reread, Rewrite, Upgrade
from paimon_core.lsm.compaction.strategy import needs_lookup
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.gather import with_whole_columns
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.lookup import GroupLevels, keys_of, places
from paimon_core.lsm.merge import arrange
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.sections import Section
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.known_deletes import has_no_deletes
from paimon_core.options import TableOptions
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.lookup_reader import LookupReader, Marks
from paimon_core.schema import TableSchema


class ChangelogProducer(Protocol):
    """Merges the rows of those steps of a compaction for which ``concerns`` is true; other steps are ordinary
    merges.
    """

    @property
    def writes_changelog(self) -> bool:
        """Whether ``merged`` returns changelog rows to write."""

    def concerns(self, files: Sequence[DataFile]) -> bool:
        """Whether a rewrite of the files must use ``merged``."""

    def step(self, upgrade: Upgrade) -> Upgrade | Rewrite:
        """Return the step to do instead of an upgrade; ``merged`` must be called for Reread and Rewrite."""

    @property
    def marks(self) -> Marks:
        """The rows of higher levels that ``merged`` has replaced, to be deleted by deletion vectors."""

    def merged(self, section: Section, *, rereads: bool) -> Iterator[Merged]:
        """Yield the merged rows of a section in key order, one ``Merged`` for each window of keys. Rows may have any
        kind.

        Call it for sections in key order. ``rereads`` is true for the step Reread: the stored rows do not change, and
        only the changelog rows are used.
        """


def changelog_producer(
    reader: BucketReader, unit: CompactionUnit, higher: Sequence[DataFile]
) -> ChangelogProducer | None:
    """Return the producer that the table's options define; None: every step is an ordinary merge.

    ``higher``: the files of the bucket above the output level, in which lookups search.
    """
    context = reader.context
    if context.options["changelog-producer"] == "full-compaction":
        return FullCompaction(reader, unit.output_level) if unit.is_bottom else None
    if not needs_lookup(context.options):
        return None
    if context.options["merge-engine"] == "first-row":
        return FirstRowLookup(reader, unit, LookupReader(reader, higher, context.schema.file_key_fields))
    if not context.options["deletion-vectors.enabled"]:
        return Lookup(reader, unit, LookupReader(reader, higher, context.schema.file_fields))
    marks: Marks = {}
    # If a merge always keeps the newest row of a key, only the positions of older rows are needed.
    plain = _newest_is_last(context.options) and not context.options["ignore-delete"]
    values = context.options["changelog-producer"] == "lookup" or not plain
    fields = context.schema.file_fields if values else context.schema.file_key_fields
    return Lookup(reader, unit, LookupReader(reader, higher, fields, marks), marks, vectored=True, merges_found=values)


@dataclass(frozen=True, slots=True)
class FullCompaction:
    """Producer full-compaction, for a compaction into the last level."""

    reader: BucketReader
    last_level: int

    @property
    def writes_changelog(self) -> bool:
        """Always true."""
        return True

    @property
    def marks(self) -> Marks:
        """Always empty: this producer is not used with deletion vectors."""
        return {}

    def concerns(self, files: Sequence[DataFile]) -> bool:
        """Always true: every rewrite may change the last level."""
        return True

    def step(self, upgrade: Upgrade) -> Upgrade | Rewrite:
        """Always Reread: the rows are new in the last level, so the changelog must contain them."""
        return Reread(upgrade.file)

    def merged(self, section: Section, *, rereads: bool) -> Iterator[Merged]:
        """Merge the section; the changelog shows the differences from the rows of the last level."""
        comparison = _comparison(self.reader.context.schema, self.reader.context.options)
        for pieces in _windows(self.reader, section):
            rows, groups = _arranged(self.reader, pieces)
            rows = with_whole_columns(rows)
            del pieces  # only the joined columns stay in memory
            yield comparison.by_last_level(rows, groups, self.last_level)
            del rows


@dataclass(frozen=True, slots=True)
class Lookup:
    """Producer lookup; also used without a changelog, if option force-lookup or deletion vectors need lookups."""

    reader: BucketReader
    unit: CompactionUnit
    higher: LookupReader
    marks: Marks = field(default_factory=dict)
    vectored: bool = False
    """Whether deletion vectors are written for the rows found in higher levels (format 12.2)."""
    merges_found: bool = True
    """Whether the rows found in higher levels are merged; False when only their positions matter."""

    @property
    def writes_changelog(self) -> bool:
        """True for producer lookup, false for lookups without a changelog."""
        return bool(self.reader.context.options["changelog-producer"] == "lookup")

    def concerns(self, files: Sequence[DataFile]) -> bool:
        """Whether the rewrite includes files of level 0; other rewrites do not change the row of any key."""
        return any(f.level == 0 for f in files)

    def step(self, upgrade: Upgrade) -> Upgrade | Rewrite:
        """Return Rewrite for a file of level 0 whose rows must be merged with the rows of higher levels.

        Rewrite is also returned when the file formats of level 0 and of the output level differ, and with deletion
        vectors for a file that contains deletes, because the deletes must be removed.
        """
        file, options = upgrade.file, self.reader.context.options
        if file.level != 0:
            return upgrade
        if file_format(options, 0) != file_format(options, self.unit.output_level):
            return upgrade.rewrite
        if self.vectored and not has_no_deletes(file, options):
            return upgrade.rewrite
        if self.unit.is_bottom or _newest_is_last(options):
            rereads = self.writes_changelog or (self.vectored and not self.unit.is_bottom)
            return Reread(file) if rereads else upgrade
        return upgrade.rewrite

    def merged(self, section: Section, *, rereads: bool) -> Iterator[Merged]:
        """Merge the section; the changelog shows the differences from the state of each key, which is its row above
        level 0. The state is searched in the section first, then in the higher levels. With ``rereads``, the row of a
        key with a single row is returned unchanged; otherwise this row is merged as well.
        """
        context, key = self.reader.context, _key(self.reader)
        # A file that is upgraded still contains its expired rows, so the older rows of the keys of expired rows are
        # marked as well.
        reader = replace(self.reader, keep=None) if self.vectored and rereads else self.reader
        if rereads and not self.writes_changelog:
            for pieces in reader.windows(section.runs, context.schema.file_key_fields, key):
                self.higher.find(pa.concat_tables(pieces).select(key))
            return
        comparison = _comparison(context.schema, context.options, merges_single_rows=not rereads)
        for pieces in _windows(reader, section):
            rows, groups = _arranged(self.reader, pieces)
            levels = GroupLevels.of(rows, groups)
            if self.higher.has_files:
                found = self.higher.find(keys_of(rows, groups, levels.states < 0, key))
                if found and self.merges_found:
                    rows, groups = _arranged(self.reader, [*found, *pieces])
                    levels = GroupLevels.of(rows, groups)
                del found
            rows = with_whole_columns(rows)
            del pieces  # only the joined columns stay in memory
            yield comparison.by_state(rows, groups, levels, changelog=self.writes_changelog)
            del rows


@dataclass(frozen=True, slots=True)
class FirstRowLookup(Lookup):
    """Merge engine first-row: rows of level 0 whose keys exist in higher levels are dropped."""

    def merged(self, section: Section, *, rereads: bool) -> Iterator[Merged]:
        """Merge the section to its rows of levels above 0, and the first row of each key that no higher level has."""
        comparison, key = _comparison(self.reader.context.schema, self.reader.context.options), _key(self.reader)
        for pieces in _windows(self.reader, section):
            rows, groups = _arranged(self.reader, pieces)
            levels = GroupLevels.of(rows, groups)
            known = np.zeros(len(groups), np.bool_)
            if self.higher.has_files:
                missing = levels.states < 0
                keys = keys_of(rows, groups, missing, key)
                for found in self.higher.find(keys):
                    known[np.flatnonzero(missing)[places(keys, found, key)]] = True
            yield comparison.by_first(rows, groups, levels, known, changelog=self.writes_changelog)


def _newest_is_last(options: TableOptions) -> bool:
    """Whether a merge keeps the row with the highest sequence number of each key, unless this row is a delete."""
    return bool(options["merge-engine"] == "deduplicate" and not options["sequence.field"])


def _comparison(schema: TableSchema, options: TableOptions, *, merges_single_rows: bool = False) -> RowComparison:
    ignored = options["changelog-producer.row-deduplicate-ignore-fields"] or ()
    compared = tuple(name for name in schema.names if name not in ignored)
    return RowComparison(
        merge_engine(schema, options, merges_single_rows=merges_single_rows),
        tuple(f.name for f in schema.file_fields),
        compared if options["changelog-producer.row-deduplicate"] else None,
    )


def _windows(reader: BucketReader, section: Section) -> Iterator[list[pa.Table]]:
    fields, key = reader.context.schema.file_fields, _key(reader)
    encoded = reader.encodable(fields, key, MergeOrder.of(reader.context.options))
    return reader.windows(section.runs, fields, key, encoded)


def _arranged(reader: BucketReader, pieces: Sequence[pa.Table]) -> tuple[pa.Table, Groups]:
    return arrange(pieces, _key(reader), MergeOrder.of(reader.context.options))


def _key(reader: BucketReader) -> list[str]:
    return [f.name for f in reader.context.schema.file_key_fields]
