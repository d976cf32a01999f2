"""Buckets, partitions and the place of files."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    DURATION,
    ENUM,
    INTEGER,
    LONG,
    SIZE,
    TEXT,
    Option,
    Stops,
    carried,
    obeyed,
    refused,
)
from paimon_core.options.parsers import parse_bucket, parse_file_name, parse_names

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "bucket",
        INTEGER,
        "-1",
        "number of buckets in each partition; -1: an append table without buckets",
        parse_bucket,
        stops=Stops.READS,
        shared=True,
    ),
    obeyed(
        "bucket-key",
        TEXT,
        "",
        "columns whose hash selects the bucket of a row; default: the primary key without the partition columns",
        parse_names,
        stops=Stops.READS,
        immutable=True,
        is_columns=True,
    ),
    obeyed(
        "bucket-function.type",
        ENUM,
        "default",
        "hash function of the bucket key",
        values=("default", "mod", "hive"),
        supported=("default",),
        stops=Stops.READS,
        immutable=True,
    ),
    obeyed(
        "partition.default-name",
        TEXT,
        "__DEFAULT_PARTITION__",
        "directory name of null and blank values",
        parse_file_name,
        stops=Stops.READS,
        shared=True,
    ),
    obeyed(
        "partition.legacy-name",
        BOOLEAN,
        "true",
        "write dates in partition paths as days since 1970-01-01",
        stops=Stops.READS,
        shared=True,
    ),
    obeyed(
        "dynamic-partition-overwrite",
        BOOLEAN,
        "true",
        "an overwrite replaces only the partitions in the new data",
        stops=Stops.READS,
    ),
    carried("bucket-append-ordered", BOOLEAN, "true", "append tables keep the order of the rows in a bucket"),
    refused(
        "type",
        ENUM,
        "table",
        "type of the table; a materialized-table can be read",
        values=("table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"),
        fixed="the type of a table never changes",
    ),
    carried(
        "path",
        TEXT,
        "",
        "directory of the table",
        fixed="the path of a table is not an option that can be changed",
        argument="the catalog",
    ),
    refused("branch", TEXT, "main", "branch that a handle of Java reads and writes"),
    carried(
        "primary-key",
        TEXT,
        "",
        "primary key, as an option of CREATE TABLE",
        fixed="the primary key of a table never changes",
        argument="argument primary_key",
    ),
    carried(
        "partition",
        TEXT,
        "",
        "partition keys, as an option of CREATE TABLE",
        fixed="the partition keys of a table never change",
        argument="argument partition_by",
    ),
    carried("auto-create", BOOLEAN, "false", "create the table's directory when it is first used"),
    refused("primary-key.nullable", BOOLEAN, "false", "primary key columns may be null", immutable=True),
    refused("data-file.path-directory", TEXT, "", "directory of the data files below the table", immutable=True),
    refused("data-file.external-paths", TEXT, "", "directories outside of the table for data files"),
    carried(
        "data-file.external-paths.strategy",
        ENUM,
        "none",
        "how a writer selects one of the external paths",
        ("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
    ),
    carried(
        "data-file.external-paths.specific-fs",
        TEXT,
        "",
        "file system of the external path, under the strategy specific-fs",
    ),
    carried(
        "data-file.external-paths.weights", TEXT, "", "weights of the external paths, under the strategy weight-robin"
    ),
    refused(
        "index-file-in-data-file-dir",
        BOOLEAN,
        "false",
        "index files are in the directories of the data files",
        immutable=True,
    ),
    carried("dynamic-bucket.target-row-num", LONG, "2000000", "rows per bucket of a table with dynamic buckets"),
    carried(
        "dynamic-bucket.initial-buckets",
        INTEGER,
        "",
        "buckets that a partition has from the start, with dynamic buckets",
        immutable=True,
    ),
    carried(
        "dynamic-bucket.max-buckets", INTEGER, "-1", "maximum number of dynamic buckets of a partition; -1: no maximum"
    ),
    carried("dynamic-bucket.assigner-parallelism", INTEGER, "", "number of tasks that assign dynamic buckets"),
    carried(
        "cross-partition-upsert.index-ttl", DURATION, "", "how long the index of keys across partitions keeps a key"
    ),
    carried(
        "cross-partition-upsert.bootstrap-parallelism",
        INTEGER,
        "10",
        "number of tasks that load the index of keys across partitions",
    ),
    carried(
        "postpone.batch-write-fixed-bucket", BOOLEAN, "true", "batch writes of a postpone bucket go to fixed buckets"
    ),
    carried("postpone.merge-on-read", BOOLEAN, "false", "batch reads merge the postpone bucket with the other buckets"),
    carried(
        "postpone.batch-write-fixed-bucket.max-parallelism",
        INTEGER,
        "2048",
        "maximum number of buckets that a batch write selects for a partition",
    ),
    carried(
        "postpone.batch-write-fixed-bucket.rescale-load-factor",
        INTEGER,
        "32",
        "ratio of needed to existing buckets at which a batch write adds buckets",
    ),
    carried("postpone.default-bucket-num", INTEGER, "", "number of buckets of a new partition of a postpone bucket"),
    carried("postpone.target-row-num-per-bucket", LONG, "", "rows per bucket of a postpone bucket"),
    carried("postpone.target-size-per-bucket", SIZE, "1 gb", "bytes per bucket of a postpone bucket"),
)
