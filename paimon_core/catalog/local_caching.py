"""Local caching: the manifest cache of a catalog: in memory, and with the options ``local-cache.*`` on local disk.

The option ``cache.manifest.max-memory`` limits the memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from paimon_core.catalog.options import CACHE_OPTIONS, parse_catalog_options
from paimon_core.errors import InvalidOption
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.storage.local_cache import LocalCache

_PREFIX = "local-cache."
_ENABLED, _DIRECTORY, _SIZE = "local-cache.enabled", "local-cache.dir", "local-cache.max-size"
_MEMORY = "cache.manifest.max-memory"
_STORES = ("s3.endpoint", "fs.gs.storage.root.url", "azure.endpoint", "azure.account-name")
"""The options that decide to which store a URL refers; the cache distinguishes the files of different stores."""


def manifest_cache(
    warehouse: str, uri: str | None, options: Mapping[str, str] | None, storage: Mapping[str, str] | None, kind: str
) -> ManifestCache:
    """Return the cache of manifests for the catalog of this warehouse.

    With ``local-cache.enabled``, a missing cache directory is created. Raises InvalidOption, which names the option,
    for a wrong value, for an option that has no effect because the local cache is not enabled, and for a directory that
    cannot be used.
    """
    given = {key: text for key, text in (options or {}).items() if key == _MEMORY or key.startswith(_PREFIX)}
    values = parse_catalog_options(given, CACHE_OPTIONS, kind)
    if not values[_ENABLED]:
        unused = sorted(given.keys() - {_ENABLED, _MEMORY})
        if unused:
            raise InvalidOption(f"catalog option {unused[0]} needs {_ENABLED} = true", option=unused[0])
        return ManifestCache(max_bytes=values[_MEMORY])
    if values[_DIRECTORY] is None:
        raise InvalidOption(
            f"catalog option {_ENABLED} = true needs {_DIRECTORY}; manifests are always cached in memory",
            option=_DIRECTORY,
        )
    stores = [[name, (storage or {}).get(name)] for name in _STORES]
    files = LocalCache(values[_DIRECTORY], values[_SIZE], json.dumps([uri, warehouse, stores]))
    return ManifestCache(files, values[_MEMORY])
