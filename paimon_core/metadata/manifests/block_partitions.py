"""BlockPartitions: the partitions in each block of a manifest, so that readers of one partition unpack few blocks.

Manifests that merges wrote are ordered by partition, so a block has few partitions. The local cache keeps this index
beside the copy of a manifest, which has no room for it in its own format.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from paimon_core.codec.avro.blocks import record_counts
from paimon_core.codec.avro.columns import Numbers
from paimon_core.metadata.manifests.entry_columns import EntryColumns

MOST_OF_BLOCK = 16
"""An index with more partitions for each block, on average, would not save work: it is not made."""
_MAGIC = 0x31504250


@dataclass(frozen=True, eq=False)
class BlockPartitions:
    """The distinct partitions of a manifest, and for each block those that occur in it."""

    partitions: tuple[bytes, ...]
    counts: Numbers
    """For each block, the number of its partitions."""
    codes: Numbers
    """The positions in ``partitions``, block by block."""

    @staticmethod
    def of(entries: EntryColumns, data: bytes, path: str) -> BlockPartitions | None:
        """Return the index of a manifest, given all of its entries, in order, and its bytes.

        Return None when it would not save work. Raises CorruptTable for bytes that are not an Avro file.
        """
        records = np.array(record_counts(data, path), np.int64)
        if not len(entries) or int(records.sum()) != len(entries):
            return None
        codes, partitions = entries.partition_codes()
        block = np.repeat(np.arange(len(records)), records)
        pairs = np.unique(block * len(partitions) + codes)
        if len(pairs) > MOST_OF_BLOCK * len(records):
            return None
        counts = np.bincount(pairs // len(partitions), minlength=len(records))
        return BlockPartitions(tuple(partitions), counts, pairs % len(partitions))

    def holding(self, texts: Collection[bytes]) -> list[bool]:
        """Return for each block whether a partition of its records contains one of the texts."""
        chosen = np.array([any(text in partition for text in texts) for partition in self.partitions], bool)
        blocks = np.repeat(np.arange(len(self.counts)), self.counts)[chosen[self.codes]]
        out = np.zeros(len(self.counts), bool)
        out[blocks] = True
        return list(out.tolist())

    def to_bytes(self) -> bytes:
        """Return the index as bytes; their checksum is that of the local cache."""
        lengths = np.fromiter(map(len, self.partitions), np.uint32, len(self.partitions))
        sizes = np.array([_MAGIC, len(self.counts), len(self.codes), len(lengths)], np.uint32)
        words = np.concatenate([sizes, self.counts.astype(np.uint32), self.codes.astype(np.uint32), lengths])
        return words.astype("<u4").tobytes() + b"".join(self.partitions)

    @staticmethod
    def from_bytes(data: bytes) -> BlockPartitions | None:
        """Return the index that ``to_bytes`` encoded; None for other bytes, which are not trusted."""
        if len(data) < 16 or (head := np.frombuffer(data[:16], "<u4"))[0] != _MAGIC:
            return None
        blocks, pairs, known = head[1:].tolist()
        start = 16 + 4 * (blocks + pairs + known)
        if start > len(data):
            return None
        counts, codes, lengths = np.split(
            np.frombuffer(data[16:start], "<u4").astype(np.int64), [blocks, blocks + pairs]
        )
        if int(counts.sum()) != pairs or int(codes.max(initial=-1)) >= known or start + int(lengths.sum()) != len(data):
            return None
        ends = (start + np.cumsum(lengths)).tolist()
        partitions = tuple(data[a:b] for a, b in zip([start, *ends], ends, strict=False))
        return BlockPartitions(partitions, counts, codes)
