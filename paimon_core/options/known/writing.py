"""The options for writers: buffers and spilling."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, INTEGER, SIZE, TEXT, Option, Stops, obeyed
from paimon_core.options.parsers import parse_size, whole

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "write-only",
        BOOLEAN,
        "false",
        "other jobs compact, expire and create tags, not the writers",
        stops=Stops.READS,
        older=("write.compaction-skip",),
    ),
    obeyed(
        "write-buffer-size",
        SIZE,
        "256 mb",
        "memory for rows, in bytes, that all buckets of one writer share before rows are spilled or flushed",
        parse_size,
    ),
    obeyed(
        "write-buffer-spillable",
        BOOLEAN,
        "true",
        "full write buffers are stored on local disk until the flush",
        value=True,
    ),
    obeyed(
        "write-buffer-spill.max-disk-size",
        SIZE,
        "9223372036854775807 b",
        "size of rows on local disk that causes a flush",
        parse_size,
    ),
    obeyed(
        "spill-compression",
        TEXT,
        "zstd",
        "compression of spilled columns that it halves",
        values=("zstd", "lz4", "none"),
    ),
    obeyed("spill-compression.zstd-level", INTEGER, "1", "zstd level of spilled rows", whole(1, 22)),
    obeyed(
        "overwrite-upgrade",
        BOOLEAN,
        "true",
        "an overwrite of a table with a primary key puts its files at the last level where their keys do not overlap",
    ),
    obeyed(
        "zorder.var-length-contribution",
        INTEGER,
        "8",
        "number of bytes of a text or binary value that count in a z-order",
        whole(1, 1024),
    ),
)
