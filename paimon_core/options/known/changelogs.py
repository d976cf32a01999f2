"""Changelogs."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, DURATION, ENUM, INTEGER, SIZE, TEXT, Option, carried, obeyed
from paimon_core.options.parsers import parse_names

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "changelog-producer",
        ENUM,
        "none",
        "what writes changelog files: the input rows, a lookup in compactions, or full compactions",
        values=("none", "input", "full-compaction", "lookup"),
    ),
    obeyed("changelog-producer.row-deduplicate", BOOLEAN, "false", "write no changelog for rows that did not change"),
    obeyed(
        "changelog-producer.row-deduplicate-ignore-fields",
        TEXT,
        "",
        "columns that changelog-producer.row-deduplicate does not compare",
        parse_names,
        is_columns=True,
    ),
    carried(
        "changelog-producer.compaction-interval",
        DURATION,
        "0 s",
        "older option: time between full compactions for the changelog",
    ),
    carried(
        "precommit-compact",
        BOOLEAN,
        "false",
        "Flink compacts small changelog files before the commit",
        older=("changelog.precommit-compact",),
    ),
    carried("changelog.precommit-compact.thread-num", INTEGER, "", "number of threads of precommit-compact"),
    carried("changelog.precommit-compact.buffer-size", SIZE, "128 mb", "buffer of precommit-compact"),
)
