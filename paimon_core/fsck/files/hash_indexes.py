"""Hash index checks: each key of a table with dynamic buckets is in one bucket, the bucket of its hash (I15).

See format 11.1. With cross-partition upsert there are no hash indexes, and each key is in one partition (format 11.2).

An index may have more hashes than its bucket has keys, because the hashes of deleted keys are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.bucket_hash import hash_rows
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.errors import PaimonError
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.index_manifest import HASH, IndexFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.read.live_keys import live_keys
from paimon_core.table_indexes.hash_file import read_hashes
from paimon_core.table_indexes.key_index import KeyIndex, key_images
from paimon_core.table_indexes.partition_buckets import BucketLimits, PartitionBuckets

Places = dict[bytes, dict[int, IndexFile]]


def check_hash_indexes(run: CheckRun, files: CheckedFiles, snapshot: Snapshot, location: Location) -> None:
    """Check that each bucket with files has one hash index; a deep check compares the index with the keys of the files.

    Uses 8 bytes for each key of a partition, and the memory of one batch of keys.
    """
    context = run.context
    if context.is_cross_partition:
        if run.deep:
            _check_all_keys(run, snapshot, location)
        return
    if not context.has_dynamic_buckets:
        return
    indexes: Places = {}
    for entry in context.manifests.read_indexes(snapshot.index_manifest):
        if entry.file.index_type != HASH:
            continue
        run.collector.check("I15")
        known = indexes.setdefault(entry.partition, {}).setdefault(entry.bucket, entry.file)
        if known is not entry.file:
            _find(run, location, (entry.partition, entry.bucket), "has two hash indexes")
    live: dict[bytes, list[ManifestEntry]] = {}
    for partition, bucket in files.live.places():
        if bucket < 0:
            continue
        run.collector.check("I15")
        if bucket in indexes.get(partition, {}):
            if run.deep:
                live.setdefault(partition, []).extend(files.live.entries((partition, bucket)))
        else:
            _find(run, location, (partition, bucket), "has files and no hash index")
    for partition, of_partition in indexes.items() if run.deep else ():
        try:
            _check_partition(run, partition, of_partition, live.get(partition, ()), location)
        except PaimonError as error:
            _find(run, location, (partition, min(of_partition)), f"cannot be compared with its hash index: {error}")


def _check_all_keys(run: CheckRun, snapshot: Snapshot, location: Location) -> None:
    """Check that no key of a table with cross-partition upsert has visible rows in two places (format 11.2)."""
    context = run.context
    fields = context.schema.select(context.schema.primary_keys)
    places: list[tuple[bytes, int]] = []
    images, numbers, index = [], [], KeyIndex()
    try:
        for partition, bucket, keys in live_keys(context, snapshot):
            images.append(key_images([keys[f.name] for f in fields], [f.type for f in fields]))
            numbers.append(np.full(len(keys), len(places), np.int64))
            places.append((partition, bucket))
    except PaimonError:
        return  # the check of I6 or I10 reports the error
    run.collector.check("I15")
    if images:
        index.put(pa.concat_arrays(images), np.concatenate(numbers))
    if (repeated := index.repeated()) is not None:
        first, second, *_ = sorted(places[number] for number in repeated)
        other = "/".join(filter(None, (context.partition_path(second[0]), f"bucket-{second[1]}")))
        _find(run, location, first, f"has a key that is also in {other}")


def _check_partition(
    run: CheckRun, partition: bytes, indexes: dict[int, IndexFile], entries: Iterable[ManifestEntry], location: Location
) -> None:
    context = run.context
    known = {bucket: read_hashes(context, file) for bucket, file in indexes.items()}
    buckets = PartitionBuckets.of(BucketLimits.of(context.options), 0, known)
    fields = context.schema.file_key_fields
    types = [f.type for f in fields]
    for entry in entries:
        file = entry.file
        elsewhere = file.external_path is not None and context.paths.external.find(file.external_path) is None
        if file.file_name in run.broken or elsewhere:
            continue  # the check of I6 reports the error
        for keys in read_batches(
            context.storage,
            context.file_path(partition, entry.bucket, file),
            file=file,
            file_schema=context.schemas.read(file.schema_id),
            read_fields=fields,
        ):
            found = buckets.lookup(hash_rows(keys.columns, types))
            wrong = np.flatnonzero(found != entry.bucket)
            if len(wrong):
                other = int(found[wrong[0]])
                where = "in no hash index" if other < 0 else f"in the hash index of bucket {other}"
                key = keys.slice(int(wrong[0]), 1).to_pylist()[0]
                names = ", ".join(f"{name.removeprefix('_KEY_')} = {value!r:.60}" for name, value in key.items())
                _find(
                    run,
                    location,
                    (partition, entry.bucket),
                    f"has a row of key {names}, which is {where}: {len(wrong)} rows",
                )
                break


def _find(run: CheckRun, location: Location, place: tuple[bytes, int], problem: str) -> None:
    where = run.context.bucket_path(*place)
    run.collector.find("I15", location, f"{location.holder}: {where} {problem}")
