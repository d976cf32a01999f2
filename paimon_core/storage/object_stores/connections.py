"""Connections of this process to object stores: one connection for each bucket and set of options.

The clients are optional dependencies and are imported on first use. Processes do not share connections: a forked
process opens its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import cast

from paimon_core.errors import PaimonError, StorageError, UnsupportedFeature
from paimon_core.storage.object_stores.object_store import ObjectStore
from paimon_core.storage.secret import Secret, scrubbed

STORES: Mapping[str, tuple[str, str]] = {"s3": ("s3fs", "s3"), "gcs": ("gcsfs", "gcs"), "azure": ("adlfs", "azure")}
"""For each kind of store: the client's package, and the extra of this library that installs it."""
KEPT = 32
"""Maximum number of open connections; a new connection replaces the least recently used one."""


def connection(kind: str, bucket: str, options: tuple[tuple[str, str | Secret], ...]) -> ObjectStore:
    """Return the connection to a bucket.

    Raises UnsupportedFeature when the client's package is not installed, StorageError when connecting fails.
    """
    return _connection(os.getpid(), kind, bucket, options)


@lru_cache(maxsize=KEPT)
def _connection(process: int, kind: str, bucket: str, options: tuple[tuple[str, str | Secret], ...]) -> ObjectStore:
    plain = {name: value.reveal() if isinstance(value, Secret) else value for name, value in options}
    try:
        return cast(ObjectStore, _adapter(kind).open_store(bucket, plain))
    except PaimonError:
        raise
    except Exception as error:
        reason = scrubbed(f"{type(error).__name__}: {error}", [v for _, v in options if isinstance(v, Secret)])
    raise StorageError(f"cannot connect to bucket {bucket}: {reason}")


def check_installed(kind: str) -> None:
    """Raise UnsupportedFeature, which names the extra to install, when the client of a store is not installed."""
    _adapter(kind)


def _adapter(kind: str) -> ModuleType:
    package, extra = STORES[kind]
    try:
        match kind:
            case "s3":
                import paimon_core.storage.object_stores.s3

                return paimon_core.storage.object_stores.s3
            case "gcs":
                import paimon_core.storage.object_stores.gcs

                return paimon_core.storage.object_stores.gcs
            case _:
                import paimon_core.storage.object_stores.azure

                return paimon_core.storage.object_stores.azure
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            f"this store needs the package {package}: pip install 'paimon-core[{extra}]'", package=error.name
        ) from error
