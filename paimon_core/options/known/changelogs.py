"""The options for changelogs."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, ENUM, TEXT, Option, obeyed
from paimon_core.options.parsers import parse_names

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "changelog-producer",
        ENUM,
        "none",
        "source of the changelog files: the input rows, a lookup in compactions, or full compactions",
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
)
