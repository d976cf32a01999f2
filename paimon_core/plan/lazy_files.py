"""LazyFiles: the files of one split of a large plan.

All ``DataFile`` values are created when the first of them is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from paimon_core.metadata.data_file import DataFile


class LazyFiles(Sequence[DataFile]):
    """A sequence of files that is equal to the tuple of the same files; it is pickled as this tuple."""

    __slots__ = ("_count", "_files", "_load", "row_count", "size_bytes")

    def __init__(self, count: int, row_count: int, size_bytes: int, load: Callable[[], tuple[DataFile, ...]]) -> None:
        self.row_count = row_count
        """The rows of all files."""
        self.size_bytes = size_bytes
        """The bytes of all files."""
        self._count = count
        self._load: Callable[[], tuple[DataFile, ...]] | None = load
        self._files: tuple[DataFile, ...] = ()

    def _tuple(self) -> tuple[DataFile, ...]:
        load = self._load
        if load is not None:
            self._files = load()
            self._load = None  # set after _files, because other threads may run this method at the same time
        return self._files

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> DataFile: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[DataFile, ...]: ...
    def __getitem__(self, at: int | slice) -> DataFile | tuple[DataFile, ...]:
        return self._tuple()[at]

    def __iter__(self) -> Iterator[DataFile]:
        return iter(self._tuple())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyFiles):
            return self._count == other._count and self._tuple() == other._tuple()
        return self._tuple() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple(),)
