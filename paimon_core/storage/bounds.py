"""Bounds: below the root of a table on the local disk no symbolic link is followed, whoever made it.

The root itself, and what leads to it, may be links: a user gave that path. Below it a link to a directory is refused
where a file is read, written, listed or deleted through it, and a link to a file where it is read. A link is never
more than itself to what deletes or moves: its target stays. Every call looks, but those that open data files: they
remember the directories that were looked at until ``forget``, which every operation on a table begins with.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable


@dataclass(frozen=True, slots=True)
class Bounds:
    """The root that the paths of a storage stay in; pickles without what it remembers."""

    root: str
    _plain: set[str] = field(default_factory=set, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[Bounds], tuple[str]]:
        return Bounds, (self.root,)

    def check_entry(self, path: str) -> None:
        """Raises CorruptTable when a directory between the root and ``path`` is a link."""
        self.check_directory(os.path.dirname(path))

    def check_directory(self, directory: str) -> None:
        """Raises CorruptTable when ``directory`` or one between it and the root is a link; what is missing is none.

        Costs one lstat for each.
        """
        if not directory.startswith(self.root + "/"):
            return
        self.check_directory(os.path.dirname(directory))
        try:
            mode = os.lstat(directory).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return
        if stat.S_ISLNK(mode):
            raise link_error(directory)

    def check_file(self, path: str) -> None:
        """Raises CorruptTable when the file is a link, or a directory above it that was not looked at since ``forget``.

        Costs one lstat for the file.
        """
        directory = os.path.dirname(path)
        if directory not in self._plain:
            self.check_directory(directory)
            self._plain.add(directory)
        if path != self.root and os.path.islink(path):
            raise link_error(path)

    def forget(self) -> None:
        """Look at every directory again from now on."""
        self._plain.clear()


def link_error(path: str) -> CorruptTable:
    """The error that names the link."""
    return CorruptTable(f"{path} is a symbolic link: below the directory of a table none is followed", path=path)
