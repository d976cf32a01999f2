"""Jobs of Spark."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, INTEGER, LONG, Option, Stops, carried, obeyed

OPTIONS: tuple[Option, ...] = (
    carried("requiredSparkConfsCheck.enabled", BOOLEAN, "true", "check the settings of the Spark session"),
    carried(
        "legacy-timestamp-mapping.enabled",
        BOOLEAN,
        "false",
        "TIMESTAMP becomes Spark's TIMESTAMP and not TIMESTAMP_NTZ",
    ),
    carried("vector-search.lateral-join.parallelism", INTEGER, "16", "number of tasks of a lateral vector search"),
    carried("write.use-v2-write", BOOLEAN, "false", "use version 2 of Spark's interface for writes"),
    carried("write.hive-style-dynamic-partition.enabled", BOOLEAN, "false", "columns of INSERT are in Hive's order"),
    carried(
        "write.data-evolution.update-conflict-retry.max-attempts",
        INTEGER,
        "20",
        "attempts of an UPDATE on a table with data-evolution.enabled",
    ),
    carried("write.data-evolution.update-conflict-retry.wait-ms", LONG, "10", "milliseconds between these attempts"),
    carried("read.stream.maxFilesPerTrigger", INTEGER, "", "maximum number of files of one batch of a stream"),
    carried("read.stream.maxBytesPerTrigger", LONG, "", "maximum number of bytes of one batch of a stream"),
    carried("read.stream.maxRowsPerTrigger", LONG, "", "maximum number of rows of one batch of a stream"),
    carried("read.stream.minRowsPerTrigger", LONG, "", "minimum number of rows of one batch of a stream"),
    carried(
        "read.stream.maxTriggerDelayMs", LONG, "", "milliseconds after which a batch of a stream starts with fewer rows"
    ),
    obeyed(
        "read.allow.fullScan",
        BOOLEAN,
        "true",
        "false: a scan of a table with partitions fails when its filter leaves out no file",
        stops=Stops.SCANS,
    ),
    carried(
        "source.split.target-size-with-column-pruning",
        BOOLEAN,
        "false",
        "the size of a split counts only the columns that are read",
    ),
)
