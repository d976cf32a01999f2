"""create_once: the exclusive creation of a small file, decided also where the store's answer is lost or misleading."""

from __future__ import annotations

import time

from paimon_core.errors import CommitStateUnknown, PaimonError, StorageError
from paimon_core.storage.storage import Storage

TRIES = 5
FIRST_PAUSE_SECONDS = 0.01


def create_once(storage: Storage, path: str, data: bytes) -> bool:
    """True: ``path`` stands with just these bytes. False: it has others.

    A client that repeats its request by itself is told "exists" about its own file; so every answer but "created" is
    looked up, and while nothing is there the same bytes are offered again. Raises StorageError (nothing was created by
    us), CommitStateUnknown when it stays undecided, also because it cannot be looked up.
    """
    unknown: PaimonError | None = None
    for attempt in range(TRIES):
        if attempt:
            time.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
        try:
            if storage.create_exclusive(path, data):
                return True
        except CommitStateUnknown as error:
            unknown = error
        try:
            return storage.read(path) == data
        except FileNotFoundError:
            if unknown is None:
                return False  # it was another's, and is gone again
        except StorageError as error:
            unknown = error
    raise CommitStateUnknown(f"it is not known whether {path} was created: {unknown}", path=path) from unknown
