"""Names: rules for names of new databases and tables, so that every file system and reader supports the names.

The rules apply to new names only: a table with another name, created by another program, can be opened.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from paimon_core.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_core.errors import AlreadyExists, InvalidRequest
from paimon_core.storage.paths import identifier

_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)
_MARKS = frozenset('<>:"|?*')


def new_name(name: str, what: str, existing: Iterable[str]) -> str:
    """Return ``name`` unchanged if a new database or table may have this name; ``what`` is the kind of the object.

    Raises InvalidRequest, which names the rule that the name breaks, and AlreadyExists when one of the ``existing``
    names differs from ``name`` only by case or Unicode normal form: some file systems treat two such names as the same
    directory.
    """
    identifier(name, what)
    for position, letter in enumerate(name):
        if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp"):
            raise InvalidRequest(
                f"{what} name {name!r} contains the control character U+{ord(letter):04X} at {position}", name=name
            )
        if letter in _MARKS:
            raise InvalidRequest(
                f"{what} name {name!r} contains {letter!r} at {position}, which not every file system supports",
                name=name,
            )
    if name != name.strip() or _RESERVED.fullmatch(name):
        raise InvalidRequest(
            f"{what} name {name!r} is not portable: Windows reserves it, or it starts or ends with a space", name=name
        )
    if what == "database" and name.casefold() == SYSTEM_DATABASE:
        raise InvalidRequest(f"database name {name!r} is reserved for Paimon's system tables", name=name)
    for other in existing:
        if other != name and _folded(other) == _folded(name):
            raise AlreadyExists(
                f"{what} name {name!r} conflicts with the existing {other!r}: they differ only by case or "
                "Unicode normal form",
                name=name,
            )
    return name


def check_target(source: Identifier, target: Identifier, tables: Iterable[str]) -> None:
    """Raise the errors of ``new_name`` for renaming ``source`` to ``target``, whose database contains ``tables``."""
    others = set(tables)
    new_name(target.table, "table", others - {source.table} if source.database == target.database else others)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
