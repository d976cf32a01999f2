"""The options that this library obeys, each with its parser, default and a line of documentation (format 18)."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paimon_core.options.parsers import (
    one_of,
    parse_bool,
    parse_bucket,
    parse_bytes,
    parse_file_name,
    parse_fraction,
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
    """One option: how its text is read, what holds when it is absent, one line on what it does."""

    key: str
    parse: Callable[[str], Any]
    default: Any
    doc: str


_FORMATS = ("parquet", "orc", "avro")
_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")
_LAYOUT = (
    Option("bucket", parse_bucket, -1, "buckets of a partition; -1 for append tables without buckets"),
    Option("bucket-key", parse_names, None, "columns that are hashed to a bucket; default the primary key"),
    Option("bucket-function.type", one_of("default"), "default", "the hash of the bucket key"),
    Option("partition.default-name", parse_file_name, "__DEFAULT_PARTITION__", "the directory of null and blank"),
    Option("partition.legacy-name", parse_bool, True, "dates in paths as day numbers"),
    Option("dynamic-partition-overwrite", parse_bool, True, "overwrite replaces the partitions that the data touches"),
)
_FILES = (
    Option("file.format", one_of(*_FORMATS), "parquet", "the format of data files"),
    Option("file.format.per.level", per_level(one_of(*_FORMATS)), {}, "the format by level"),
    Option("file.compression", one_of(*_COMPRESSIONS), "zstd", "the compression of data files"),
    Option("file.compression.per.level", per_level(one_of(*_COMPRESSIONS)), {}, "the compression by level"),
    Option("file.compression.zstd-level", whole(1, 22), 1, "the level of zstd in data files"),
    Option(
        "orc.timestamp-ltz.legacy.type", parse_bool, True, "local zoned times in ORC files are those of the time zone"
    ),
    Option("target-file-size", parse_size, None, "when a data file rolls; 128 mb with a key, 256 mb without"),
    Option("target-file-row-num", whole(1, 2**63 - 1), None, "rows at which a file that a writer flushes rolls"),
    Option("metadata.stats-mode", parse_stats_mode, "truncate(16)", "the statistics of value columns"),
    Option("changelog-file.format", one_of(*_FORMATS), None, "the format of changelog files; default file.format"),
    Option("changelog-file.compression", one_of(*_COMPRESSIONS), None, "theirs; default that of data files"),
    Option("changelog-file.prefix", parse_file_name, "changelog-", "the first part of the names of changelog files"),
    Option("changelog-file.stats-mode", parse_stats_mode, None, "their statistics; default those of data files"),
)
COMBINING_ENGINES = ("partial-update", "aggregation")
"""Merge engines whose result may hold values of several rows; the others choose one row of each key."""
_MERGE = (
    Option(
        "merge-engine",
        one_of("deduplicate", "partial-update", "aggregation", "first-row"),
        "deduplicate",
        "how rows of one key become one",
    ),
    Option("ignore-delete", parse_bool, False, "drop -U and -D rows on write and in merges"),
    Option("ignore-update-before", parse_bool, False, "drop -U rows on write"),
    Option("partial-update.remove-record-on-delete", parse_bool, False, "a -D row removes the whole row"),
    Option(
        "partial-update.remove-record-on-sequence-group",
        parse_names,
        None,
        "ordering columns of the sequence groups in which a -D row removes the whole row",
    ),
    Option("aggregation.remove-record-on-delete", parse_bool, False, "a -D row removes the whole row"),
    Option("sequence.field", parse_names, None, "columns that order rows of one key before their arrival does"),
    Option("sequence.field.sort-order", one_of("ascending", "descending"), "ascending", "their direction"),
    Option("rowkind.field", str.strip, None, "the column that holds the row kind"),
    Option("record-level.expire-time", parse_positive_millis, None, "the age at which compaction drops rows"),
    Option("record-level.time-field", str.strip, None, "the column that says how old a row is"),
)
_CHANGELOG = (
    Option(
        "changelog-producer",
        one_of("none", "input", "lookup", "full-compaction"),
        "none",
        "what writes changelog files",
    ),
    Option("changelog-producer.row-deduplicate", parse_bool, False, "no changelog for rows that stay as they were"),
    Option(
        "changelog-producer.row-deduplicate-ignore-fields", parse_names, None, "columns in which rows may differ for it"
    ),
)
_WRITE = (
    Option("write-only", parse_bool, False, "writers leave compaction and expiry to other jobs"),
    Option("write-buffer-size", parse_size, 256 << 20, "bytes of rows that the writers of a task hold together"),
    Option("write-buffer-spillable", parse_bool, True, "full buffers go to local disk before they become files"),
    Option("write-buffer-spill.max-disk-size", parse_size, 2**63 - 1, "bytes on local disk at which buffers flush"),
    Option("spill-compression", one_of("zstd", "lz4", "none"), "zstd", "the compression of what is spilled"),
    Option("spill-compression.zstd-level", whole(1, 22), 1, "its level of zstd"),
)
_COMPACTION = (
    Option("num-sorted-run.compaction-trigger", whole(1), 5, "sorted runs that trigger a compaction"),
    Option("num-sorted-run.stop-trigger", whole(1), None, "runs above which a writer compacts again; trigger + 3"),
    Option("num-levels", whole(2, 100), None, "levels of the LSM tree; default the trigger + 1"),
    Option("compaction.max-size-amplification-percent", whole(0), 200, "when all runs are merged"),
    Option("compaction.size-ratio", whole(0), 1, "percent by which the next run may be larger and still be taken"),
    Option("compaction.offpeak.start.hour", whole(-1, 23), -1, "local hour at which off-peak begins; -1: never"),
    Option("compaction.offpeak.end.hour", whole(-1, 23), -1, "local hour at which off-peak ends"),
    Option("compaction.offpeak-ratio", whole(0), 0, "added to compaction.size-ratio at off-peak"),
    Option("compaction.optimization-interval", parse_millis, None, "time after which all runs are merged"),
    Option("compaction.total-size-threshold", parse_bytes, None, "smaller buckets are always merged into one run"),
    Option("compaction.incremental-size-threshold", parse_bytes, None, "bytes outside of the last level for the same"),
    Option("compaction.force-up-level-0", parse_bool, False, "every compaction takes all of level 0"),
    Option("compaction.min.file-num", whole(2), 5, "small files that make an append table compact"),
    Option("compaction.small-file-ratio", parse_fraction, 0.7, "share of the target size below which a file is small"),
    Option("compaction.force-rewrite-all-files", parse_bool, False, "full compaction rewrites every file"),
    Option("full-compaction.delta-commits", whole(1), None, "commits after which all is compacted fully"),
    Option("force-lookup", parse_bool, False, "compact as a lookup needs it"),
    Option("lookup-wait", parse_bool, True, "commits wait for a lookup; if false they may, and still do"),
    Option("lookup-compact", one_of("radical", "gentle"), "radical", "how eagerly level 0 is compacted for a lookup"),
    Option("lookup-compact.max-interval", whole(1), None, "commits until gentle takes level 0; twice the trigger"),
    Option("commit.force-compact", parse_bool, False, "commits wait for compaction; if false they may, and still do"),
)
_COMMIT = (
    Option("manifest.target-file-size", parse_size, 8 << 20, "when a manifest rolls"),
    Option("manifest.merge-min-count", whole(2), 30, "small manifests that are merged into one"),
    Option("manifest.full-compaction-threshold-size", parse_bytes, 16 << 20, "when manifests are all rewritten"),
    Option("manifest.compression", one_of("zstd", "snappy", "none", "deflate"), "zstd", "the codec of manifests"),
    Option("source.split.target-size", parse_size, 128 << 20, "bytes of a read split"),
    Option("source.split.open-file-cost", parse_bytes, 4 << 20, "bytes that opening a file counts for"),
    Option("snapshot.num-retained.min", whole(1), 10, "snapshots that expiry keeps at least"),
    Option("snapshot.num-retained.max", whole(1), 2**31 - 1, "snapshots that expiry keeps at most"),
    Option("snapshot.time-retained", parse_millis, 3_600_000, "the age at which snapshots may expire"),
    Option("snapshot.expire.limit", whole(0), 50, "snapshots that one expiry removes at most; 0: none expire"),
    Option("commit.max-retries", whole(0), 10, "lost races after which a commit gives up"),
    Option("commit.timeout", parse_millis, None, "time after which a commit gives up"),
    Option("commit.min-retry-wait", parse_millis, 10, "the first wait between tries"),
    Option("commit.max-retry-wait", parse_millis, 10_000, "the longest wait between tries"),
    Option("commit.user-prefix", str.strip, None, "put before the random commit user of batch writes"),
    Option("tag.default-time-retained", parse_positive_millis, None, "how long a tag lives unless it says itself"),
)
_TAGS = (
    Option(
        "tag.automatic-creation",
        one_of("none", "process-time", "watermark", "batch"),
        "none",
        "make a tag when a period has ended, by commit time or watermark, or after each batch write",
    ),
    Option("tag.creation-period", one_of("daily", "hourly", "two-hours"), "daily", "the period of automatic tags"),
    Option("tag.creation-period-duration", parse_positive_millis, None, "another period, instead of that"),
    Option("tag.creation-delay", parse_millis, 0, "how long after its end a period still waits for late rows"),
    Option(
        "tag.period-formatter",
        one_of("with_dashes", "without_dashes", "without_dashes_and_spaces"),
        "with_dashes",
        "the form of the names of automatic tags",
    ),
    Option("tag.automatic-completion", parse_bool, False, "periods that were missed get their tags one by one"),
    Option("tag.num-retained-max", whole(1), None, "automatic tags that are kept at most"),
    Option("tag.batch.customized-name", parse_file_name, None, "the tag of a batch write; default batch-write-<date>"),
    Option("tag.time-expire-enabled", parse_bool, True, "commits delete the tags whose time is over"),
    Option("tag.create-success-file", parse_bool, False, "a success file for every tag"),
    Option("sink.process-time-zone", parse_zone, None, "the zone of commit times in tag names; default the local one"),
    Option("sink.watermark-time-zone", parse_zone, datetime.UTC, "the zone of watermarks in tag names"),
)
_COMMIT_SAFETY = (
    Option(
        "commit.strict-mode.last-safe-snapshot",
        whole(-1, 2**63 - 1),
        None,
        "others may have rewritten nothing of what a commit touches since this snapshot; -1: no matter",
    ),
    Option("commit.discard-duplicate-files", parse_bool, False, "an append leaves out files that are there already"),
    Option("snapshot.ignore-empty-commit", parse_bool, True, "a commit that changes nothing makes no snapshot"),
    Option("commit.force-create-snapshot", parse_bool, False, "a commit with an identifier always makes a snapshot"),
)
_EXPIRY = (
    Option(
        "snapshot.expire.execution-mode", one_of("sync"), "sync", "who waits for the expiry after a commit: it does"
    ),
    Option("snapshot.clean-empty-directories", parse_bool, False, "expiry removes directories that it has emptied"),
    Option("changelog.num-retained.min", whole(1), None, "changelogs that expiry keeps at least; as for snapshots"),
    Option("changelog.num-retained.max", whole(1), None, "changelogs that expiry keeps at most; as for snapshots"),
    Option("changelog.time-retained", parse_millis, None, "the age at which changelogs may expire; as for snapshots"),
    Option("consumer.expiration-time", parse_positive_millis, None, "the silence after which a consumer is forgotten"),
    Option("consumer.changelog-only", parse_bool, False, "consumers hold changelogs, and snapshots only without those"),
    Option("partition.expiration-time", parse_positive_millis, None, "the age at which a partition is dropped"),
    Option("partition.expiration-strategy", one_of("values-time", "update-time"), "values-time", "what tells that age"),
    Option("partition.expiration-check-interval", parse_millis, 3_600_000, "0: look after every write; else on demand"),
    Option("partition.expiration-max-num", whole(1), 100, "partitions that one expiry drops at most"),
    Option("partition.expiration-batch-size", whole(1), None, "partitions that one commit of it drops at most"),
    Option("partition.timestamp-pattern", str, None, "a text such as '$dt $hour:00:00' that tells a partition's time"),
    Option("partition.timestamp-formatter", str, None, "how to read it, as Java's DateTimeFormatter does"),
    Option("end-input.check-partition-expire", parse_bool, False, "look for expired partitions after every write"),
    Option("partition.mark-done-action", one_of("success-file"), "success-file", "what marks a partition done"),
)
SUPPORTED: dict[str, Option] = {
    o.key: o
    for o in (
        *_LAYOUT,
        *_FILES,
        *_MERGE,
        *_CHANGELOG,
        *_WRITE,
        *_COMPACTION,
        *_COMMIT,
        *_COMMIT_SAFETY,
        *_TAGS,
        *_EXPIRY,
    )
}
