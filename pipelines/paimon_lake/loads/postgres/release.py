"""Release: drop the slot and the publication that the loads of a table made, when the table is not loaded any more.

A slot that nothing reads makes its server keep the log until the disk is full. So a table that is removed from the
lake, or from the declarations, is released first.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_lake.declarations import Settings
from paimon_lake.declarations.lake.databases import tables_of
from paimon_lake.declarations.part_spec import followed_specs
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.ledger.load_properties import part_of, table_of
from paimon_lake.loads.parts.part_loads import unknown_part
from paimon_lake.loads.postgres.names import PUBLICATION, SLOT, names_of
from paimon_lake.loads.postgres.slot_keys import naming_keys
from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.database import open_database
from paimon_lake.sources.postgres.found_tables import meant_tables
from paimon_lake.sources.postgres.server import Server, connected
from paimon_lake.tables import open_lake


def release(settings: Settings, table: str, part: str = "") -> list[str]:
    """Drop the slot and the publication that loads created for a table or a part of it; return one sentence for each.

    The table need not exist in the lake. A shared slot and publication are kept, and the table is removed from the
    publication. A slot and a publication that the user created are kept, whatever their names are. After a release,
    loads of the table are refused until a load with ``reload`` runs. Raises PipelineError for a table with another
    source, and when the server refuses, for example because the slot is in use.
    """
    spec = settings.table(table)
    sources = {one.load_name: one.source for one in followed_specs(spec)}
    found = {name: source for name, source in sources.items() if isinstance(source, PostgresChangesSource)}
    if part:
        if part not in spec.parts:
            raise unknown_part(spec, part)
        found = {name: source for name, source in found.items() if part_of(name) == part}
    if not found:
        what = "part" if part else "table"
        raise PipelineError(f"{table}: only a {what} with a source of type postgres_changes has something to release")
    return [text for name, source in found.items() for text in _release(settings, name, source)]


def _release(settings: Settings, loaded: str, source: PostgresChangesSource) -> list[str]:
    """Drop the slot and publication that loads created for a table, or for a part, by its load name."""
    lake, table = open_lake(settings), table_of(loaded)
    entry = read_ledger(lake.table(table), loaded, accept_gaps=True).position if lake.table_exists(table) else None
    made_by_loads = source.model_copy(update={SLOT: "", PUBLICATION: ""})  # even if a name was declared later
    names = names_of(settings, loaded, made_by_loads, entry)
    database = open_database(source.url, table=source.name, query="", folder=settings.folder)
    done = []
    others = [name for name in tables_of(settings.tables, source.database) if name != table]
    with naming_keys(source.database), connected(database) as server:
        if others:
            tables = _followed(server, source, entry) - _followed_by(server, settings, others)
            left = [one for one in sorted(tables) if server.remove_from_publication(names.publication, one.split("."))]
            if not left:
                return []
            return [
                f"removed {some(left)} from the publication {names.publication}; the slot is kept for "
                f"{' and '.join(others)}: remove the declaration, because the slot keeps the log from the position of "
                "each declared table on"
            ]
        if server.drop_slot(names.slot):
            done.append(f"dropped the slot {names.slot}")
        if server.drop_publication(names.publication):
            done.append(f"dropped the publication {names.publication}")
    return done


def _followed(server: Server, source: PostgresChangesSource, entry: object = None) -> set[str]:
    """Return the source tables of a table: the tables in its position ``entry``, and the tables that ``source.table``
    names.
    """
    recorded = entry.get("tables", ()) if isinstance(entry, dict) else ()
    named = meant_tables(server, source.table) if "*" in source.name else source.table
    return {*recorded, *named}


def _followed_by(server: Server, settings: Settings, tables: Sequence[str]) -> set[str]:
    sources = [settings.table(name).source for name in tables]
    return {one for s in sources if isinstance(s, PostgresChangesSource) for one in _followed(server, s)}
