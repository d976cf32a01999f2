"""Reads of index files: convert errors of a missing or unreadable file to errors of this library."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from paimon_core.errors import CorruptTable, StorageError


@contextlib.contextmanager
def index_read_errors(path: str) -> Iterator[None]:
    """Convert the errors of a block: CorruptTable if the index file ``path`` is missing, else StorageError."""
    try:
        yield
    except FileNotFoundError as error:
        raise CorruptTable(f"index file {path} is missing", path=path, missing=True) from error
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error}", path=path) from error
