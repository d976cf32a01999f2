"""The file system ``memory://`` of fsspec with an index: fsspec goes through all files for each listing."""

from __future__ import annotations

from typing import Any

from fsspec.implementations.memory import MemoryFileSystem


class Index:
    """The names in each directory, of files and of directories that were made."""

    def __init__(self) -> None:
        self.children: dict[str, dict[str, None]] = {}
        self.entries: set[str] = set()

    def add(self, path: str) -> None:
        """Add a path, and the directories above it."""
        self.entries.add(path)
        while path:
            parent = path.rpartition("/")[0]
            siblings = self.children.setdefault(parent, {})
            if path in siblings:
                return
            siblings[path] = None
            path = parent

    def discard(self, path: str) -> None:
        """Remove a path, and the directories above it that exist only because of it."""
        self.entries.discard(path)
        while path and path not in self.entries and not self.children.get(path):
            parent = path.rpartition("/")[0]
            self.children.pop(path, None)
            self.children.get(parent, {}).pop(path, None)
            path = parent

    def has(self, path: str) -> bool:
        """Whether a file or a directory has the path; ``""`` is the root, which always exists."""
        return not path or path in self.entries or bool(self.children.get(path))

    def clear(self) -> None:
        """Remove all paths."""
        self.children.clear()
        self.entries.clear()


INDEX = Index()
LIBRARY = MemoryFileSystem.info, MemoryFileSystem.ls
"""The functions that are replaced."""


class Files(dict[str, Any]):
    """The files by path; every change is told to the index."""

    def __setitem__(self, path: str, file: Any) -> None:
        super().__setitem__(path, file)
        INDEX.add(path)

    def __delitem__(self, path: str) -> None:
        super().__delitem__(path)
        INDEX.discard(path)

    def pop(self, path: str, *default: Any) -> Any:
        """Remove a file."""
        file = super().pop(path, *default)
        INDEX.discard(path)
        return file

    def clear(self) -> None:
        """Remove all files."""
        super().clear()
        INDEX.clear()


class Directories(list[str]):
    """The directories that were made; every change is told to the index, which also answers ``in``."""

    def append(self, path: str) -> None:
        """Add a directory."""
        super().append(path)
        INDEX.add(path)

    def remove(self, path: str) -> None:
        """Remove a directory."""
        super().remove(path)
        INDEX.discard(path)

    def __contains__(self, path: object) -> bool:
        return not path or (path in INDEX.entries and path not in MemoryFileSystem.store)


def _entry(fs: MemoryFileSystem, path: str) -> dict[str, Any]:
    file = fs.store.get(path)
    if file is None:
        return {"name": path, "size": 0, "type": "directory"}
    return {"name": path, "size": file.size, "type": "file", "created": file.created}


def info(fs: MemoryFileSystem, path: str, **_: Any) -> dict[str, Any]:
    """Return what is known of a file or a directory; raises FileNotFoundError."""
    path = fs._strip_protocol(path)
    if INDEX.has(path):
        return _entry(fs, path)
    raise FileNotFoundError(path)


def ls(fs: MemoryFileSystem, path: str, detail: bool = True, **_: Any) -> list[Any]:
    """Return the entries of a directory, or the one file; raises FileNotFoundError."""
    path = fs._strip_protocol(path)
    if not INDEX.has(path):
        raise FileNotFoundError(path)
    names = [path] if path in fs.store else list(INDEX.children.get(path, ()))
    if not detail:
        return sorted(names)
    found = [_entry(fs, name) for name in names]
    return [{**one, "created": one["created"].timestamp()} if "created" in one else one for one in found]


def use() -> None:
    """Index the memory of this process; call it before the first file."""
    MemoryFileSystem.store = Files()
    MemoryFileSystem.pseudo_dirs = Directories([""])
    MemoryFileSystem.info = info
    MemoryFileSystem.ls = ls


def clear() -> None:
    """Remove all files and directories."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
