"""section_may_match: whether a section to merge can contain a row that a filter on values selects (format 8.8).

A merge engine that keeps one row of each key unchanged returns only rows of the files. If no file has a row that the
filter selects, the merged section has no such row either, and nothing is decoded. The rule does not hold for an engine
that combines the values of several rows: a merged row may match although no row of the files matches.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.datafile.reading.reader import file_may_match
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.data_file import DataFile
from paimon_core.options import COMBINING_ENGINES
from paimon_core.plan.index_filter import IndexFilter
from paimon_core.predicate import BoundPredicate
from paimon_core.read.bucket_reader import BucketReader


def section_may_match(reader: BucketReader, runs: Sequence[SortedRun], late: BoundPredicate) -> bool:
    """Return False only if indexes and footers of the files show that no merged row can pass ``late``.

    Stops at the first file that may match. Raises CorruptTable for a damaged file.
    """
    context = reader.context
    if len(runs) > 1 and context.options["merge-engine"] in COMBINING_ENGINES:
        return True
    index = IndexFilter.of(late, context.schema, context.options, context.schemas.read)
    if any(_may_match(reader, file, late, index) for run in runs for file in run.files):
        return True
    if reader.counts is not None:
        reader.counts.sections_skipped += 1
    return False


def _may_match(reader: BucketReader, file: DataFile, late: BoundPredicate, index: IndexFilter | None) -> bool:
    context = reader.context
    if index is not None:
        rows = index.rows(file, context.storage, reader.path_of)
        if rows is not None and not rows.any():
            return False
    fields = [f for f in context.schema.fields if f.name in late.columns]
    schema = context.schemas.read(file.schema_id)
    return file_may_match(context.storage, reader.path(file), file, schema, fields, late)
