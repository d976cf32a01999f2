"""open_catalog: opens the catalog of a warehouse URL; the entry point of the library."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.catalog.kinds import FILESYSTEM, REST, SQL
from paimon_core.catalog.local_caching import manifest_cache
from paimon_core.catalog.options import CACHE_OPTIONS, parse_catalog_options
from paimon_core.catalog.shown_options import shown_options
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.storage.external_roots import ExternalRoots
from paimon_core.storage.open import open_storage
from paimon_core.storage.rooted_storage import rooted


def open_catalog(
    warehouse: str | os.PathLike[str],
    *,
    type: str = FILESYSTEM,
    uri: str | None = None,
    options: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    allowed_roots: Sequence[str | os.PathLike[str]] | None = None,
) -> Catalog:
    """Open the catalog of a warehouse, given as a local path or a URL; the directory need not exist yet.

    ``type`` selects where the names of the tables are stored: ``filesystem`` (directories), ``sql`` (a database with
    the SQLAlchemy URI ``uri``, shared with Paimon's JDBC catalog) or ``rest`` (a server at ``uri``, for which
    ``warehouse`` is a name). ``options`` are catalog options under Paimon's names (``paimon_core.catalog.options``
    lists them). ``storage`` contains the options of the store, such as credentials. ``allowed_roots`` are directories
    outside of the table directories in which tables may have data files (option ``data-file.external-paths``). They are
    paths or URLs in the same kind of store; by default there are none. Raises InvalidRequest (or its subclass
    InvalidOption or UnsupportedFeature), which names the argument that is wrong or not supported.
    """
    if not isinstance(warehouse, str | os.PathLike) or not os.fspath(warehouse):
        raise InvalidRequest(f"warehouse must be a path or URL, not {warehouse!r:.60}")
    if type not in (FILESYSTEM, SQL, REST):
        raise UnsupportedFeature(f"catalog type {type!r} is not supported; use {FILESYSTEM}, {SQL} or {REST}")
    if (uri is None) != (type == FILESYSTEM):
        raise InvalidRequest(f"a catalog of type {type} {'needs a' if uri is None else 'must have no'} uri")
    place = os.fspath(warehouse)
    if type == REST:
        if allowed_roots:
            raise UnsupportedFeature("allowed_roots is not supported by catalogs of type rest")
        with _installed(REST):
            from paimon_core.catalog.rest.rest_catalog import RestCatalog
        opened = RestCatalog.open(place, str(uri), options, storage)
        cache = manifest_cache(place, uri, options, storage, REST)
        return replace(opened, given=_shown(place, type, uri, options, storage), manifests=cache)
    store, root = open_storage(place, storage)
    roots = ExternalRoots.of(allowed_roots, store)
    store = rooted(store, roots)
    if type == SQL:
        with _installed(SQL):
            from paimon_core.catalog.sql.sql_catalog import SqlCatalog
        named = SqlCatalog.open(store, root, place if "://" in place else root, str(uri), options, roots)
        cache = manifest_cache(place, None, options, storage, SQL)
        return replace(named, given=_shown(place, type, uri, options, storage), manifests=cache)
    parse_catalog_options(options, CACHE_OPTIONS, FILESYSTEM)
    cache = manifest_cache(place, None, options, storage, FILESYSTEM)
    return FilesystemCatalog(store, root, roots, _shown(place, type, uri, options, storage), cache)


def _shown(
    warehouse: str, type: str, uri: str | None, options: Mapping[str, str] | None, storage: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the arguments with which the catalog was opened, as options with Paimon's names, without secrets."""
    named = {"warehouse": warehouse, "metastore": "jdbc" if type == SQL else type}
    return shown_options({**(storage or {}), **(options or {}), **named, **({} if uri is None else {"uri": uri})})


@contextlib.contextmanager
def _installed(extra: str) -> Iterator[None]:
    """In the ``with`` block, raise UnsupportedFeature when an import fails because a library is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            f"a catalog of type {extra} needs the library {error.name}: install paimon-core[{extra}]"
        ) from None
