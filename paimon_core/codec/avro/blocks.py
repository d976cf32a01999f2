"""Blocks of manifests: unpacks all of them, or some of them, or only counts their records."""

from __future__ import annotations

import io
from collections.abc import Sequence

from paimon_core.codec.avro.container import AvroBlock, AvroReader, check_stated, decoding, most_uncounted
from paimon_core.codec.avro.plain_schema import nests_records
from paimon_core.limits import AVRO_RATIO, MANIFEST_BYTES


def read_blocks(data: bytes, path: str, chosen: Sequence[bool] = ()) -> tuple[bytes, list[AvroBlock]] | None:
    """Return the schema (JSON) and the unpacked blocks of a container file.

    ``chosen``: which of the first blocks are returned; the others of these are not unpacked, and all later blocks are
    returned. Returns None for a file whose values must be counted by ``read_avro`` before it decodes them. Raises the
    errors of ``read_avro`` for an invalid file; the records in the blocks are not checked.
    """
    with decoding(path):
        reader = AvroReader(io.BytesIO(data), len(data))
        if nests_records(reader.schema):
            return None
        blocks: list[AvroBlock] = []
        budget, stated, number = max(MANIFEST_BYTES, AVRO_RATIO * reader.size), 0, 0
        while True:
            if number < len(chosen) and not chosen[number]:
                count = reader.skip_block()
            else:
                block = reader.next_block(budget)
                count = None if block is None else block.count
                if block is not None:
                    budget -= len(block.data)
                    blocks.append(block)
            if count is None:
                break
            number += 1
            stated += max(count, 0)
            check_stated(stated, reader.size)
        return None if sum(len(b.data) for b in blocks) > most_uncounted(len(data)) else (reader.schema, blocks)


def record_counts(data: bytes, path: str) -> list[int]:
    """Return the number of records that each block states, without unpacking it; errors are those of ``read_avro``."""
    with decoding(path):
        reader = AvroReader(io.BytesIO(data), len(data))
        counts: list[int] = []
        while (count := reader.skip_block()) is not None:
            if count < 0:
                raise ValueError(f"a block states {count} records")
            counts.append(count)
        check_stated(sum(counts), reader.size)
        return counts
