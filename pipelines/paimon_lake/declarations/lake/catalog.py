"""The catalog of a lake: the mapping ``catalog`` of an environment, with the kind, the address and Paimon's options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from paimon_core.catalog.options import (
    CACHE_OPTIONS,
    HEADER_PREFIX,
    REST_OPTIONS,
    SQL_OPTIONS,
    parse_catalog_options,
)
from paimon_core.errors import InvalidOption
from paimon_lake.declarations.errors import Mistake, nearest

FILESYSTEM, SQL, REST = "filesystem", "sql", "rest"
OPTIONS = {FILESYSTEM: CACHE_OPTIONS, SQL: (*SQL_OPTIONS, *CACHE_OPTIONS), REST: (*REST_OPTIONS, *CACHE_OPTIONS)}
_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)([^/].*)", re.DOTALL)


def kind_of(catalog: Mapping[str, str]) -> str:
    """Return the kind of a catalog: ``filesystem``, ``sql`` or ``rest``."""
    return catalog.get("type", FILESYSTEM)


def options_of(catalog: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a catalog: all keys of the mapping except ``type`` and ``uri``."""
    return {key: text for key, text in catalog.items() if key not in ("type", "uri")}


def uri_of(catalog: Mapping[str, str], folder: Path) -> str | None:
    """Return the URI of a catalog, or None; a relative path of SQLite starts at the folder of the declarations."""
    uri = catalog.get("uri")
    found = None if uri is None else _SQLITE.fullmatch(uri)
    return uri if found is None or found[2] == ":memory:" else f"{found[1]}{folder / found[2]}"


def check_catalog(catalog: Mapping[str, str]) -> None:
    """Raise Mistake, with the key that is wrong, for a catalog that cannot be opened; no message contains a secret."""
    kind = kind_of(catalog)
    if kind not in OPTIONS:
        raise Mistake(f"must be {FILESYSTEM}, {SQL} or {REST}, not {kind!r:.40}", "catalog", "type")
    if kind == FILESYSTEM and "uri" in catalog:
        raise Mistake(f"a catalog of type {FILESYSTEM} has no uri: set catalog.type, {SQL} or {REST}", "catalog", "uri")
    if kind != FILESYSTEM and not catalog.get("uri"):
        raise Mistake(f"a catalog of type {kind} needs uri, its address", "catalog")
    if kind == SQL and ":memory:" in catalog["uri"]:
        raise Mistake("names a database in memory, which other processes do not see", "catalog", "uri")
    for key, text in options_of(catalog).items():
        known = [option.key for option in OPTIONS[kind]]
        if key not in known and not (kind == REST and key.startswith(HEADER_PREFIX)):
            raise Mistake(
                f"is no option of a catalog of type {kind}, which has {', '.join(sorted(known))}{nearest(key, known)}",
                "catalog",
                key,
            )
        try:
            parse_catalog_options({key: text}, OPTIONS[kind], kind, headers=kind == REST)
        except InvalidOption as error:
            raise Mistake(str(error), "catalog", key) from None


def is_secret(key: str) -> bool:
    """Whether an option of a catalog is a secret: the token of a REST server, or a header of its requests."""
    return key == "token" or key.startswith(HEADER_PREFIX)
