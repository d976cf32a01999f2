"""The options for other features, such as ids of rows."""

from __future__ import annotations

from paimon_core.options.option import (
    BOOLEAN,
    Option,
    obeyed,
)

OPTIONS: tuple[Option, ...] = (
    obeyed("row-tracking.enabled", BOOLEAN, "false", "rows of an append table have ids", immutable=True, shared=True),
    obeyed(
        "data-evolution.enabled",
        BOOLEAN,
        "false",
        "the columns of one row may be in several files, joined by row id; tables with `true` are read, not written",
        immutable=True,
        shared=True,
    ),
)
