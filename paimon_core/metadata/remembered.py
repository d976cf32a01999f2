"""remembered: a parser of small metadata files that parses equal bytes once.

The caller still reads the file each time, so a file that was replaced is noticed. Only the parse is saved: a plan reads
the schema of its table twice, and the next plan of the same catalog reads the same snapshot and manifest lists again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

MOST_BYTES = 1 << 20
"""The bytes of the files whose results one parser keeps; the least recently used are removed first.

The value of a file takes about ten times its bytes.
"""
LARGEST = MOST_BYTES // 8
"""A larger file is parsed each time."""

P = ParamSpec("P")
T = TypeVar("T")


class Remembered(Generic[P, T]):
    """A parser with a memory; ``keep`` adds what its caller knows because it has written the bytes."""

    def __init__(self, parse: Callable[Concatenate[bytes, P], T]) -> None:
        self._parse = parse
        self._known: OrderedDict[Any, T] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes = 0
        update_wrapper(self, parse)

    def __call__(self, data: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the value of the bytes, which are parsed unless they are known."""
        if len(data) > LARGEST:
            return self._parse(data, *args, **kwargs)
        key = (data, args, *kwargs.items()) if kwargs else (data, args)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        found = self._parse(data, *args, **kwargs)
        self._add(key, found)
        return found

    def keep(self, value: T, data: bytes, *args: P.args, **kwargs: P.kwargs) -> None:
        """Remember ``value``, which must be what the parser returns for ``data`` and the arguments."""
        if len(data) <= LARGEST:
            self._add((data, args, *kwargs.items()) if kwargs else (data, args), value)

    def _add(self, key: Any, value: T) -> None:
        with self._lock:
            if key not in self._known:
                self._bytes += len(key[0])
            self._known[key] = value
            while self._bytes > MOST_BYTES:
                self._bytes -= len(self._known.popitem(last=False)[0][0])


def remembered(parse: Callable[Concatenate[bytes, P], T]) -> Remembered[P, T]:
    """Return ``parse``, a function of the bytes of a file and of arguments that can be hashed, with a memory.

    The results are shared, so they must be immutable. Errors are not remembered. Thread-safe.
    """
    return Remembered(parse)
