"""Damaged files: the data files that a scan leaves out as missing or damaged (options scan.ignore-*).

Only scans leave out files, and each file that is left out is logged. Compactions, deletes, updates, streams and reads
of changes raise the error, because a change that left out rows would make the loss permanent. A file counts as missing
only while its snapshot exists. Without the snapshot, an expiry has deleted the file, and the error is raised. An error
of the store does not count as damage.
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
    """The kinds of damage that a scan ignores, and the files that it has left out; several threads may use the
    object.
    """

    lost: bool
    corrupt: bool
    found: dict[str, str] = field(default_factory=dict)
    """For each path of a file that was left out, the error that was the reason."""

    @staticmethod
    def of(options: TableOptions) -> DamagedFiles | None:
        """Return the kinds of damage that the options ignore, or None when they ignore none."""
        lost, corrupt = options["scan.ignore-lost-files"], options["scan.ignore-corrupt-files"]
        return DamagedFiles(lost, corrupt) if lost or corrupt else None

    def leaves_out(self, error: CorruptTable, path: str, rows: int, is_current: Callable[[], bool]) -> bool:
        """Whether the remaining rows of a data file of ``rows`` rows are left out after this error.

        If they are left out, the error is logged and stored in ``found``. ``is_current`` returns whether the snapshot
        of the file exists; if the snapshot does not exist, an expiry has deleted the file, and the file is not left
        out.
        """
        if error.facts.get("path") != path:
            return False
        is_lost = bool(error.facts.get("missing"))
        if not (self.lost if is_lost else self.corrupt) or (is_lost and not is_current()):
            return False
        option = "scan.ignore-lost-files" if is_lost else "scan.ignore-corrupt-files"
        _LOG.warning("a scan lacks rows: %s; the file has up to %d rows (option %s = true)", error, rows, option)
        self.found[path] = str(error)
        return True
