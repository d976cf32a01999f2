"""The options for tags."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, DURATION, ENUM, INTEGER, TEXT, Option, obeyed
from paimon_core.options.parsers import parse_file_name, parse_positive_millis, parse_zone, whole

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "tag.automatic-creation",
        ENUM,
        "none",
        "create a tag when a period has ended, by commit time or by watermark, or after each batch write",
        values=("none", "process-time", "watermark", "batch"),
    ),
    obeyed("tag.creation-period", ENUM, "daily", "period of automatic tags", values=("daily", "hourly", "two-hours")),
    obeyed(
        "tag.creation-period-duration",
        DURATION,
        "",
        "length of the period of automatic tags; replaces tag.creation-period",
        parse_positive_millis,
    ),
    obeyed("tag.creation-delay", DURATION, "0 ms", "time after a period's end before its tag is created"),
    obeyed(
        "tag.period-formatter",
        ENUM,
        "with_dashes",
        "format of the names of automatic tags",
        values=("with_dashes", "without_dashes", "without_dashes_and_spaces"),
    ),
    obeyed("tag.automatic-completion", BOOLEAN, "false", "create the tags of missed periods, one after the other"),
    obeyed("tag.num-retained-max", INTEGER, "", "maximum number of automatic tags that are kept", whole(1)),
    obeyed("tag.batch.customized-name", TEXT, "", "name of batch tags; default: batch-write-<date>", parse_file_name),
    obeyed("tag.time-expire-enabled", BOOLEAN, "true", "commits delete the tags whose retention has ended"),
    obeyed("tag.create-success-file", BOOLEAN, "false", "write a success file for each tag"),
    obeyed("sink.process-time-zone", TEXT, "", "time zone of commit times in tag names; default: local", parse_zone),
    obeyed("sink.watermark-time-zone", TEXT, "UTC", "time zone of watermarks in tag names", parse_zone),
)
