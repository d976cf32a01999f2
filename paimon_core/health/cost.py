"""Cost: what a read of a table costs, estimated from its layout.

A full scan reads each live data file once, and merges the rows of buckets with several sorted runs. All costs are
converted to bytes of files that are decoded and not merged: a request counts as ``REQUEST_BYTES``, and a byte of a
bucket whose rows are merged as ``MERGE_FACTOR`` bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paimon_core.codec.parquet.raw_footer import TAIL_BYTES
from paimon_core.health.file_requests import file_requests
from paimon_core.health.layout import Layout
from paimon_core.metadata.manifests.entries import ManifestFile

REQUEST_BYTES = 256 << 10
"""The bytes that a stream of 12 MB/s delivers in the 20 milliseconds until the first byte of a request arrives."""
MERGE_FACTOR = 2.0
"""Merging the rows of a file takes about twice the processor time of decoding it (docs/benchmarks.md)."""
REQUESTS_A_FILE = 1
"""Each file needs one request, however small: for its end with the footer, which is all of a small file."""
METADATA_REQUESTS = 8
"""Requests for the schema, the hint, three that make sure that no later snapshot exists, the snapshot, and its two
manifest lists.
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a read, in bytes and requests to the store."""

    bytes: int
    requests: int
    merged_bytes: int = 0
    """The part of ``bytes`` whose rows are merged."""

    @property
    def weight(self) -> float:
        """The cost as one number, in bytes of files that are decoded and not merged."""
        return self.bytes + (MERGE_FACTOR - 1) * self.merged_bytes + REQUEST_BYTES * self.requests


def scan_cost(layout: Layout, manifests: list[ManifestFile]) -> Cost:
    """Return the cost of a full scan of all columns."""
    size = int(layout.scanned_bytes.sum() + layout.tail_bytes.sum()) + sum(m.file_size for m in manifests)
    requests = METADATA_REQUESTS + len(manifests) + int(layout.scan_requests.sum())
    return Cost(size, requests, int(layout.merged_bytes.sum()))


def needed_cost(layout: Layout, manifests: int) -> Cost:
    """Return the cost of a full scan of the same bytes after a full compaction, with this number of manifests."""
    each = file_requests(-(-layout.bytes // layout.needed_files), layout.file_format)
    requests = METADATA_REQUESTS + manifests + int((layout.needed_files * each).sum())
    tails = np.minimum(layout.tail_bytes, TAIL_BYTES * layout.needed_files).sum()
    return Cost(layout.total_bytes + int(tails), requests)


def point_query_cost(layout: Layout) -> Cost:
    """Return the mean cost of a query of one key in one bucket, weighted by the rows of the buckets.

    One file of each sorted run may have the key. A read needs the footer and one row group of each such file; the
    estimate counts the whole file, with the mean size of the files.
    """
    rows = float(layout.rows.sum())
    if rows == 0:
        return Cost(0, METADATA_REQUESTS)
    share = layout.rows / rows
    per_file = layout.bytes // np.maximum(layout.files, 1)
    requests = float((share * layout.runs * np.minimum(file_requests(per_file, layout.file_format), 2)).sum())
    return Cost(int((share * layout.runs * per_file).sum()), METADATA_REQUESTS + 1 + round(requests))
