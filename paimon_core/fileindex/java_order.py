"""Java order: the order in which Java's HashMap returns its keys. The bytes of an index depend on this order.

Keys are ordered by the lower bits of their mixed hash. Among keys with equal bits, ``put`` inserts the new key last and
``computeIfAbsent`` inserts it first. In Java, a bucket of nine keys or more becomes a tree. The order of such a tree is
not modelled: the bytes may then differ from Java's bytes, but readers do not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

_INITIAL = 16


def order_computed(hashes: npt.NDArray[np.int32], inserted: npt.NDArray[np.int64], calls: int) -> npt.NDArray[np.int64]:
    """Return the positions of distinct keys in the order of a HashMap that is filled by ``computeIfAbsent``.

    ``inserted`` has for each key the number of the call that inserted it; ``calls`` is the number of calls. A call
    resizes the map before it inserts a key.
    """
    count = len(hashes) - int(len(hashes) > 0 and inserted.max() == calls - 1)
    return np.lexsort((-inserted, _slots(hashes, count)))


def _slots(hashes: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.uint32]:
    """Return the bucket of each key in a map that was resized for ``count`` keys."""
    capacity = _INITIAL
    while count > capacity * 3 // 4:
        capacity *= 2
    mixed = hashes.view(np.uint32)
    out: npt.NDArray[np.uint32] = (mixed ^ (mixed >> np.uint32(16))) & np.uint32(capacity - 1)
    return out


def text_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` as an unsigned int."""
    out = 0
    for unit in np.frombuffer(text.encode("utf-16-le"), "<u2").tolist():
        out = (31 * out + unit) & 0xFFFFFFFF
    return out


def put_order(texts: Iterable[str]) -> list[str]:
    """Return distinct texts in the order of a HashMap into which they were ``put``."""
    keys = list(dict.fromkeys(texts))
    slots = _slots(_signed([text_hash(k) for k in keys]), len(keys))
    return [keys[at] for at in np.lexsort((np.arange(len(keys)), slots)).tolist()]


def computed_order(calls: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return the distinct keys of ``calls`` in the order of a HashMap; each call is a ``computeIfAbsent`` of a key."""
    made = list(calls)
    inserted: dict[T, int] = {}
    for number, key in enumerate(made):
        inserted.setdefault(key, number)
    keys = list(inserted)
    hashes = _signed([hash_of(k) for k in keys])
    order = order_computed(hashes, np.array([inserted[k] for k in keys], np.int64), len(made))
    return [keys[at] for at in order.tolist()]


def _signed(hashes: list[int]) -> npt.NDArray[np.int32]:
    return np.array(hashes, np.uint32).view(np.int32)
