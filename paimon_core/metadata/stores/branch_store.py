"""BranchStore: the branches of a table, each a directory with its own snapshots, schemas and tags (format 15.2).

A directory cannot be created or deleted in one atomic step. This library therefore first writes a mark, the file
``UNFINISHED``, and deletes the mark last. While the mark states that a branch is being created, copied or deleted, the
branch does not exist for readers and writers. Other engines do not know the mark; when another engine has created a
branch only in part, the branch has no schema.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paimon_core.errors import BranchNotFound, CorruptTable, nearest_names
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import FileInfo, Storage

DOING = "doing"
RENAME = "rename"
"""The value of ``DOING`` for a rename, the only operation during which a branch exists for readers and writers."""
_PREFIX = "branch-"


@dataclass(frozen=True, slots=True)
class BranchStore:
    """The branches of one table, without main."""

    storage: Storage
    paths: TablePaths

    def names(self) -> list[str]:
        """Return the sorted names of all branches, including branches that are only created or deleted in part."""
        found = self.storage.list(self.paths.branch_directory)
        return sorted(e.name.removeprefix(_PREFIX) for e in found if e.is_directory and e.name.startswith(_PREFIX))

    def times(self) -> dict[str, int]:
        """Return for each branch the time at which its directory was last changed, in epoch milliseconds.

        On a store without times of directories, the time of the branch's oldest schema file is used, or 0 without a
        schema file.
        """
        out = {}
        for e in self.storage.list(self.paths.branch_directory):
            if e.is_directory and e.name.startswith(_PREFIX):
                schemas = [] if e.modified_millis else self.storage.list(f"{e.path}/schema")
                times = [f.modified_millis for f in schemas if not f.is_directory]
                out[e.name.removeprefix(_PREFIX)] = e.modified_millis or min(times, default=0)
        return out

    def links(self) -> frozenset[str]:
        """Return the branches whose directory is a symbolic link.

        Such a branch can only be deleted, which removes the link.
        """
        found = self.storage.list(self.paths.branch_directory)
        return frozenset(e.name.removeprefix(_PREFIX) for e in found if e.is_link and e.name.startswith(_PREFIX))

    def not_found(self, name: str) -> BranchNotFound:
        """Return the error for a branch that does not exist."""
        known = nearest_names(name, self.names()) or "none but main"
        return BranchNotFound(f"no branch {name!r:.80} in {self.paths.root} (branches: {known})", branch=name)

    def mark(self, name: str) -> Mapping[str, str] | None:
        """Return the mark of an operation on a branch that is in progress or was interrupted; None without a mark.

        Raises CorruptTable for a mark that cannot be read.
        """
        path = self.paths.branch_mark(name)
        try:
            value = json.loads(self.storage.read(path))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise CorruptTable(f"{path} does not state the operation on the branch: {error}", path=path) from error
        if not isinstance(value, dict) or DOING not in value:
            raise CorruptTable(f"{path} does not state the operation on the branch: {value!r:.80}", path=path)
        return value

    def is_hidden(self, name: str) -> bool:
        """Whether a branch is being created, copied or deleted: then it does not exist for readers and writers."""
        mark = self.mark(name)
        return mark is not None and mark[DOING] != RENAME

    def is_there(self, name: str) -> bool:
        """Whether a branch exists and is not being created, copied or deleted."""
        return name in self.names() and not self.is_hidden(name)

    def add_mark(self, name: str, mark: Mapping[str, str]) -> bool:
        """Create the mark of an operation; return False when there is a mark already."""
        return self.storage.create_exclusive(self.paths.branch_mark(name), json.dumps(mark).encode())

    def put_mark(self, name: str, mark: Mapping[str, str]) -> None:
        """Write the mark of an operation, replacing an existing mark."""
        self.storage.overwrite(self.paths.branch_mark(name), json.dumps(mark).encode())

    def remove_mark(self, name: str) -> None:
        """Delete the mark when the operation is complete."""
        self.storage.delete([self.paths.branch_mark(name)])

    def files(self, name: str) -> Iterator[tuple[str, FileInfo]]:
        """Yield the files of a branch without the mark, each with its path relative to the branch directory."""
        home = self.paths.branch_home(name)
        with contextlib.suppress(FileNotFoundError):
            for entry in self.storage.walk(home):
                if entry.path != self.paths.branch_mark(name):
                    yield entry.path.rsplit(f"/{_PREFIX}{name}/", 1)[-1], entry

    def remove(self, name: str) -> None:
        """Delete the files of a branch, the mark last; the data files of the table are not deleted."""
        self.storage.delete([entry.path for _, entry in self.files(name)])
        self.storage.delete_directory(self.paths.branch_home(name))
