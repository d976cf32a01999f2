"""Lookups and lookup joins."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, DOUBLE, DURATION, ENUM, INTEGER, LONG, SIZE, TEXT, Option, carried

OPTIONS: tuple[Option, ...] = (
    carried("lookup.hash-load-factor", DOUBLE, "0.75", "load factor of hash files of lookups"),
    carried("lookup.cache-rows", LONG, "10000", "maximum number of rows in the cache of lookups"),
    carried(
        "lookup.continuous.discovery-interval", DURATION, "", "pause between two searches of lookups for snapshots"
    ),
    carried("lookup.cache-file-retention", DURATION, "1 h", "how long a local file of lookups is kept without use"),
    carried("lookup.cache-max-disk-size", SIZE, "9223372036854775807 b", "maximum size of the local files of lookups"),
    carried("lookup.cache-spill-compression", TEXT, "zstd", "compression of the local files of lookups"),
    carried("lookup.cache-max-memory-size", SIZE, "256 mb", "memory of the cache of lookups"),
    carried(
        "lookup.blob-as-descriptor", BOOLEAN, "false", "lookup joins keep references to blobs, and not their bytes"
    ),
    carried(
        "lookup.cache.high-priority-pool-ratio", DOUBLE, "0.25", "share of the cache of lookups for indexes and filters"
    ),
    carried("lookup.cache.bloom.filter.enabled", BOOLEAN, "true", "local files of lookups have Bloom filters"),
    carried("lookup.cache.bloom.filter.fpp", DOUBLE, "0.05", "rate of false positives of the Bloom filters"),
    carried("lookup.remote-file.enabled", BOOLEAN, "false", "files of lookups are also stored with the table"),
    carried(
        "lookup.remote-file.level-threshold",
        INTEGER,
        "-2147483648",
        "lowest level whose lookup files are stored with the table",
    ),
    carried("lookup.merge-buffer-size", SIZE, "8 mb", "memory for the rows of one key in a lookup"),
    carried(
        "lookup.merge-records-threshold",
        INTEGER,
        "1024",
        "number of rows of one key above which a lookup uses that memory",
    ),
    carried("lookup.async", BOOLEAN, "false", "lookup joins run in the background"),
    carried("lookup.bootstrap-parallelism", INTEGER, "4", "number of threads that load the table of a lookup join"),
    carried("lookup.async-thread-number", INTEGER, "16", "number of threads of lookup joins in the background"),
    carried("lookup.cache", ENUM, "auto", "what the cache of a lookup join contains", ("auto", "full", "memory")),
    carried(
        "lookup.dynamic-partition.refresh-interval",
        DURATION,
        "1 h",
        "pause between two searches of a lookup join for new partitions",
    ),
    carried("lookup.refresh.async", BOOLEAN, "false", "lookup joins refresh their table in the background"),
    carried(
        "lookup.dynamic-partition.refresh.async", BOOLEAN, "false", "lookup joins load new partitions in the background"
    ),
    carried(
        "lookup.refresh.async.pending-snapshot-count",
        INTEGER,
        "5",
        "number of snapshots behind from which a lookup join waits for the refresh",
    ),
    carried(
        "lookup.refresh.time-periods-blacklist", TEXT, "", "times in which lookup joins do not refresh their table"
    ),
    carried(
        "lookup.refresh.full-load-threshold",
        INTEGER,
        "",
        "number of snapshots behind from which a lookup join loads the whole table",
    ),
    carried("local-kv-db.block-size", SIZE, "4 kb", "block size of the local key-value store"),
)
