"""The options for data files: formats, statistics, file indexes, deletion vectors."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    INTEGER,
    LONG,
    SIZE,
    TEXT,
    Option,
    Stops,
    obeyed,
)
from paimon_core.options.parsers import (
    one_of,
    parse_file_name,
    parse_file_prefix,
    parse_size,
    parse_stats_mode,
    per_level,
    whole,
)

_FORMATS = ("parquet", "orc", "avro")
_COMPRESSIONS = (
    "zstd",
    "snappy",
    "gzip",
    "lz4",
    "none",
    "zlib",
    "deflate",
    "bzip2",
    "zstandard",
    "uncompressed",
    "null",
)
OPTIONS: tuple[Option, ...] = (
    obeyed("file.format", TEXT, "parquet", "format of data files", values=_FORMATS, stops=Stops.READS),
    obeyed(
        "file.format.per.level",
        TEXT,
        "",
        "format of data files by level: level:format,...",
        per_level(one_of(*_FORMATS)),
        value={},
        stops=Stops.READS,
    ),
    obeyed(
        "file.compression",
        TEXT,
        "zstd",
        "compression of data files; unless stated, large Parquet files have numbers that hardly shrink uncompressed",
        values=_COMPRESSIONS,
    ),
    obeyed(
        "file.compression.per.level",
        TEXT,
        "",
        "compression by level: level:codec,...",
        per_level(one_of(*_COMPRESSIONS)),
        value={},
    ),
    obeyed("file.compression.zstd-level", INTEGER, "1", "zstd level of data files", whole(1, 22), stops=Stops.READS),
    obeyed(
        "orc.timestamp-ltz.legacy.type",
        BOOLEAN,
        "true",
        "ORC files store TIMESTAMP WITH LOCAL TIME ZONE as local times; true is supported in the time zone UTC only",
    ),
    obeyed(
        "target-file-size",
        SIZE,
        "",
        "size at which a writer starts a new data file; default: 128 mb with a primary key, 256 mb without",
        parse_size,
        stops=Stops.READS,
    ),
    obeyed(
        "target-file-row-num",
        LONG,
        "9223372036854775807",
        "number of rows at which a writer starts a new data file; does not apply to compaction",
        whole(1, 2**63 - 1),
    ),
    obeyed(
        "metadata.stats-mode", TEXT, "truncate(16)", "statistics that are recorded for value columns", parse_stats_mode
    ),
    obeyed(
        "metadata.stats-mode.per.level",
        TEXT,
        "",
        "statistics by level in tables with a primary key: level:mode,...",
        per_level(parse_stats_mode),
        value={},
    ),
    obeyed(
        "metadata.stats-keep-first-n-columns",
        INTEGER,
        "-1",
        "number of first columns that have statistics; -1: all columns",
        whole(-1),
    ),
    obeyed(
        "metadata.stats-dense-store",
        BOOLEAN,
        "true",
        "leave columns without statistics out of the manifest entries",
    ),
    obeyed("changelog-file.format", TEXT, "", "format of changelog files; default: file.format", values=_FORMATS),
    obeyed(
        "changelog-file.compression",
        TEXT,
        "",
        "codec of changelog files; default: the codec of data files",
        values=_COMPRESSIONS,
    ),
    obeyed("changelog-file.prefix", TEXT, "changelog-", "prefix of the names of changelog files", parse_file_name),
    obeyed(
        "changelog-file.stats-mode",
        TEXT,
        "",
        "statistics of changelog files; default: the statistics of data files",
        parse_stats_mode,
    ),
    obeyed("file.suffix.include.compression", BOOLEAN, "false", "names of data files contain file.compression"),
    obeyed("data-file.prefix", TEXT, "data-", "prefix of the names of data files, without dots", parse_file_prefix),
    obeyed("data-file.thin-mode", BOOLEAN, "false", "data files do not repeat the key columns"),
    obeyed(
        "file-index.in-manifest-threshold",
        SIZE,
        "500 b",
        "size of the indexes of a data file above which the indexes are stored in a separate file, and not in the "
        "manifest",
        value=500,
    ),
    obeyed("file-index.read.enabled", BOOLEAN, "true", "reads use the indexes of data files"),
    obeyed(
        "deletion-vectors.enabled",
        BOOLEAN,
        "false",
        "mark deleted rows in deletion vectors instead of rewriting files",
        stops=Stops.READS,
        shared=True,
    ),
    obeyed(
        "deletion-vectors.modifiable",
        BOOLEAN,
        "false",
        "deletion-vectors.enabled may be changed in a table with snapshots, once it is compacted fully",
    ),
    obeyed(
        "deletion-vector.index-file.target-size",
        SIZE,
        "2 mb",
        "size above which a file of deletion vectors ends; a table with fixed buckets has one file per bucket",
        parse_size,
    ),
    obeyed(
        "deletion-vectors.merge-on-read",
        BOOLEAN,
        "false",
        "batch reads of a table with a primary key and deletion vectors merge level 0 instead of leaving it out",
        stops=Stops.READS,
    ),
    obeyed("deletion-vectors.bitmap64", BOOLEAN, "false", "new deletion vectors have 64-bit row positions"),
)
