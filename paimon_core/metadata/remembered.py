"""remembered: a parser of small metadata files that parses equal bytes once.

The caller still reads the file each time, so a file that was replaced is noticed. Only the parse is saved: a plan reads
the schema of its table twice, and the next plan of the same catalog reads the same snapshot and manifest lists again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

MOST_BYTES = 1 << 20
"""The bytes of the files whose results one parser keeps; the least recently used are removed first.

The value of a file takes about ten times its bytes.
"""
LARGEST = MOST_BYTES // 8
"""A larger file is parsed each time."""

P = ParamSpec("P")
T = TypeVar("T")


def remembered(parse: Callable[Concatenate[bytes, P], T]) -> Callable[Concatenate[bytes, P], T]:
    """Return ``parse``, a function of the bytes of a file and of arguments that can be hashed, with a memory.

    The results are shared, so they must be immutable. Errors are not remembered. Thread-safe.
    """
    known: OrderedDict[Any, T] = OrderedDict()
    lock = threading.Lock()
    kept = 0

    def parsed(data: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        nonlocal kept
        if len(data) > LARGEST:
            return parse(data, *args, **kwargs)
        key = (data, args, *kwargs.items()) if kwargs else (data, args)
        with lock:
            if key in known:
                known.move_to_end(key)
                return known[key]
        found = parse(data, *args, **kwargs)
        with lock:
            if key not in known:
                kept += len(data)
            known[key] = found
            while kept > MOST_BYTES:
                kept -= len(known.popitem(last=False)[0][0])
        return found

    return wraps(parse)(parsed)  # type: ignore[return-value]  # the first parameter has another name
