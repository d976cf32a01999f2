"""The probe: does this store create a file only when there is none?

A store that takes the condition and does not heed it looks just like one that does, until two writers meet and one of
them loses its commit. So one name that nobody else has is created twice, and the second time must be told so.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Hashable

from paimon_core.errors import CommitStateUnknown, ConditionalWriteUnsupported, PaimonError, StorageError

TRIES = 6
_FIRST_PAUSE_SECONDS = 0.05
_NOT_BUILT = 501
_proven: set[Hashable] = set()
_proving = threading.Lock()


def prove_once(
    place: Hashable, create: Callable[[str, bytes], bool], delete: Callable[[list[str]], object], directory: str
) -> None:
    """``prove``, unless this process has proven it for the same place."""
    if place in _proven:
        return
    with _proving:
        if place not in _proven:
            prove(create, delete, directory)
            _proven.add(place)


def prove(create: Callable[[str, bytes], bool], delete: Callable[[list[str]], object], directory: str) -> None:
    """Create one name twice in ``directory``; ``create`` is the exclusive creation in question.

    A probe that cannot be deleted stays: a writer needs no right to delete. Raises ConditionalWriteUnsupported, and
    StorageError when the store gave no answer that decides it.
    """
    path = f"{directory}/.probe-{uuid.uuid4()}.tmp"
    is_there = False
    unknown: PaimonError | None = None
    try:
        for attempt in range(TRIES):
            try:
                created = create(path, b"probe")
            except CommitStateUnknown as error:
                unknown = error
                time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
                continue
            except StorageError as error:
                if error.facts.get("status") == _NOT_BUILT:
                    raise _unsupported(path) from None
                raise
            if not created:
                return
            if is_there:
                raise _unsupported(path)
            is_there = True
    finally:
        with contextlib.suppress(PaimonError):
            delete([path])
    raise StorageError(f"cannot test whether the store creates files exclusively: {unknown}", path=path)


def _unsupported(path: str) -> ConditionalWriteUnsupported:
    return ConditionalWriteUnsupported(
        f"the store created {path} although it was there: it does not heed the condition of a conditional write "
        "(If-None-Match), and writers would overwrite each other's commits. Use a store that does, or a catalog with a "
        "lock",
        path=path,
    )
