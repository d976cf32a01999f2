"""Questions from the issues of Paimon and Delta, as people would type them, and the pages that answer them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """``issue``: where it was asked; ``pages``: the addresses of the pages that answer it, without their ends."""

    issue: str
    words: str
    pages: tuple[str, ...]


COMPACT = ("how-to/compact",)
FREE = ("how-to/free-space",)
WORKERS = ("how-to/write-with-workers",)
BUCKETS = ("how-to/choose-buckets",)
MESSAGES = ("reference/messages",)
EXPIRED = ("reference/messages", "streams", "how-to/read-older-versions")
CHANGES = ("how-to/find-changes",)
READ = ("how-to/read-rows",)
COLUMNS = ("how-to/change-columns", "how-to/write-rows", "alter")

QUESTIONS = (
    Question("apache/paimon#6760", "pypaimon compaction", (*COMPACT, "comparison", "migration/pypaimon")),
    Question("apache/paimon#2675", "write-only table small files not cleaned up", (*COMPACT, *FREE)),
    Question("apache/paimon#5130", "append table compaction small files", COMPACT),
    Question("apache/paimon#3479", "streaming read from timestamp snapshot not found", EXPIRED),
    Question("apache/paimon#1299", "stream from a snapshot that expired", EXPIRED),
    Question("apache/paimon#807", "restored from checkpoint, old snapshot is expired", EXPIRED),
    Question("apache/paimon#4743", "snapshots deleted manually, expire does not work", ("repair", *MESSAGES, *FREE)),
    Question("apache/paimon#4693", "file not found snapshot expires too fast", EXPIRED),
    Question("apache/paimon#3689", "append only writer can not accept row UPDATE_BEFORE", MESSAGES),
    Question("apache/paimon#7406", "primary key not null schema arrow", (*MESSAGES, "how-to/write-rows")),
    Question("apache/paimon#3373", "partial update null value", ("how-to/combine-rows",)),
    Question("apache/paimon#2242", "aggregation sum by key", ("how-to/combine-rows",)),
    Question("apache/paimon#3074", "orphan files clean deletes normal files", (*FREE, "repair")),
    Question("apache/paimon#2222", "cleaning up residual files of a canceled job", FREE),
    Question("apache/paimon#1816", "dynamic bucket number of buckets", BUCKETS),
    Question("apache/paimon#7183", "rescale postpone bucket", BUCKETS),
    Question("apache/paimon#2067", "query is slow", ("how-to/find-slow-tables",)),
    Question("apache/paimon#6563", "atomic commit object store without lock", ("catalogs", "storage", "comparison")),
    Question("apache/paimon#5762", "concurrent jobs updates lost", (*WORKERS, "how-to/change-rows")),
    Question("apache/paimon#6669", "merge into", ("how-to/change-rows", "spark")),
    Question("apache/paimon#497", "partition.expiration-time automatically delete expired partitions", FREE),
    Question("apache/paimon#1786", "can not write table with s3 file system", ("storage",)),
    Question("apache/paimon#6182", "data loss when pypaimon is writing data", ("migration/pypaimon",)),
    Question("apache/paimon#6324", "read incremental changes between two tags", CHANGES),
    Question("apache/paimon#1475", "query the consumer id of the table", ("system-tables", "streams")),
    Question("apache/paimon#1586", "reset next snapshot id of consumer", ("streams", *FREE)),
    Question(
        "delta-io/delta-rs#1013", "time travel after vacuum", ("migration/delta", *FREE, "how-to/read-older-versions")
    ),
    Question("delta-io/delta-rs#635", "vacuum retention hours", ("migration/delta", *FREE)),
    Question("delta-io/delta-rs#3530", "vacuum keep specific versions", ("migration/delta", *FREE)),
    Question("delta-io/delta#761", "ConcurrentAppendException compaction and streaming", ("migration/delta", *WORKERS)),
    Question("delta-io/delta#69", "concurrent append writers", WORKERS),
    Question("delta-io/delta#550", "concurrent overwrite", WORKERS),
    Question("delta-io/delta#1804", "S3 multi-cluster writes DynamoDB", ("migration/delta", "storage")),
    Question("delta-io/delta-rs#1357", "merge upsert in python", ("how-to/change-rows", "how-to/write-rows")),
    Question("delta-io/delta-rs#2282", "schema evolution add column", COLUMNS),
    Question("delta-io/delta-rs#1667", "append data with new columns", COLUMNS),
    Question("delta-io/delta#958", "rename column", (*COLUMNS, "how-to/forty-tasks")),
    Question("delta-io/delta-rs#220", "partition filters to_pyarrow_table", (*READ, "filters", "migration/delta")),
    Question("delta-io/delta-rs#4487", "change data feed predicate", (*CHANGES, "migration/delta")),
    Question("delta-io/connectors#135", "read specific partition instead of all partitions", READ),
    Question("delta-io/delta-rs#631", "to_pandas is slow", ("how-to/find-slow-tables", "how-to/read-rows", "frames")),
)
