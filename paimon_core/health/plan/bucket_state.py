"""BucketState: the files and bytes of one bucket, and what they cost a full scan.

Files of level 0 count also where reads leave them out: their rows wait for a compaction, and are read after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paimon_core.codec.parquet.raw_footer import TAIL_BYTES
from paimon_core.health.cost import Cost
from paimon_core.health.file_requests import file_requests


@dataclass(frozen=True, slots=True)
class BucketState:
    """What the cost of a scan of one bucket depends on."""

    files: int
    bytes: int
    requests: int
    tail_bytes: int
    """Bytes that a read fetches twice, as ``Layout.tail_bytes``."""
    runs: int
    merges: bool
    """Whether reads of the table merge buckets with several runs."""
    file_format: str

    @staticmethod
    def of(sizes: Sequence[int], runs: int, *, merges: bool, file_format: str) -> BucketState:
        """Return the state of a bucket with files of these sizes."""
        found = np.array(sizes, np.int64)
        tails = int(np.minimum(found, TAIL_BYTES).sum()) if file_format == "parquet" else 0
        requests = int(file_requests(found, file_format).sum())
        return BucketState(len(found), int(found.sum()), requests, tails, runs, merges, file_format)

    @property
    def weight(self) -> float:
        """The cost of a full scan of the bucket, in bytes as ``health.cost`` counts them."""
        merged = self.bytes if self.merges and self.runs > 1 else 0
        return Cost(self.bytes + self.tail_bytes, self.requests, merged).weight

    def after(self, removed: Sequence[int], added: Sequence[int], runs: int) -> BucketState:
        """Return the state after files of the sizes ``removed`` were replaced by others, with this number of runs."""
        gone, new = (
            BucketState.of(sizes, runs, merges=self.merges, file_format=self.file_format) for sizes in (removed, added)
        )
        return BucketState(
            self.files - gone.files + new.files,
            self.bytes - gone.bytes + new.bytes,
            self.requests - gone.requests + new.requests,
            self.tail_bytes - gone.tail_bytes + new.tail_bytes,
            runs,
            self.merges,
            self.file_format,
        )
