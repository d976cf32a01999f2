"""Supported options: the options that this library obeys, with parser, default and documentation (format 18)."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paimon_core.options.parsers import (
    MAX_DYNAMIC_BUCKETS,
    one_of,
    parse_bool,
    parse_bucket,
    parse_bytes,
    parse_file_name,
    parse_fraction,
    parse_max_buckets,
    parse_millis,
    parse_names,
    parse_positive_millis,
    parse_size,
    parse_stats_mode,
    parse_zone,
    per_level,
    whole,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its key, the parser of its text, its default (None: none), and one line of documentation."""

    key: str
    parse: Callable[[str], Any]
    default: Any
    doc: str


_FORMATS = ("parquet", "orc", "avro")
_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")
_LAYOUT = (
    Option("bucket", parse_bucket, -1, "number of buckets in each partition; -1: dynamic, for append tables none"),
    Option(
        "dynamic-bucket.target-row-num", whole(1, 2**63 - 1), 2_000_000, "largest number of keys in a dynamic bucket"
    ),
    Option(
        "dynamic-bucket.initial-buckets",
        whole(1, MAX_DYNAMIC_BUCKETS),
        None,
        "number of dynamic buckets that the first keys of a partition are spread over; default: 1",
    ),
    Option(
        "dynamic-bucket.max-buckets",
        parse_max_buckets,
        -1,
        "largest number of dynamic buckets of a partition, which then grow beyond their target; -1: no limit",
    ),
    Option(
        "bucket-key",
        parse_names,
        None,
        "columns whose hash selects the bucket of a row; default: the primary key without the partition columns",
    ),
    Option("bucket-function.type", one_of("default", "mod", "hive"), "default", "bucket of a bucket key"),
    Option(
        "partition.default-name", parse_file_name, "__DEFAULT_PARTITION__", "directory name of null and blank values"
    ),
    Option("partition.legacy-name", parse_bool, True, "write dates in partition paths as days since 1970-01-01"),
    Option(
        "dynamic-partition-overwrite", parse_bool, True, "an overwrite replaces only the partitions in the new data"
    ),
)
_FILES = (
    Option("file.format", one_of(*_FORMATS), "parquet", "format of data files"),
    Option(
        "file.format.per.level", per_level(one_of(*_FORMATS)), {}, "format of data files by level: level:format,..."
    ),
    Option("file.compression", one_of(*_COMPRESSIONS), "zstd", "compression of data files"),
    Option(
        "file.compression.per.level", per_level(one_of(*_COMPRESSIONS)), {}, "compression by level: level:codec,..."
    ),
    Option("file.compression.zstd-level", whole(1, 22), 1, "zstd level of data files"),
    Option(
        "orc.timestamp-ltz.legacy.type",
        parse_bool,
        True,
        "ORC files store TIMESTAMP WITH LOCAL TIME ZONE as local times; true is supported in the time zone UTC only",
    ),
    Option(
        "target-file-size",
        parse_size,
        None,
        "size at which a writer starts a new data file; default: 128 mb with a primary key, 256 mb without",
    ),
    Option(
        "target-file-row-num",
        whole(1, 2**63 - 1),
        None,
        "number of rows at which a writer starts a new data file; does not apply to compaction",
    ),
    Option("metadata.stats-mode", parse_stats_mode, "truncate(16)", "statistics that are recorded for value columns"),
    Option("changelog-file.format", one_of(*_FORMATS), None, "format of changelog files; default: file.format"),
    Option(
        "changelog-file.compression", one_of(*_COMPRESSIONS), None, "codec of changelog files; default: as data files"
    ),
    Option("changelog-file.prefix", parse_file_name, "changelog-", "prefix of the names of changelog files"),
    Option(
        "changelog-file.stats-mode", parse_stats_mode, None, "statistics of changelog files; default: as data files"
    ),
)
COMBINING_ENGINES = ("partial-update", "aggregation")
"""Merge engines that may combine values of several rows; the other engines select one row of each key."""
_MERGE = (
    Option(
        "merge-engine",
        one_of("deduplicate", "partial-update", "aggregation", "first-row"),
        "deduplicate",
        "how the rows of one key are merged into one row",
    ),
    Option("ignore-delete", parse_bool, False, "drop rows of kind -U and -D in writes and merges"),
    Option("ignore-update-before", parse_bool, False, "drop rows of kind -U in writes"),
    Option("partial-update.remove-record-on-delete", parse_bool, False, "a -D row deletes the record of its key"),
    Option(
        "partial-update.remove-record-on-sequence-group",
        parse_names,
        None,
        "ordering columns of the sequence groups in which a row of kind -D deletes the record of its key",
    ),
    Option("aggregation.remove-record-on-delete", parse_bool, False, "a -D row deletes the record of its key"),
    Option("sequence.field", parse_names, None, "columns that order the rows of one key; ties: order of arrival"),
    Option("sequence.field.sort-order", one_of("ascending", "descending"), "ascending", "direction of sequence.field"),
    Option("rowkind.field", str.strip, None, "column that contains the row kind"),
    Option("record-level.expire-time", parse_positive_millis, None, "age at which compaction drops a row"),
    Option("record-level.time-field", str.strip, None, "column with the time from which a row's age is counted"),
)
_VECTORS = (
    Option(
        "deletion-vectors.enabled",
        parse_bool,
        False,
        "mark deleted rows in deletion vectors instead of rewriting files",
    ),
    Option("deletion-vectors.bitmap64", parse_bool, False, "new deletion vectors have 64-bit row positions"),
    Option(
        "deletion-vectors.merge-on-read",
        parse_bool,
        False,
        "batch reads of a table with a primary key and deletion vectors merge level 0 instead of leaving it out",
    ),
    Option(
        "deletion-vector.index-file.target-size",
        parse_size,
        2 << 20,
        "size above which a file of deletion vectors ends; a table with fixed buckets has one file per bucket",
    ),
)
_CHANGELOG = (
    Option(
        "changelog-producer",
        one_of("none", "input", "lookup", "full-compaction"),
        "none",
        "what writes changelog files: the input rows, a lookup in compactions, or full compactions",
    ),
    Option("changelog-producer.row-deduplicate", parse_bool, False, "write no changelog for rows that did not change"),
    Option(
        "changelog-producer.row-deduplicate-ignore-fields",
        parse_names,
        None,
        "columns that changelog-producer.row-deduplicate does not compare",
    ),
)
_WRITE = (
    Option("write-only", parse_bool, False, "other jobs compact, expire and create tags, not the writers"),
    Option(
        "write-buffer-size",
        parse_size,
        256 << 20,
        "memory for rows, in bytes, that all buckets of one writer share before rows are spilled or flushed",
    ),
    Option("write-buffer-spillable", parse_bool, True, "full write buffers are stored on local disk until the flush"),
    Option("write-buffer-spill.max-disk-size", parse_size, 2**63 - 1, "size of rows on local disk that causes a flush"),
    Option("spill-compression", one_of("zstd", "lz4", "none"), "zstd", "compression of spilled rows"),
    Option("spill-compression.zstd-level", whole(1, 22), 1, "zstd level of spilled rows"),
)
_COMPACTION = (
    Option("num-sorted-run.compaction-trigger", whole(1), 5, "number of sorted runs that triggers a compaction"),
    Option(
        "num-sorted-run.stop-trigger",
        whole(1),
        None,
        "number of sorted runs at which a writer compacts a bucket again; default: compaction trigger + 3",
    ),
    Option("num-levels", whole(2, 100), None, "number of LSM levels; default: num-sorted-run.compaction-trigger + 1"),
    Option(
        "compaction.max-size-amplification-percent",
        whole(0),
        200,
        "size of the newer sorted runs, in percent of the oldest run, at which all runs are merged",
    ),
    Option(
        "compaction.size-ratio",
        whole(0),
        1,
        "percent by which the next sorted run may be larger than the runs selected so far and still be selected",
    ),
    Option("compaction.offpeak.start.hour", whole(-1, 23), -1, "first hour (local time) of off-peak time; -1: none"),
    Option("compaction.offpeak.end.hour", whole(-1, 23), -1, "hour (local time) at which off-peak time ends; -1: none"),
    Option("compaction.offpeak-ratio", whole(0), 0, "percent added to compaction.size-ratio in off-peak time"),
    Option("compaction.optimization-interval", parse_millis, None, "time after which a bucket is compacted fully"),
    Option("compaction.total-size-threshold", parse_bytes, None, "size below which a bucket is always compacted fully"),
    Option(
        "compaction.incremental-size-threshold",
        parse_bytes,
        None,
        "a bucket is compacted fully when its size outside of the last level exceeds this size",
    ),
    Option("compaction.force-up-level-0", parse_bool, False, "compact level 0 even when no other rule asks for it"),
    Option("compaction.min.file-num", whole(2), 5, "number of small files that triggers compaction of an append table"),
    Option(
        "compaction.small-file-ratio", parse_fraction, 0.7, "fraction of target-file-size below which a file is small"
    ),
    Option(
        "compaction.delete-ratio-threshold",
        parse_fraction,
        0.2,
        "fraction of deleted rows above which compaction rewrites a file of an append table",
    ),
    Option("compaction.force-rewrite-all-files", parse_bool, False, "full compaction rewrites every file"),
    Option(
        "full-compaction.delta-commits",
        whole(1),
        None,
        "number of commits after which a full compaction is due; default: 1 under changelog-producer = full-compaction",
    ),
    Option(
        "force-lookup", parse_bool, False, "compact level 0 as for lookups (see lookup-compact), without a changelog"
    ),
    Option("lookup-wait", parse_bool, True, "commits wait for lookup compaction, also when this is false"),
    Option(
        "lookup-compact",
        one_of("radical", "gentle"),
        "radical",
        "radical: compact level 0 for lookups always; gentle: after lookup-compact.max-interval commits",
    ),
    Option(
        "lookup-compact.max-interval", whole(1), None, "commits before gentle compacts level 0; default: 2 * trigger"
    ),
    Option("commit.force-compact", parse_bool, False, "commits wait for compaction, also when this is false"),
)
_COMMIT = (
    Option("manifest.target-file-size", parse_size, 8 << 20, "size at which a writer starts a new manifest"),
    Option("manifest.merge-min-count", whole(2), 30, "number of small manifests that are merged into one"),
    Option(
        "manifest.full-compaction-threshold-size",
        parse_bytes,
        16 << 20,
        "total size of small manifests and manifests with deletions at which they are all rewritten",
    ),
    Option("manifest.compression", one_of("zstd", "snappy", "none", "deflate"), "zstd", "codec of manifests"),
    Option("source.split.target-size", parse_size, 128 << 20, "target size of a read split"),
    Option("source.split.open-file-cost", parse_bytes, 4 << 20, "minimum size that a file counts for in a split"),
    Option("snapshot.num-retained.min", whole(1), 10, "minimum number of snapshots that expiry keeps"),
    Option("snapshot.num-retained.max", whole(1), 2**31 - 1, "maximum number of snapshots that expiry keeps"),
    Option("snapshot.time-retained", parse_millis, 3_600_000, "age at which snapshots may expire"),
    Option("snapshot.expire.limit", whole(0), 50, "maximum number of snapshots one expiry deletes; 0: none"),
    Option("commit.max-retries", whole(0), 10, "number of retries, after lost races, before a commit fails"),
    Option("commit.timeout", parse_millis, None, "time after which a commit stops retrying; default: no limit"),
    Option("commit.min-retry-wait", parse_millis, 10, "shortest wait between two attempts of a commit"),
    Option("commit.max-retry-wait", parse_millis, 10_000, "longest wait between two attempts of a commit"),
    Option("commit.user-prefix", str.strip, None, "prefix of the random commit user of batch writes"),
    Option("tag.default-time-retained", parse_positive_millis, None, "retention of tags that have none of their own"),
)
_TAGS = (
    Option(
        "tag.automatic-creation",
        one_of("none", "process-time", "watermark", "batch"),
        "none",
        "create a tag when a period has ended, by commit time or by watermark, or after each batch write",
    ),
    Option("tag.creation-period", one_of("daily", "hourly", "two-hours"), "daily", "period of automatic tags"),
    Option(
        "tag.creation-period-duration",
        parse_positive_millis,
        None,
        "length of the period of automatic tags; replaces tag.creation-period",
    ),
    Option("tag.creation-delay", parse_millis, 0, "time after a period's end before its tag is created"),
    Option(
        "tag.period-formatter",
        one_of("with_dashes", "without_dashes", "without_dashes_and_spaces"),
        "with_dashes",
        "format of the names of automatic tags",
    ),
    Option("tag.automatic-completion", parse_bool, False, "create the tags of missed periods, one after the other"),
    Option("tag.num-retained-max", whole(1), None, "maximum number of automatic tags that are kept"),
    Option("tag.batch.customized-name", parse_file_name, None, "name of batch tags; default: batch-write-<date>"),
    Option("tag.time-expire-enabled", parse_bool, True, "commits delete the tags whose retention has ended"),
    Option("tag.create-success-file", parse_bool, False, "write a success file for each tag"),
    Option("sink.process-time-zone", parse_zone, None, "time zone of commit times in tag names; default: local"),
    Option("sink.watermark-time-zone", parse_zone, datetime.UTC, "time zone of watermarks in tag names"),
)
_COMMIT_SAFETY = (
    Option(
        "commit.strict-mode.last-safe-snapshot",
        whole(-1, 2**63 - 1),
        None,
        "a commit fails when another user compacted or overwrote its partitions after this snapshot; -1: no check",
    ),
    Option("commit.discard-duplicate-files", parse_bool, False, "an append skips files that the table contains"),
    Option("snapshot.ignore-empty-commit", parse_bool, True, "a commit that changes nothing creates no snapshot"),
    Option(
        "commit.force-create-snapshot", parse_bool, False, "commits with an identifier create a snapshot even if empty"
    ),
)
_EXPIRY = (
    Option(
        "snapshot.expire.execution-mode", one_of("sync"), "sync", "sync: a commit waits for the expiry that follows it"
    ),
    Option("snapshot.clean-empty-directories", parse_bool, False, "expiry deletes the directories that it has emptied"),
    Option("changelog.num-retained.min", whole(1), None, "minimum number of changelogs to keep; default: as snapshots"),
    Option("changelog.num-retained.max", whole(1), None, "maximum number of changelogs to keep; default: as snapshots"),
    Option("changelog.time-retained", parse_millis, None, "age at which changelogs may expire; default: as snapshots"),
    Option("consumer.expiration-time", parse_positive_millis, None, "time without an update until a consumer expires"),
    Option(
        "consumer.changelog-only", parse_bool, False, "consumers do not protect snapshots whose changelogs are kept"
    ),
    Option("partition.expiration-time", parse_positive_millis, None, "age at which a partition expires"),
    Option(
        "partition.expiration-strategy",
        one_of("values-time", "update-time"),
        "values-time",
        "what determines the age of a partition: its values, or the creation time of its newest file",
    ),
    Option(
        "partition.expiration-check-interval",
        parse_millis,
        3_600_000,
        "0: check for expired partitions after every write; otherwise they expire only on request",
    ),
    Option("partition.expiration-max-num", whole(0), 100, "maximum number of partitions one expiry drops; 0: none"),
    Option(
        "partition.expiration-batch-size", whole(1), None, "maximum number of partitions in one commit of an expiry"
    ),
    Option(
        "partition.timestamp-pattern",
        str,
        None,
        "text such as '$dt $hour:00:00' that gives a partition's time; default: the first partition column",
    ),
    Option("partition.timestamp-formatter", str, None, "format of a partition's time (Java's DateTimeFormatter)"),
    Option("end-input.check-partition-expire", parse_bool, False, "check for expired partitions after every write"),
    Option(
        "partition.mark-done-action",
        one_of("success-file"),
        "success-file",
        "how a partition is marked as done; success-file: a file _SUCCESS in its directory",
    ),
)
_SCHEMA = (
    Option(
        "alter-column-null-to-not-null.disabled", parse_bool, True, "refuse to make a column NOT NULL that allows null"
    ),
    Option("disable-explicit-type-casting", parse_bool, False, "allow only changes of a type that lose nothing"),
    Option(
        "add-column-before-partition", parse_bool, False, "a new column without a position goes before partition keys"
    ),
    Option("write.merge-schema", parse_bool, False, "a write adds the columns of its data that the table lacks"),
    Option("write.merge-schema.type-widening", parse_bool, False, "with write.merge-schema: a write also widens types"),
    Option(
        "write.merge-schema.explicit-cast",
        parse_bool,
        False,
        "with write.merge-schema.type-widening: a write may also change types in ways that lose information",
    ),
)
SUPPORTED: dict[str, Option] = {
    o.key: o
    for o in (
        *_LAYOUT,
        *_FILES,
        *_MERGE,
        *_VECTORS,
        *_CHANGELOG,
        *_WRITE,
        *_COMPACTION,
        *_COMMIT,
        *_COMMIT_SAFETY,
        *_TAGS,
        *_EXPIRY,
        *_SCHEMA,
    )
}
