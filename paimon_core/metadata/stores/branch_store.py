"""BranchStore: the branches of a table, each a directory with its own snapshots, schemas and tags (format 15.2).

No directory appears or goes at one stroke. So a file of ours, ``UNFINISHED``, is written first and removed last: while
it says that a branch is being made, copied or deleted, the branch is not there for readers and writers. Other engines
do not know the file; a branch that one of them has half made has no schema.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paimon_core.errors import BranchNotFound, CorruptTable
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import FileInfo, Storage

DOING = "doing"
RENAME = "rename"
"""What is being done to a branch that stands for all that."""
_PREFIX = "branch-"


@dataclass(frozen=True, slots=True)
class BranchStore:
    """The branches of one table, main left out."""

    storage: Storage
    paths: TablePaths

    def names(self) -> list[str]:
        """All branches, by name, by listing; one that is half made or half deleted counts."""
        found = self.storage.list(self.paths.branch_directory)
        return sorted(e.name.removeprefix(_PREFIX) for e in found if e.is_directory and e.name.startswith(_PREFIX))

    def links(self) -> frozenset[str]:
        """The branches whose directory is a symbolic link: they can only be deleted, which removes the link."""
        found = self.storage.list(self.paths.branch_directory)
        return frozenset(e.name.removeprefix(_PREFIX) for e in found if e.is_link and e.name.startswith(_PREFIX))

    def not_found(self, name: str) -> BranchNotFound:
        """The error for a branch that is not there."""
        known = ", ".join(self.names()) or "none but main"
        return BranchNotFound(f"no branch {name!r:.80} in {self.paths.root} (branches: {known:.200})", branch=name)

    def mark(self, name: str) -> Mapping[str, str] | None:
        """What is being done to a branch, or was when somebody died over it; None for nothing."""
        path = self.paths.branch_mark(name)
        try:
            value = json.loads(self.storage.read(path))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise CorruptTable(f"{path} does not say what is being done to the branch: {error}", path=path) from error
        if not isinstance(value, dict) or DOING not in value:
            raise CorruptTable(f"{path} does not say what is being done to the branch: {value!r:.80}", path=path)
        return value

    def is_hidden(self, name: str) -> bool:
        """Whether a branch is being made or deleted, and so is not there."""
        mark = self.mark(name)
        return mark is not None and mark[DOING] != RENAME

    def is_there(self, name: str) -> bool:
        """Whether a branch is whole, neither absent nor being made or deleted."""
        return name in self.names() and not self.is_hidden(name)

    def add_mark(self, name: str, mark: Mapping[str, str]) -> bool:
        """Say what is being done, unless something is being done already: False then."""
        return self.storage.create_exclusive(self.paths.branch_mark(name), json.dumps(mark).encode())

    def put_mark(self, name: str, mark: Mapping[str, str]) -> None:
        """Say what is being done."""
        self.storage.overwrite(self.paths.branch_mark(name), json.dumps(mark).encode())

    def remove_mark(self, name: str) -> None:
        """It is done."""
        self.storage.delete([self.paths.branch_mark(name)])

    def files(self, name: str) -> Iterator[tuple[str, FileInfo]]:
        """The files of a branch but for the mark, by path below its directory."""
        home = self.paths.branch_home(name)
        with contextlib.suppress(FileNotFoundError):
            for entry in self.storage.walk(home):
                if entry.path != self.paths.branch_mark(name):
                    yield entry.path.rsplit(f"/{_PREFIX}{name}/", 1)[-1], entry

    def remove(self, name: str) -> None:
        """Delete the files of a branch, the mark last; data files are none of them."""
        self.storage.delete([entry.path for _, entry in self.files(name)])
        self.storage.delete_directory(self.paths.branch_home(name))
