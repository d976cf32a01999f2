"""Names: the slot and the publication of a table, as declared, as a load recorded them, or derived from its lake."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_lake.declarations import Settings
from paimon_lake.declarations.sources import PostgresChangesSource

SLOT, PUBLICATION = "slot", "publication"
_READABLE = 30


@dataclass(frozen=True)
class Names:
    """The names of a slot and a publication, and which of the two belong to the lake: loads create and drop them."""

    slot: str
    publication: str
    made: tuple[str, ...]


def names_of(settings: Settings, table: str, source: PostgresChangesSource, entry: object) -> Names:
    """Return the names for a table; ``entry``: the position of its ledger, None without.

    Names that loads made are kept when the lake is moved. Otherwise they contain a digest of the lake and the table, so
    no other lake has them.
    """
    recorded: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
    digest = hashlib.sha256(json.dumps([settings.warehouse, table]).encode()).hexdigest()[:12]
    derived = f"paimon_{re.sub('[^a-z0-9]', '_', table.lower())[:_READABLE]}_{digest}"
    declared = {SLOT: source.slot, PUBLICATION: source.publication}
    names = {
        what: name or (str(recorded[what]) if what in recorded.get("made", ()) else derived)
        for what, name in declared.items()
    }
    return Names(names[SLOT], names[PUBLICATION], tuple(what for what, name in declared.items() if not name))
