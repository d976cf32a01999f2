"""Reads: time travel, incremental and streaming reads."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    DURATION,
    ENUM,
    INTEGER,
    LONG,
    TEXT,
    Option,
    Stops,
    carried,
    obeyed,
    refused,
)
from paimon_core.options.parsers import parse_local_time, parse_word, whole

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "scan.mode",
        ENUM,
        "default",
        "which snapshot a read uses; default: the one that another option scan.* selects, else the latest",
        values=(
            "default",
            "latest-full",
            "full",
            "latest",
            "latest-delta",
            "compacted-full",
            "from-timestamp",
            "from-creation-timestamp",
            "from-file-creation-time",
            "from-snapshot",
            "from-snapshot-full",
            "incremental",
        ),
        supported=("default", "latest-full", "full", "latest", "from-timestamp", "from-snapshot", "from-snapshot-full"),
        stops=Stops.SCANS,
        older=("log.scan",),
    ),
    obeyed("scan.snapshot-id", LONG, "", "id of the snapshot that reads use", whole(1, 2**63 - 1), stops=Stops.SCANS),
    obeyed("scan.tag-name", TEXT, "", "tag whose snapshot reads use", parse_word, stops=Stops.SCANS),
    obeyed(
        "scan.version", TEXT, "", "tag, snapshot id or watermark-<millis> that reads use", parse_word, stops=Stops.SCANS
    ),
    obeyed(
        "scan.timestamp",
        TEXT,
        "",
        "local time such as 2024-01-31 12:00:00: reads use the snapshot that was the latest then",
        parse_local_time,
        stops=Stops.SCANS,
    ),
    obeyed(
        "scan.timestamp-millis",
        LONG,
        "",
        "epoch milliseconds: reads use the snapshot that was the latest then",
        stops=Stops.SCANS,
        older=("log.scan.timestamp-millis",),
    ),
    obeyed(
        "scan.watermark",
        LONG,
        "",
        "watermark in epoch milliseconds: reads use the first snapshot that reaches it",
        stops=Stops.SCANS,
    ),
    refused(
        "scan.file-creation-time-millis",
        LONG,
        "",
        "reads use only files that were created after this time, in epoch milliseconds",
        stops=Stops.SCANS,
    ),
    refused(
        "scan.creation-time-millis",
        LONG,
        "",
        "reads use the snapshot, or the files, from this time on, in epoch milliseconds",
        stops=Stops.SCANS,
    ),
    refused("scan.bucket", INTEGER, "", "bucket that is read"),
    refused(
        "scan.partitions",
        TEXT,
        "",
        "partitions that are read: key=value,...; several are separated by semicolons",
        older=("lookup.dynamic-partition",),
    ),
    refused("scan.fallback-branch", TEXT, "", "branch that is read for partitions which this branch lacks"),
    carried(
        "scan.fallback-branch.read-fail-fast", BOOLEAN, "false", "a read fails when the fallback branch cannot be read"
    ),
    refused(
        "scan.primary-branch",
        TEXT,
        "",
        "branch that is read first; this branch is read for partitions which that one lacks",
    ),
    refused("scan.fallback-snapshot-branch", TEXT, "", "branch with the snapshots of a chain table"),
    refused("scan.fallback-delta-branch", TEXT, "", "branch with the changes of a chain table"),
    refused(
        "batch-scan-mode",
        ENUM,
        "none",
        "internal mode of Java for the compaction of batch jobs",
        values=("none", "compact"),
    ),
    carried(
        "stream-scan-mode",
        ENUM,
        "none",
        "internal mode of Java for streaming compactions",
        ("none", "compact-bucket-table", "file-monitor"),
    ),
    refused(
        "incremental-between",
        TEXT,
        "",
        "read the changes between two snapshots or tags: start (exclusive), end (inclusive)",
        stops=Stops.SCANS,
    ),
    refused(
        "incremental-between-timestamp",
        TEXT,
        "",
        "read the changes between two times: start (exclusive), end (inclusive)",
        stops=Stops.SCANS,
    ),
    refused(
        "incremental-to-auto-tag",
        TEXT,
        "",
        "read the changes between the previous automatic tag and this one",
        stops=Stops.SCANS,
    ),
    carried(
        "incremental-between-scan-mode",
        ENUM,
        "auto",
        "what an incremental read returns: new files, changelog files, or the difference",
        ("auto", "delta", "changelog", "diff"),
    ),
    carried(
        "incremental-between-tag-to-snapshot", BOOLEAN, "false", "tags of incremental-between stand for their snapshots"
    ),
    refused("read.changelog", BOOLEAN, "false", "rows have a column with their kind"),
    refused("query-auth.enabled", BOOLEAN, "false", "the catalog decides which rows and columns a user reads"),
    carried("scan.bounded.watermark", LONG, "", "watermark at which a streaming read ends"),
    carried("scan.manifest.parallelism", INTEGER, "", "number of threads that read manifests"),
    carried(
        "scan.ignore-corrupt-files", BOOLEAN, "false", "Java skips files that are damaged; this library raises an error"
    ),
    carried(
        "scan.ignore-lost-files", BOOLEAN, "false", "Java skips files that are missing; this library raises an error"
    ),
    carried("scan.max-splits-per-task", INTEGER, "10", "splits that are kept for one task"),
    carried("scan.plan-sort-partition", BOOLEAN, "false", "splits are ordered by partition"),
    carried(
        "scan.plan-auto-tag-for-read.time-retained",
        DURATION,
        "",
        "retention of a temporary tag that protects the snapshot of a batch read",
    ),
    carried(
        "continuous.discovery-interval",
        DURATION,
        "10 s",
        "pause between two searches of a streaming read for snapshots",
    ),
    carried(
        "streaming.read.snapshot.delay", DURATION, "", "how long a streaming read waits before it reads a snapshot"
    ),
    carried("streaming-read-overwrite", BOOLEAN, "false", "streaming reads return the changes of overwrites"),
    carried(
        "streaming-read-append-overwrite",
        BOOLEAN,
        "false",
        "streaming reads return the new rows of overwrites of append tables",
    ),
    carried("consumer-id", TEXT, "", "name under which a streaming read stores its position"),
    carried(
        "consumer.mode",
        ENUM,
        "exactly-once",
        "whether a consumer stores exact positions",
        ("exactly-once", "at-least-once"),
    ),
    carried(
        "consumer.ignore-progress", BOOLEAN, "false", "a new streaming job ignores the stored position of its consumer"
    ),
    carried(
        "table-read.sequence-number.enabled",
        BOOLEAN,
        "false",
        "the system tables audit_log and binlog have a column with the sequence number",
    ),
    carried("key-value.sequence_number.enabled", BOOLEAN, "false", "internal option of Java for those system tables"),
)
