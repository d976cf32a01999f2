"""The log message about the ignored options of a table, logged once per table in each process."""

from __future__ import annotations

import logging

from paimon_core.options import TableOptions

_LOG = logging.getLogger(__name__)
_logged: set[tuple[str, tuple[str, ...]]] = set()


def log_ignored_options(name: str, root: str, options: TableOptions) -> None:
    """Log once the names of the ignored options of the table at ``root``, without the values, which may be secret."""
    if not options.ignored or (root, options.ignored) in _logged:
        return
    _logged.add((root, options.ignored))
    _LOG.info(
        "table %s has options that are ignored here, because they are for other engines or unknown to Paimon: %s",
        name,
        ", ".join(options.ignored),
    )
