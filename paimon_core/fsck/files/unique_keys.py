"""Unique keys: with deletion vectors, no key is visible twice above level 0 (I17, format 12.2)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.errors import PaimonError, UnsupportedFeature
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import Place
from paimon_core.fsck.files.row_fingerprints import vectors_at
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.order_codes import order_codes
from paimon_core.lsm.sorted_run import SortedRun, by_key
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.table_indexes.live_vectors import Vectors, vectors_of


def check_unique_keys(run: CheckRun, files: CheckedFiles, snapshot: Snapshot, location: Location) -> None:
    """Check each bucket of a table with a primary key and deletion vectors; other tables are skipped."""
    context = run.context
    if not context.is_keyed or not context.options["deletion-vectors.enabled"]:
        run.collector.skip("I17", "the table has no primary key with deletion vectors")
        return
    known = vectors_at(context, snapshot)
    for place, entries in files.live.buckets():
        above = [e.file for e in entries if e.file.level > 0]
        if not above:
            continue
        try:
            repeated = _repeated(run, place, above, known.get(place, {}))
        except UnsupportedFeature as error:
            run.collector.skip("I17", str(error))
            continue
        except PaimonError:
            continue  # the check of I6 or I10 reports the error
        run.collector.check("I17")
        if repeated:
            where = context.bucket_path(*place)
            run.collector.find(
                "I17", location, f"{location.holder}: {repeated} keys of {where} are visible twice above level 0"
            )


def _repeated(run: CheckRun, place: Place, files: list[DataFile], vectors: Vectors) -> int:
    """Return how many visible rows have the same key as another visible row."""
    context = run.context
    fields = context.schema.file_key_fields
    names = [f.name for f in fields]
    order = key_order([f.type for f in context.schema.key_fields])
    runs = [
        SortedRun(level, tuple(by_key([f for f in files if f.level == level], order)))
        for level in sorted({f.level for f in files})
    ]
    reader = BucketReader(context, *place, vectors=vectors_of(files, vectors))
    repeated = 0
    for pieces in reader.windows(runs, fields, names):
        keys = pa.concat_tables([piece.select(names) for piece in pieces])
        codes = order_codes([keys[name] for name in names])
        repeated += len(codes) - len(np.unique(codes))
    return repeated
