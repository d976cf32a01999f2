"""The options for merge engines and for the order of the rows of one key."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    DURATION,
    ENUM,
    TEXT,
    Option,
    Stops,
    obeyed,
)
from paimon_core.options.parsers import parse_names, parse_positive_millis

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "merge-engine",
        ENUM,
        "deduplicate",
        "how the rows of one key are merged into one row",
        values=("deduplicate", "partial-update", "aggregation", "first-row"),
        stops=Stops.READS,
        immutable=True,
    ),
    obeyed(
        "ignore-delete",
        BOOLEAN,
        "false",
        "drop rows of kind -U and -D in writes and merges",
        stops=Stops.READS,
        older=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
        only_to_true=True,
    ),
    obeyed(
        "ignore-update-before", BOOLEAN, "false", "drop rows of kind -U in writes", stops=Stops.READS, only_to_true=True
    ),
    obeyed(
        "partial-update.remove-record-on-delete",
        BOOLEAN,
        "false",
        "a -D row deletes the record of its key",
        stops=Stops.READS,
        immutable=True,
    ),
    obeyed(
        "partial-update.remove-record-on-sequence-group",
        TEXT,
        "",
        "ordering columns of the sequence groups in which a row of kind -D deletes the record of its key",
        parse_names,
        stops=Stops.READS,
        immutable=True,
    ),
    obeyed(
        "aggregation.remove-record-on-delete",
        BOOLEAN,
        "false",
        "a -D row deletes the record of its key",
        stops=Stops.READS,
        immutable=True,
    ),
    obeyed(
        "sequence.field",
        TEXT,
        "",
        "columns that order the rows of one key; rows with equal values are in order of arrival",
        parse_names,
        stops=Stops.READS,
        shared=True,
        is_columns=True,
    ),
    obeyed(
        "sequence.field.sort-order",
        ENUM,
        "ascending",
        "direction of sequence.field",
        values=("ascending", "descending"),
        stops=Stops.READS,
        shared=True,
    ),
    obeyed(
        "rowkind.field", TEXT, "", "column that contains the row kind", str.strip, stops=Stops.READS, immutable=True
    ),
    obeyed("record-level.expire-time", DURATION, "", "age at which compaction drops a row", parse_positive_millis),
    obeyed(
        "record-level.time-field",
        TEXT,
        "",
        "column with the time from which a row's age is counted",
        str.strip,
        is_columns=True,
    ),
)
