"""The connections of this process to object stores: one for each bucket and set of credentials, never shared.

The clients are optional dependencies, imported on first use. After a fork each process makes its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import cast

from paimon_core.errors import PaimonError, StorageError, UnsupportedFeature
from paimon_core.storage.object_store import ObjectStore
from paimon_core.storage.secret import Secret, scrubbed

STORES: Mapping[str, tuple[str, str]] = {"s3": ("s3fs", "s3"), "gcs": ("gcsfs", "gcs"), "azure": ("adlfs", "azure")}
"""Per kind of store: the client's package and the extra of this library that installs it."""
KEPT = 32
"""Connections kept open; the least recently used one is closed for the next."""


def connection(kind: str, bucket: str, options: tuple[tuple[str, str | Secret], ...]) -> ObjectStore:
    """The open bucket; raises UnsupportedFeature without the client's package, StorageError when it cannot be."""
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
    """Raise UnsupportedFeature that names the extra when the client of a store is not installed."""
    _adapter(kind)


def _adapter(kind: str) -> ModuleType:
    package, extra = STORES[kind]
    try:
        match kind:
            case "s3":
                import paimon_core.storage.s3

                return paimon_core.storage.s3
            case "gcs":
                import paimon_core.storage.gcs

                return paimon_core.storage.gcs
            case _:
                import paimon_core.storage.azure

                return paimon_core.storage.azure
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            f"this store needs the package {package}: pip install 'paimon-core[{extra}]'", package=error.name
        ) from error
