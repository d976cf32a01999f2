"""The options for compaction and clustering."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    ENUM,
    INTEGER,
    SIZE,
    TEXT,
    Option,
    Stops,
    obeyed,
)
from paimon_core.options.parsers import one_of, parse_fraction, parse_some_names, whole

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "num-sorted-run.compaction-trigger", INTEGER, "5", "number of sorted runs that triggers a compaction", whole(1)
    ),
    obeyed(
        "num-sorted-run.stop-trigger",
        INTEGER,
        "",
        "number of sorted runs at which a writer compacts a bucket again; default: compaction trigger + 3",
        whole(1),
    ),
    obeyed(
        "num-levels", INTEGER, "", "number of LSM levels; default: num-sorted-run.compaction-trigger + 1", whole(2, 100)
    ),
    obeyed(
        "compaction.max-size-amplification-percent",
        INTEGER,
        "200",
        "size of the newer sorted runs, in percent of the oldest run, at which all runs are merged; where the option "
        "is not set, all runs are merged earlier when that keeps reads cheap and writes no more",
        whole(0),
    ),
    obeyed(
        "compaction.size-ratio",
        INTEGER,
        "1",
        "percent by which the next sorted run may be larger than the runs selected so far and still be selected",
        whole(0),
    ),
    obeyed(
        "compaction.offpeak.start.hour",
        INTEGER,
        "-1",
        "first hour (local time) of off-peak time; -1: none",
        whole(-1, 23),
    ),
    obeyed(
        "compaction.offpeak.end.hour",
        INTEGER,
        "-1",
        "hour (local time) at which off-peak time ends; -1: none",
        whole(-1, 23),
    ),
    obeyed(
        "compaction.offpeak-ratio", INTEGER, "0", "percent added to compaction.size-ratio in off-peak time", whole(0)
    ),
    obeyed("compaction.optimization-interval", DURATION, "", "time after which a bucket is compacted fully"),
    obeyed("compaction.total-size-threshold", SIZE, "", "size below which a bucket is always compacted fully"),
    obeyed(
        "compaction.incremental-size-threshold",
        SIZE,
        "",
        "a bucket is compacted fully when its size outside of the last level exceeds this size",
    ),
    obeyed("compaction.force-up-level-0", BOOLEAN, "false", "compact level 0 even when no other rule requires it"),
    obeyed(
        "compaction.min.file-num",
        INTEGER,
        "5",
        "number of small files that triggers compaction of an append table",
        whole(2),
    ),
    obeyed(
        "compaction.small-file-ratio",
        DOUBLE,
        "0.7",
        "fraction of target-file-size below which a file is small",
        parse_fraction,
    ),
    obeyed("compaction.force-rewrite-all-files", BOOLEAN, "false", "full compaction rewrites every file"),
    obeyed(
        "full-compaction.delta-commits",
        INTEGER,
        "",
        "number of commits after which a full compaction is due; default: 1 under changelog-producer = full-compaction",
        whole(1),
    ),
    obeyed(
        "force-lookup",
        BOOLEAN,
        "false",
        "compact level 0 as for lookups (see lookup-compact), without a changelog",
        stops=Stops.READS,
        immutable=True,
    ),
    obeyed(
        "lookup-wait",
        BOOLEAN,
        "true",
        "commits always wait for lookup compaction; false has no effect",
        older=("changelog-producer.lookup-wait",),
    ),
    obeyed(
        "lookup-compact",
        ENUM,
        "radical",
        "radical: compact level 0 for lookups always; gentle: after lookup-compact.max-interval commits",
        values=("radical", "gentle"),
    ),
    obeyed(
        "lookup-compact.max-interval",
        INTEGER,
        "",
        "commits before gentle compacts level 0; default: 2 * trigger",
        whole(1),
    ),
    obeyed("commit.force-compact", BOOLEAN, "false", "commits always wait for compaction; false has no effect"),
    obeyed(
        "compaction.file-num-limit",
        INTEGER,
        "100000",
        "maximum number of small files that one compaction of an append table without buckets examines",
        whole(1),
    ),
    obeyed(
        "compaction.delete-ratio-threshold",
        DOUBLE,
        "0.2",
        "fraction of deleted rows above which compaction rewrites a file of an append table",
        parse_fraction,
    ),
    obeyed(
        "compaction.skip-expired-partitions",
        BOOLEAN,
        "false",
        "compactions skip partitions that are expired by partition.expiration-time and the strategy values-time",
    ),
    obeyed(
        "clustering.incremental", BOOLEAN, "false", "compaction of an append table sorts rows by clustering.columns"
    ),
    obeyed(
        "clustering.columns",
        TEXT,
        "",
        "columns by which clustering.incremental sorts rows",
        parse_some_names,
        older=("sink.clustering.by-columns",),
        is_columns=True,
    ),
    obeyed(
        "clustering.strategy",
        TEXT,
        "auto",
        "order of the rows: order, zorder, hilbert, or auto (order for 1 column, zorder for up to 4, hilbert for more)",
        one_of("auto", "order", "zorder", "hilbert"),
        older=("sink.clustering.strategy",),
    ),
    obeyed(
        "clustering.history-partition.limit",
        INTEGER,
        "5",
        "maximum number of older partitions that one clustering of other partitions sorts fully",
        whole(0),
    ),
    obeyed(
        "clustering.history-partition.idle-to-full-sort",
        DURATION,
        "",
        "time without new files after which a clustering of other partitions sorts a partition fully",
    ),
    obeyed(
        "clustering.incremental.mode",
        ENUM,
        "global-sort",
        "whether incremental clustering sorts all files together or as many as one split has",
        values=("global-sort", "local-sort"),
    ),
)
