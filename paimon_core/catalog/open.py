"""open_catalog: the front door, from a warehouse URL to its catalog."""

from __future__ import annotations

import os
from collections.abc import Mapping

from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.errors import InvalidRequest
from paimon_core.storage.fsspec_storage import open_storage


def open_catalog(warehouse: str | os.PathLike[str], *, storage: Mapping[str, str] | None = None) -> FilesystemCatalog:
    """The catalog of a warehouse: a local path, ``file://`` or ``memory://``; the directory may still be missing.

    Raises UnsupportedFeature naming the scheme of a store that is not built.
    """
    if not isinstance(warehouse, str | os.PathLike) or not os.fspath(warehouse):
        raise InvalidRequest(f"warehouse must be a path or URL, not {warehouse!r:.60}")
    store, root = open_storage(os.fspath(warehouse), storage)
    return FilesystemCatalog(store, root)
