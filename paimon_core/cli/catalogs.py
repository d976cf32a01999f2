"""Where commands look for tables: warehouse, catalog and options; secrets come from the environment alone."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from paimon_core.catalog.kinds import FILESYSTEM, REST, SQL
from paimon_core.errors import InvalidRequest
from paimon_core.storage.open import OPTIONS

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table

_STORAGE = {name: secret for options in OPTIONS.values() for name, secret in options.items()}
_SECRETS = (*(name for name, secret in _STORAGE.items() if secret), "token")
_TELLING = re.compile(r"secret|password|credential|^token$|^header\.|access-key|account-key|sas-token", re.IGNORECASE)


def variable(option: str) -> str:
    """The environment variable of an option: ``s3.secret-key`` is ``PAIMON_S3_SECRET_KEY``."""
    return "PAIMON_" + re.sub(r"\W", "_", option).upper()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that every command has."""
    place = parser.add_argument_group("where the tables are")
    place.add_argument("--warehouse", metavar="URL", help="a path or URL (default: $PAIMON_WAREHOUSE)")
    place.add_argument("--catalog", choices=(FILESYSTEM, SQL, REST), help="who keeps the names (default: filesystem)")
    place.add_argument("--uri", help="of a sql or rest catalog (default: $PAIMON_URI, where it may hold a password)")
    place.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="of the catalog or the store; secrets are read from the environment, s3.secret-key from "
        f"${variable('s3.secret-key')}",
    )


def open_asked(asked: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Catalog:
    """The catalog that the arguments name.

    Raises InvalidRequest for arguments that do not fit, and for a secret among them: others see a command line.
    """
    from paimon_core.catalog.open import open_catalog

    warehouse = asked.warehouse or environment.get("PAIMON_WAREHOUSE")
    if not warehouse:
        raise InvalidRequest("say where the tables are: --warehouse URL, or the variable PAIMON_WAREHOUSE")
    uri = asked.uri
    if uri is not None and _has_password(uri):
        raise InvalidRequest("--uri holds a password, which others see: put the uri in the variable PAIMON_URI")
    given = _given(asked.option) | {name: environment[v] for name in _SECRETS if (v := variable(name)) in environment}
    storage = {name: value for name, value in given.items() if name in _STORAGE}
    kind = asked.catalog or FILESYSTEM
    if kind != FILESYSTEM:
        uri = uri or environment.get("PAIMON_URI")
    if not _is_remote(warehouse):
        # A secret of the environment is for the warehouses that can use it.
        storage = {name: value for name, value in storage.items() if name not in _SECRETS}
    options = {name: value for name, value in given.items() if name not in _STORAGE}
    if kind != REST:
        options.pop("token", None)
    return open_catalog(warehouse, type=kind, uri=uri, options=options or None, storage=storage or None)


def _given(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidRequest("--option takes KEY=VALUE")
        if _STORAGE.get(key) or _TELLING.search(key):
            raise InvalidRequest(
                f"option {key} is a secret, and others see a command line: put it in the variable {variable(key)}, "
                "or let the store find its credentials (profile, instance role)",
                option=key,
            )
        found[key] = value
    return found


def _has_password(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        return parts.password is not None or bool(_TELLING.search(parts.query))
    except ValueError:
        return True


def _is_remote(warehouse: str) -> bool:
    return "://" in warehouse and not warehouse.startswith(("file:", "memory:"))


def table_of(catalog: Catalog, asked: argparse.Namespace) -> Table:
    """The table asked for, on the branch asked for."""
    table = catalog.table(asked.table)
    return table.branch(asked.branch) if getattr(asked, "branch", None) else table
