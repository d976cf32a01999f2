"""Opening: opens the catalog and table that the arguments name; secrets are read only from environment variables."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from paimon_core.catalog.kinds import FILESYSTEM, REST, SQL
from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.storage.open import OPTIONS

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table

_STORAGE = {name: secret for options in OPTIONS.values() for name, secret in options.items()}

_SECRETS = (*(name for name, secret in _STORAGE.items() if secret), "token")

_SECRET_NAME = re.compile(
    r"secret|password|credential|^token$|^header\.|access-key|account-key|sas-token", re.IGNORECASE
)


def variable(option: str, prefix: str = "PAIMON_") -> str:
    """Return the name of the environment variable of an option: ``PAIMON_S3_SECRET_KEY`` for ``s3.secret-key``."""
    return prefix + re.sub(r"\W", "_", option).upper()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the catalog; every command that reads or changes tables has these."""
    place = parser.add_argument_group("location of the tables")
    place.add_argument("--warehouse", metavar="URL", help="path or URL of the warehouse (default: $PAIMON_WAREHOUSE)")
    place.add_argument("--catalog", choices=(FILESYSTEM, SQL, REST), help="type of the catalog (default: filesystem)")
    place.add_argument(
        "--uri", help="URI of a sql or rest catalog (default: $PAIMON_URI, which may contain a password)"
    )
    place.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of the catalog or the store; secrets are read from the environment, for example s3.secret-key "
        f"from ${variable('s3.secret-key')}",
    )
    place.add_argument(
        "--allowed-root",
        action="append",
        default=[],
        metavar="URL",
        help="directory in which tables may have data files outside of their own directories; may be repeated",
    )


def place_words(args: argparse.Namespace) -> str:
    """Return the arguments that name the catalog, as typed in a shell; "" when the environment names it."""
    words: list[str] = []
    for name in ("warehouse", "catalog", "uri"):
        if (value := getattr(args, name)) is not None:
            words += [f"--{name}", value]
    for name in ("option", "allowed_root"):
        for value in getattr(args, name):
            words += [f"--{name.replace('_', '-')}", value]
    return shlex.join(words)


def open_catalog_of(args: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Catalog:
    """Open the catalog that the arguments name.

    Raises InvalidRequest for arguments that contradict each other, and for arguments that contain a secret: other users
    of the machine can read a command line.
    """
    from paimon_core.catalog.open import open_catalog

    warehouse = args.warehouse or environment.get("PAIMON_WAREHOUSE")
    if not warehouse:
        raise InvalidRequest("no warehouse is given: add --warehouse URL, or set the variable PAIMON_WAREHOUSE")
    uri = args.uri
    if uri is not None and _has_password(uri):
        raise InvalidRequest(
            "--uri contains a password, which other users can see: put the URI into the variable PAIMON_URI"
        )
    storage, options = _split("--option", args.option, environment, "PAIMON_", is_remote=_is_remote(warehouse))
    kind = args.catalog or FILESYSTEM
    if kind != FILESYSTEM:
        uri = uri or environment.get("PAIMON_URI")
    if kind != REST:
        options.pop("token", None)
    return open_catalog(
        warehouse, type=kind, uri=uri, options=options or None, storage=storage or None, allowed_roots=args.allowed_root
    )


def target_catalog(catalog: Catalog, args: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Catalog:
    """Open the filesystem catalog that ``--to-warehouse`` and ``--to-option`` name; without them return ``catalog``.

    Secrets come from variables that begin with ``PAIMON_TO_``: the secrets of the other warehouse are not passed on.
    """
    from paimon_core.catalog.open import open_catalog

    place = args.to_warehouse
    if place is None:
        if args.to_option:
            raise InvalidRequest("--to-option needs --to-warehouse: it is an option of that warehouse or of its store")
        return catalog
    storage, options = _split("--to-option", args.to_option, environment, "PAIMON_TO_", is_remote=_is_remote(place))
    options.pop("token", None)
    return open_catalog(place, options=options or None, storage=storage or None, allowed_roots=args.allowed_root)


def _split(
    argument: str, texts: list[str], environment: Mapping[str, str], prefix: str, *, is_remote: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options of the store and those of the catalog, with secrets from the environment.

    Secrets are passed only to stores that have such options.
    """
    given = _given(argument, texts, prefix)
    given |= {name: environment[v] for name in _SECRETS if (v := variable(name, prefix)) in environment}
    storage = {name: text for name, text in given.items() if name in _STORAGE and (is_remote or name not in _SECRETS)}
    return storage, {name: text for name, text in given.items() if name not in _STORAGE}


def _given(argument: str, texts: list[str], prefix: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidRequest(f"{argument} must be KEY=VALUE")
        if key in found:
            raise InvalidRequest(f"{argument} gives {key!r:.60} twice")
        if _STORAGE.get(key) or _SECRET_NAME.search(key):
            raise InvalidRequest(
                f"option {key} is a secret, and other users can see a command line: put it into "
                f"{variable(key, prefix)}, or let the store find its credentials itself (profile, instance role)",
                option=key,
            )
        found[key] = value
    return found


def _has_password(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        return parts.password is not None or bool(_SECRET_NAME.search(parts.query))
    except ValueError:
        return True


def _is_remote(warehouse: str) -> bool:
    return "://" in warehouse and not warehouse.startswith(("file:", "memory:"))


def table_of(catalog: Catalog, args: argparse.Namespace) -> Table:
    """Open the table that the arguments name, or the branch of the table if they name one."""
    table = catalog.table(args.table)
    return table.branch(args.branch) if getattr(args, "branch", None) else table


def damaged_table_of(catalog: Catalog, args: argparse.Namespace) -> Table:
    """Open the table (or branch) that the arguments name, for a repair: also when its latest schema cannot be read."""
    table = opened(catalog, args.table)
    return table.branch(args.branch) if getattr(args, "branch", None) else table


def opened(catalog: Catalog, name: str) -> Table:
    """Open a table; if its latest schema cannot be read, a filesystem catalog uses the newest schema that can."""
    from paimon_core.catalog.filesystem import FilesystemCatalog

    try:
        return catalog.table(name)
    except CorruptTable:
        if not isinstance(catalog, FilesystemCatalog):
            raise
        return catalog.damaged_table(name)
