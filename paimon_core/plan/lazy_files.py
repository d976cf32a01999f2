"""LazyFiles: the files of one split of a large plan; FilesAhead creates the files of several splits together.

All ``DataFile`` values of a split are created when the first of them is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from paimon_core.codec.arrays import Positions
from paimon_core.metadata.data_file import DataFile

_MOST_AHEAD = 512


class LazyFiles(Sequence[DataFile]):
    """A sequence of files that is equal to the tuple of the same files; it is pickled as this tuple."""

    __slots__ = ("_ahead", "_count", "_files", "_number", "row_count", "size_bytes")

    def __init__(self, count: int, row_count: int, size_bytes: int, ahead: FilesAhead, number: int) -> None:
        """``ahead`` creates the files, which are those of its split ``number``."""
        self.row_count = row_count
        """The rows of all files."""
        self.size_bytes = size_bytes
        """The bytes of all files."""
        self._count = count
        self._ahead: FilesAhead | None = ahead
        self._number = number
        self._files: tuple[DataFile, ...] = ()

    def _tuple(self) -> tuple[DataFile, ...]:
        ahead = self._ahead
        if ahead is not None:
            self._files = ahead.files(self._number)
            self._ahead = None  # set after _files, because other threads may run this method at the same time
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


class FilesAhead:
    """Creates the files of splits that are read one after the other: the call for one file takes almost as long as the
    call for a hundred. The first call creates one split, each later call twice as many, up to ``_MOST_AHEAD`` files.

    Several threads may use the object. At most about ``_MOST_AHEAD`` files wait for their split.
    """

    def __init__(self, create: Callable[[Positions], tuple[DataFile, ...]], splits: Sequence[Positions]) -> None:
        """``create`` returns the files at some positions; ``splits`` are the positions of the files of each split."""
        self._create = create
        self._splits = splits
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[DataFile, ...]] = {}
        self._next = 1

    def files(self, number: int) -> tuple[DataFile, ...]:
        """Return the files of the split ``number``."""
        with self._lock:
            found = self._waiting.pop(number, None)
            if found is not None:
                return found
            if sum(map(len, self._waiting.values())) >= _MOST_AHEAD:  # the splits are not read in order
                self._waiting.clear()
            parts, count = list[Positions](), 0
            for part in self._splits[number : number + self._next]:
                if parts and count + len(part) > _MOST_AHEAD:
                    break
                parts.append(part)
                count += len(part)
            self._next = min(2 * self._next, _MOST_AHEAD)
            created = self._create(np.concatenate(parts))
            first = len(parts[0])
            at = first
            for ahead, part in enumerate(parts[1:], number + 1):
                self._waiting[ahead] = created[at : at + len(part)]
                at += len(part)
            return created[:first]
