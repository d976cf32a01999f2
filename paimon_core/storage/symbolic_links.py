"""Bounds: refuses symbolic links below a table's root directory, and below other roots, on the local disk.

The root itself and its parents may be links, because a user chose this path. Below the root, no file is read, written,
listed or deleted through a link to a directory, and no link to a file is read. Deleting or moving a link acts on the
link and never on its target. Every call checks the directories again, except calls that open data files: for these
calls, checked directories are remembered until ``forget``, which every operation on a table calls first.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable, StorageError


@dataclass(frozen=True, slots=True)
class Bounds:
    """The root directories, and the directories below them that were checked for links; a pickle has only the roots."""

    root: str
    others: tuple[str, ...] = ()
    """Directories of external data files outside of the root; links below these directories are not followed either."""
    _plain: set[str] = field(default_factory=set, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[Bounds], tuple[str, tuple[str, ...]]]:
        return Bounds, (self.root, self.others)

    def check_entry(self, path: str) -> None:
        """Raise CorruptTable when a directory between the root and ``path`` is a link."""
        self.check_directory(os.path.dirname(path))

    def check_directory(self, directory: str) -> None:
        """Raise CorruptTable when ``directory``, or a directory between the root and it, is a link.

        A missing directory is no error.

        Costs one lstat for each directory.
        """
        below = [len(root) + 1 for root in (self.root, *self.others) if directory.startswith(root + "/")]
        end = min(below, default=len(directory))
        while end < len(directory):
            end = directory.find("/", end) + 1 or len(directory) + 1
            place = directory[: end - 1]
            try:
                mode = os.lstat(place).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return
            except OSError as error:  # for example a name that is too long, or a directory that must not be read
                raise StorageError(f"cannot check {place}: {error!r}", path=place) from error
            if stat.S_ISLNK(mode):
                raise link_error(place)

    def check_file(self, path: str) -> None:
        """Raise CorruptTable when the file, or a directory between the root and the file, is a link.

        Directories that were checked after the last ``forget`` are not checked again. Costs one lstat for the file.
        """
        directory = os.path.dirname(path)
        if directory not in self._plain:
            self.check_directory(directory)
            self._plain.add(directory)
        if path != self.root and os.path.islink(path):
            raise link_error(path)

    def forget(self) -> None:
        """Check every directory again from now on."""
        self._plain.clear()


def link_error(path: str) -> CorruptTable:
    """Return the error for a symbolic link at ``path``."""
    return CorruptTable(f"{path} is a symbolic link: links below the directory of a table are not followed", path=path)
