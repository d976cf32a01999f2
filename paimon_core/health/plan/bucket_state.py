"""BucketState: the files and bytes of one bucket, and what they cost a full scan."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.codec.parquet.raw_footer import TAIL_BYTES
from paimon_core.health.cost import REQUESTS_A_FILE, Cost


@dataclass(frozen=True, slots=True)
class BucketState:
    """What the cost of a scan of one bucket depends on."""

    files: int
    bytes: int
    runs: int
    tail_bytes: int
    """Bytes that a read fetches twice, as ``Layout.tail_bytes``."""
    merges: bool
    """Whether reads of the table merge buckets with several runs."""

    @property
    def weight(self) -> float:
        """The cost of a full scan of the bucket, in bytes as ``health.cost`` counts them."""
        merged = self.bytes if self.merges and self.runs > 1 else 0
        return Cost(self.bytes + self.tail_bytes, REQUESTS_A_FILE * self.files, merged).weight

    def after(self, removed: int, removed_bytes: int, added: int, added_bytes: int, runs: int) -> BucketState:
        """Return the state after some files were replaced by others, with this number of runs."""
        per_file = min(TAIL_BYTES, added_bytes // max(1, added)) if self.tail_bytes else 0
        tail = self.tail_bytes * (1 - removed / max(1, self.files)) + per_file * added
        return BucketState(
            self.files - removed + added, self.bytes - removed_bytes + added_bytes, runs, int(tail), self.merges
        )
