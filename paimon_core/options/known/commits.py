"""The options for commits, manifests and snapshots."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    DURATION,
    INTEGER,
    LONG,
    SIZE,
    TEXT,
    Option,
    Stops,
    obeyed,
)
from paimon_core.options.parsers import parse_positive_millis, parse_size, whole

OPTIONS: tuple[Option, ...] = (
    obeyed("manifest.target-file-size", SIZE, "8 mb", "size at which a writer starts a new manifest", parse_size),
    obeyed("manifest.merge-min-count", INTEGER, "30", "number of small manifests that are merged into one", whole(2)),
    obeyed(
        "manifest.full-compaction-threshold-size",
        SIZE,
        "16 mb",
        "total size of small manifests and manifests with deletions at which they are all rewritten; by several "
        "commits in turn when more than 600,000 files are in manifests to read",
    ),
    obeyed("manifest.compression", TEXT, "zstd", "codec of manifests", values=("zstd", "snappy", "none", "deflate")),
    obeyed("source.split.target-size", SIZE, "128 mb", "target size of a read split", parse_size, stops=Stops.READS),
    obeyed(
        "source.split.open-file-cost", SIZE, "4 mb", "minimum size that a file counts for in a split", stops=Stops.READS
    ),
    obeyed("snapshot.num-retained.min", INTEGER, "10", "minimum number of snapshots that expiry keeps", whole(1)),
    obeyed(
        "snapshot.num-retained.max", INTEGER, "2147483647", "maximum number of snapshots that expiry keeps", whole(1)
    ),
    obeyed("snapshot.time-retained", DURATION, "1 h", "age at which snapshots may expire"),
    obeyed("snapshot.expire.limit", INTEGER, "50", "maximum number of snapshots one expiry deletes; 0: none", whole(0)),
    obeyed(
        "commit.max-retries",
        INTEGER,
        "10",
        "number of retries, each after another commit used the snapshot id, before a commit fails",
        whole(0),
    ),
    obeyed("commit.timeout", DURATION, "", "time after which a commit stops retrying; default: no limit"),
    obeyed("commit.min-retry-wait", DURATION, "10 ms", "shortest pause between two attempts of a commit"),
    obeyed("commit.max-retry-wait", DURATION, "10 s", "longest pause between two attempts of a commit"),
    obeyed("commit.user-prefix", TEXT, "", "prefix of the random commit user of batch writes", str.strip),
    obeyed(
        "tag.default-time-retained",
        DURATION,
        "",
        "retention of tags that state no retention",
        parse_positive_millis,
    ),
    obeyed(
        "commit.strict-mode.last-safe-snapshot",
        LONG,
        "",
        "a commit fails when another user compacted or overwrote its partitions after this snapshot; -1: no check",
        whole(-1, 2**63 - 1),
    ),
    obeyed("commit.discard-duplicate-files", BOOLEAN, "false", "an append skips files that the table contains"),
    obeyed(
        "snapshot.ignore-empty-commit", BOOLEAN, "", "a commit that changes nothing creates no snapshot", value=True
    ),
    obeyed(
        "commit.force-create-snapshot", BOOLEAN, "false", "commits with an identifier create a snapshot even if empty"
    ),
    obeyed(
        "manifest.format",
        TEXT,
        "avro",
        "format of manifests, which Java up to 2.0 reads by this option",
        values=("avro", "orc", "parquet"),
        immutable=True,
        shared=True,
    ),
    obeyed("manifest.delete-file-drop-stats", BOOLEAN, "false", "manifest entries of deleted files have no statistics"),
    obeyed(
        "row-tracking.partition-group-on-commit",
        BOOLEAN,
        "true",
        "a commit numbers the rows of a partition without gaps",
    ),
)
