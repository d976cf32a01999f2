"""Scan position: the snapshot that the options ``scan.*`` of a table select for reads (format 15.4)."""

from __future__ import annotations

from typing import Any

from paimon_core.errors import InvalidOption
from paimon_core.options.table_options import TableOptions

_TIMES = ("scan.timestamp", "scan.timestamp-millis")
_SNAPSHOTS = ("scan.snapshot-id", "scan.tag-name", "scan.watermark", "scan.version")
_MODE = "scan.mode"
COMPACTED, LATEST_DELTA = "compacted-full", "latest-delta"
"""Values of ``scan.mode``: reads use the last COMPACT snapshot, or return only rows that the latest snapshot added."""
FILE_TIME, CREATION_TIME = "scan.file-creation-time-millis", "scan.creation-time-millis"
INCREMENTAL = ("incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag")
"""With one of these options, reads return changes."""
PRIMARY_BRANCH = "scan.primary-branch"
OTHER_BRANCHES = ("scan.fallback-branch", PRIMARY_BRANCH)
"""With one of these options, reads also use another branch."""
_OF_MODE = {"from-timestamp": _TIMES, "from-snapshot": _SNAPSHOTS, "from-snapshot-full": ("scan.snapshot-id",)}
_OF_MODE |= {
    "incremental": INCREMENTAL,
    "from-file-creation-time": (FILE_TIME,),
    "from-creation-timestamp": (CREATION_TIME,),
}
POSITIONS = (_MODE, *_TIMES, *_SNAPSHOTS, FILE_TIME, CREATION_TIME, *INCREMENTAL)
"""The options that select the result of reads: a snapshot, some of its files, or changes between two snapshots."""


def selects_changes(option: str, value: Any) -> bool:
    """Whether reads with this option return the rows that some snapshots added, and not the rows of one snapshot."""
    return option in INCREMENTAL or value == LATEST_DELTA


def scan_position(options: TableOptions) -> tuple[str, Any] | None:
    """Return the option that selects the result of reads, and its value; None when reads use the latest snapshot.

    As in Java, raises InvalidOption when several options select a position, or when ``scan.mode`` contradicts the other
    options.
    """
    given = [key for key in POSITIONS[1:] if options[key] is not None]
    if len(given) > 1:
        raise InvalidOption(f"options {given[0]} and {given[1]} exclude each other: set one of them", option=given[1])
    mode = options[_MODE]
    allowed = _OF_MODE.get(mode, ())
    if given and given[0] not in allowed and mode != "default":
        raise InvalidOption(f"option {given[0]} does not apply under {_MODE} = {mode}", option=given[0])
    if allowed and not given:
        raise InvalidOption(f"option {_MODE} = {mode} needs {' or '.join(allowed)}", option=_MODE)
    if mode in (COMPACTED, LATEST_DELTA):
        return _MODE, mode
    return (given[0], options[given[0]]) if given else None
