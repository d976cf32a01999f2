"""Jobs of Flink."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    ENUM,
    INTEGER,
    LONG,
    SIZE,
    TEXT,
    Option,
    carried,
    obeyed,
)

OPTIONS: tuple[Option, ...] = (
    carried("sink.parallelism", INTEGER, "", "number of writers"),
    carried("scan.parallelism", INTEGER, "", "number of readers"),
    carried(
        "unaware-bucket.compaction.parallelism",
        INTEGER,
        "",
        "number of tasks that compact an append table without buckets",
    ),
    carried(
        "unaware-bucket.no-shuffle", BOOLEAN, "false", "rows of an append table are written by the task that reads them"
    ),
    carried(
        "compaction.bucket-distribution-strategy",
        ENUM,
        "linear",
        "how buckets are distributed to the tasks of a compaction job",
        ("linear", "size-aware-batch"),
    ),
    carried("scan.infer-parallelism", BOOLEAN, "true", "the number of readers follows the number of splits or buckets"),
    carried("scan.infer-parallelism.max", INTEGER, "1024", "maximum number of readers that is inferred"),
    carried(
        "scan.watermark.emit.strategy", ENUM, "on-event", "when a source emits watermarks", ("on-periodic", "on-event")
    ),
    carried("scan.watermark.alignment.group", TEXT, "", "group of sources whose watermarks are aligned"),
    carried("scan.watermark.idle-timeout", DURATION, "", "time without rows until a source counts as idle"),
    carried("scan.watermark.alignment.max-drift", DURATION, "", "maximum lead of a source's watermark"),
    carried("scan.watermark.alignment.update-interval", DURATION, "1 s", "pause between two alignments of watermarks"),
    carried("scan.split-enumerator.batch-size", INTEGER, "10", "splits that a reader gets at once"),
    carried(
        "scan.split-enumerator.mode", ENUM, "fair", "how splits are distributed to readers", ("fair", "preemptive")
    ),
    carried(
        "scan.max-snapshot.count",
        INTEGER,
        "-1",
        "maximum number of snapshots between two checkpoints; negative: no maximum",
    ),
    carried("scan.bounded", BOOLEAN, "", "a streaming source ends"),
    carried("scan.dedicated-split-generation", BOOLEAN, "false", "a task plans the splits, and not the job manager"),
    carried(
        "scan.remove-normalize",
        BOOLEAN,
        "false",
        "streaming reads skip the step that completes updates",
        older=("log.scan.remove-normalize",),
    ),
    carried(
        "read.shuffle-bucket-with-partition",
        BOOLEAN,
        "true",
        "readers get splits by partition and bucket",
        older=("streaming-read.shuffle-bucket-with-partition",),
    ),
    carried("source.checkpoint-align.enabled", BOOLEAN, "false", "a checkpoint waits for a snapshot"),
    carried("source.checkpoint-align.timeout", DURATION, "30 s", "how long a checkpoint waits for a snapshot"),
    carried("source.operator-uid.suffix", TEXT, "", "suffix of the ids of source operators"),
    carried("sink.operator-uid.suffix", TEXT, "", "suffix of the ids of sink operators"),
    carried("sink.use-managed-memory-allocator", BOOLEAN, "false", "writers use Flink's managed memory"),
    carried("sink.managed.writer-buffer-memory", SIZE, "256 mb", "weight of writers in managed memory"),
    carried(
        "sink.cross-partition.managed-memory",
        SIZE,
        "256 mb",
        "weight of the index of keys across partitions in managed memory",
    ),
    carried("sink.savepoint.auto-tag", BOOLEAN, "false", "a savepoint creates a tag"),
    carried("sink.writer-cpu", DOUBLE, "1.0", "processors of a writer"),
    carried("sink.writer-memory", SIZE, "", "heap memory of a writer"),
    carried("sink.committer-cpu", DOUBLE, "1.0", "processors of the committer"),
    carried("sink.committer-memory", SIZE, "", "heap memory of the committer"),
    carried("sink.committer-operator-chaining", BOOLEAN, "true", "committer and writer may run in one task"),
    carried("sink.clustering.sort-in-cluster", BOOLEAN, "true", "tasks also sort their rows when rows are clustered"),
    carried("sink.clustering.sample-factor", INTEGER, "100", "sample size per task when rows are clustered"),
    carried("sink.coordinator-commit.enabled", BOOLEAN, "false", "the job manager commits"),
    carried("sink.writer-coordinator.enabled", BOOLEAN, "false", "the job manager plans files for the writers"),
    carried("sink.writer-coordinator.cache-memory", SIZE, "2048 mb", "memory for manifests in the job manager"),
    carried(
        "sink.writer-coordinator.cache-expire-after-access",
        DURATION,
        "",
        "time without use until the job manager drops a manifest",
    ),
    carried(
        "sink.writer-coordinator.cache-soft-values",
        BOOLEAN,
        "true",
        "the job manager may drop manifests when memory is short",
    ),
    carried("sink.writer-coordinator.page-size", SIZE, "32 kb", "size of one answer of the job manager"),
    carried(
        "sink.writer-coordinator.prefetch-manifests",
        BOOLEAN,
        "false",
        "the job manager reads all manifests at the start",
    ),
    carried("sink.key-only-deletes.enabled", BOOLEAN, "false", "deletions may consist of the key alone"),
    carried("sink.writer-refresh-detectors", TEXT, "", "option groups that running writers read again"),
    carried(
        "partition.mark-done-action.mode",
        ENUM,
        "process-time",
        "what decides that a partition is done: the clock or the watermark",
        ("process-time", "watermark"),
    ),
    carried("partition.idle-time-to-done", DURATION, "", "time without rows until a partition is done"),
    carried("partition.time-interval", DURATION, "", "length of a partition's period"),
    carried(
        "partition.mark-done.recover-from-state", BOOLEAN, "true", "partitions are also marked as done after a restart"
    ),
    obeyed("end-input.watermark", LONG, "", "watermark of the snapshot of a batch write that states none"),
    carried("filesystem.job-level-settings.enabled", BOOLEAN, "true", "file systems also use the settings of the job"),
)
