"""Damaged files: the data files that a scan leaves out as missing or damaged (options scan.ignore-*).

Only scans leave out files, and each one is logged. Compactions, deletes, updates, streams and changes raise the error:
otherwise the loss would become permanent. A file also counts as missing only while its snapshot exists, and an error of
the store is no damage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable
from paimon_core.options import TableOptions

_LOG = logging.getLogger(__name__)


@dataclass
class DamagedFiles:
    """The kinds of damage that are ignored, and the files that were left out; for several threads."""

    lost: bool
    corrupt: bool
    found: dict[str, str] = field(default_factory=dict)
    """The error by the path of the file."""

    @staticmethod
    def of(options: TableOptions) -> DamagedFiles | None:
        """Return what the options ignore; None for nothing."""
        lost, corrupt = options["scan.ignore-lost-files"], options["scan.ignore-corrupt-files"]
        return DamagedFiles(lost, corrupt) if lost or corrupt else None

    def leaves_out(self, error: CorruptTable, path: str, rows: int, is_current: Callable[[], bool]) -> bool:
        """Whether the rest of a data file of ``rows`` rows is left out after this error; it is logged and kept then.

        ``is_current``: whether the snapshot of the file exists; otherwise an expiry has deleted the file.
        """
        if error.facts.get("path") != path:
            return False
        is_lost = bool(error.facts.get("missing"))
        if not (self.lost if is_lost else self.corrupt) or (is_lost and not is_current()):
            return False
        option = "scan.ignore-lost-files" if is_lost else "scan.ignore-corrupt-files"
        _LOG.warning("a scan lacks rows: %s; it has up to %d rows (option %s = true)", error, rows, option)
        self.found[path] = str(error)
        return True
