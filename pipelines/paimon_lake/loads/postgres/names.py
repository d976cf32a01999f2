"""Names: the slot and the publication of a table, as declared, as a load recorded them, or derived from its lake."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_lake.declarations import Settings
from paimon_lake.declarations.sources.source import PostgresChangesSource

SLOT, PUBLICATION = "slot", "publication"
_READABLE = 30
_MADE = re.compile(r"paimon_([a-z0-9_]+)_([0-9a-f]{12})")


@dataclass(frozen=True)
class Names:
    """The names of a slot and a publication, and whether each of the two belongs to the lake: if so, loads create it
    and drop it.
    """

    slot: str
    publication: str
    made: tuple[str, ...]


def names_of(settings: Settings, table: str, source: PostgresChangesSource, entry: object) -> Names:
    """Return the names for a table or for a part (by its load name); ``entry`` is the position in its ledger, or None.

    All tables of a declared database share their names. Names that loads made contain a digest of the lake and the
    table or the database, so no other lake has them. Recorded names are kept when the lake is moved. A recorded name of
    another form is not used, because ``release`` would drop the slot or publication of this name.
    """
    recorded: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
    owner = source.database or table
    digest = _digest(settings, owner)
    stem = f"paimon_{re.sub('[^a-z0-9]', '_', owner.lower())[:_READABLE]}_"
    kept = re.compile(rf"{stem}[0-9a-f]{{12}}")
    declared = {SLOT: source.slot, PUBLICATION: source.publication}
    names = {}
    for what, name in declared.items():
        before = str(recorded.get(what, ""))
        names[what] = name or (before if kept.fullmatch(before) else f"{stem}{digest}")
    return Names(names[SLOT], names[PUBLICATION], tuple(what for what, name in declared.items() if not name))


def owner_of_slot(settings: Settings, slot: str) -> str | None:
    """Return the owner for which loads created a slot: a table, a part of a table, or a database whose tables share the
    slot.

    A part is given by its load name. The owner need not be declared any more. Returns None for the slots of other
    lakes and programs, and for owners whose names are longer than 30 characters or have other characters than a to z,
    0 to 9 and _.
    """
    found = _MADE.fullmatch(slot)
    if found is None:
        return None
    stem, digest = found.groups()
    tables = [f"{stem[:at]}.{stem[at + 1 :]}" for at, character in enumerate(stem) if character == "_"]
    parts = [f"{one[: at.start()]} part {one[at.end() :]}" for one in tables for at in re.finditer("_part_", one)]
    return next((name for name in (stem, *tables, *parts) if _digest(settings, name) == digest), None)


def _digest(settings: Settings, owner: str) -> str:
    return hashlib.sha256(json.dumps([settings.warehouse, owner]).encode()).hexdigest()[:12]
