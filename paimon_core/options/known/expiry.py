"""The options for the expiry of changelogs, partitions and consumers, and for marks of finished partitions."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, DURATION, ENUM, INTEGER, TEXT, Option, Stops, obeyed
from paimon_core.options.parsers import parse_positive_millis, whole

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "snapshot.expire.execution-mode",
        ENUM,
        "sync",
        "sync: a commit waits for the expiry that follows it",
        values=("sync", "async"),
        supported=("sync",),
        stops=Stops.NOTHING,
    ),
    obeyed(
        "snapshot.clean-empty-directories",
        BOOLEAN,
        "false",
        "expiry deletes the directories that it has emptied",
        older=("snapshot.expire.clean-empty-directories",),
    ),
    obeyed(
        "changelog.num-retained.min",
        INTEGER,
        "",
        "minimum number of changelogs to keep; default: the number for snapshots",
        whole(1),
    ),
    obeyed(
        "changelog.num-retained.max",
        INTEGER,
        "",
        "maximum number of changelogs to keep; default: the number for snapshots",
        whole(1),
    ),
    obeyed(
        "changelog.time-retained", DURATION, "", "age at which changelogs may expire; default: the age for snapshots"
    ),
    obeyed(
        "consumer.expiration-time",
        DURATION,
        "",
        "time without an update until a consumer expires",
        parse_positive_millis,
    ),
    obeyed("consumer.changelog-only", BOOLEAN, "false", "consumers do not protect snapshots whose changelogs are kept"),
    obeyed("partition.expiration-time", DURATION, "", "age at which a partition expires", parse_positive_millis),
    obeyed(
        "partition.expiration-strategy",
        TEXT,
        "values-time",
        "source of the age of a partition: its values, or the creation time of its newest file",
        values=("values-time", "update-time"),
    ),
    obeyed(
        "partition.expiration-check-interval",
        DURATION,
        "1 h",
        "0: check for expired partitions after every write; otherwise they expire only on request",
    ),
    obeyed(
        "partition.expiration-max-num",
        INTEGER,
        "100",
        "maximum number of partitions one expiry drops; 0: none",
        whole(0),
    ),
    obeyed(
        "partition.expiration-batch-size",
        INTEGER,
        "",
        "maximum number of partitions in one commit of an expiry",
        whole(1),
    ),
    obeyed(
        "partition.timestamp-pattern",
        TEXT,
        "",
        "text such as '$dt $hour:00:00' that gives a partition's time; default: the first partition column",
    ),
    obeyed("partition.timestamp-formatter", TEXT, "", "format of a partition's time (Java's DateTimeFormatter)"),
    obeyed("end-input.check-partition-expire", BOOLEAN, "false", "check for expired partitions after every write"),
    obeyed(
        "partition.mark-done-action",
        TEXT,
        "success-file",
        "how a partition is marked as done; success-file: a file _SUCCESS in its directory",
        values=("success-file",),
        stops=Stops.NOTHING,
    ),
)
