"""The log message about options that a table carries and that this library ignores: once a table and process."""

from __future__ import annotations

import logging

from paimon_core.options import TableOptions

_LOG = logging.getLogger(__name__)
_told: set[tuple[str, tuple[str, ...]]] = set()


def log_ignored_options(name: str, root: str, options: TableOptions) -> None:
    """Log the names of the ignored options of the table at ``root``, once; their values may be secret."""
    if not options.ignored or (root, options.ignored) in _told:
        return
    _told.add((root, options.ignored))
    _LOG.info(
        "table %s carries options that are ignored here, as they are for other engines or unknown to Paimon: %s",
        name,
        ", ".join(options.ignored),
    )
