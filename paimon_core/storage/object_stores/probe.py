"""Probe: tests whether a store supports conditional writes.

If a store accepts a conditional write but ignores the condition, two concurrent writers can overwrite each other's
commits. So the probe creates a file with a new name twice; the second request must report that the file exists.
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
_NOT_IMPLEMENTED = 501
_proven_places: set[Hashable] = set()
_probe_lock = threading.Lock()


def check_conditional_write_once(
    place: Hashable, create: Callable[[str, bytes], bool], delete: Callable[[list[str]], object], directory: str
) -> None:
    """Call ``check_conditional_write``, unless it has succeeded in this process for the same ``place``."""
    if place in _proven_places:
        return
    with _probe_lock:
        if place not in _proven_places:
            check_conditional_write(create, delete, directory)
            _proven_places.add(place)


def check_conditional_write(
    create: Callable[[str, bytes], bool], delete: Callable[[list[str]], object], directory: str
) -> None:
    """Create a file with a new name twice in ``directory``; ``create`` is the exclusive creation to test.

    The file is deleted afterwards if possible; a writer need not have permission to delete files. Raises
    ConditionalWriteUnsupported when the store ignores or refuses the condition, StorageError when the answers do not
    show whether the store obeys the condition.
    """
    path = f"{directory}/.probe-{uuid.uuid4()}.tmp"
    was_created = False
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
                if error.facts.get("status") == _NOT_IMPLEMENTED:
                    raise _unsupported(path, "refused the conditional write of") from None
                raise
            if not created:
                return
            if was_created:
                raise _unsupported(path, "created a second time")
            was_created = True
    finally:
        with contextlib.suppress(PaimonError):
            delete([path])
    raise StorageError(f"cannot test whether the store creates files exclusively: {unknown}", path=path)


def _unsupported(path: str, did: str) -> ConditionalWriteUnsupported:
    return ConditionalWriteUnsupported(
        f"the store {did} {path}: it does not support conditional writes (If-None-Match), so writers would overwrite "
        "each other's commits. Use a store that supports them, or a catalog with a lock",
        path=path,
    )
