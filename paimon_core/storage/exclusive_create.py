"""create_once: creates a small file exclusively, and determines the result if the store's answer is lost or wrong."""

from __future__ import annotations

import time

from paimon_core.errors import CommitStateUnknown, PaimonError, StorageError
from paimon_core.storage.storage import Storage

TRIES = 5
FIRST_PAUSE_SECONDS = 0.01


def create_once(storage: Storage, path: str, data: bytes) -> bool:
    """Create a file; return True when it contains exactly ``data``, False when another writer created it.

    When a store's client repeats a request, the answer can be "exists" although the first request created the file. So
    after every answer except "created", the file is read and compared with ``data``. When an answer was lost and the
    file does not exist, the creation is retried. Raises StorageError when the store refuses the creation,
    CommitStateUnknown when it is not known whether the file was created, for example because the file cannot be read.
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
                return False  # another writer created the file, and the file has been deleted since
        except StorageError as error:
            unknown = error
    raise CommitStateUnknown(f"it is not known whether {path} was created: {unknown}", path=path) from unknown
