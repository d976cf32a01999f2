"""Option names in schema files: older names, and how the options of one table are used (format 18)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from paimon_core.options.registry import OLDER_NAMES


class Use(StrEnum):
    """How this library uses an option of a table."""

    OBEYED = "obeyed"
    """The option has an effect in this library."""
    IGNORED = "ignored"
    """The option is for readers and writers of other engines."""
    FOREIGN = "foreign"
    """The key is not an option of Paimon."""
    IDLE = "idle"
    """The option has no effect, because its value leaves its feature off; any other value would be refused."""
    STOPS_READS = "stops reads"
    """The option is not supported and decides which snapshot is read. The table can be read only when the caller names
    a snapshot."""
    STOPS_WRITES = "stops writes"
    """The option is not supported and writers must obey it: the table can be read but not written."""


def current_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options under their current names; an older name is ignored when the current name is set too."""
    found = {key: text for key, text in options.items() if key not in OLDER_NAMES}
    for older, key in OLDER_NAMES.items():
        if older in options:
            found.setdefault(key, options[older])
    return found
