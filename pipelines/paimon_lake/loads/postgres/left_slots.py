"""Left slots: replication slots that loads of this lake made, and that no declared table reads any more.

Such a slot makes its server keep the log until the disk is full. The name of a slot contains a digest of its lake and
its table, and the ledger of a table names its slot: so the slots of other lakes are not reported. Only the servers that
declarations still name can be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import PaimonError
from paimon_lake.declarations import Settings
from paimon_lake.declarations.part_spec import followed_specs
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.ledger.load_properties import part_of, release_command, table_of
from paimon_lake.loads.ledger.part_ledgers import recorded_parts
from paimon_lake.loads.postgres.lag import CONNECT_SECONDS
from paimon_lake.loads.postgres.names import SLOT, names_of, owner_of_slot
from paimon_lake.protocol import PipelineError, size_text
from paimon_lake.sources.database import open_database
from paimon_lake.sources.postgres.server import connected
from paimon_lake.tables import open_lake

_SLOTS = """
SELECT slot_name::text, database::text, (pg_current_wal_flush_lsn() - restart_lsn)::bigint,
  (SELECT system_identifier::text FROM pg_control_system()) FROM pg_replication_slots
WHERE slot_type = 'logical' AND NOT temporary ORDER BY slot_name
"""


@dataclass(frozen=True)
class LeftSlots:
    """The result: ``problems`` names slots for which the server keeps disk space, ``notes`` says what could not be
    determined.
    """

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def left_slots(settings: Settings) -> LeftSlots:
    """Return one sentence for each slot of this lake that no declared table reads, and for each server without answer.

    Reads the ledgers of the tables of the lake that are not declared, and asks each declared server.
    """
    declared, used = _sources(settings), _declared_slots(settings)
    recorded, problems = dict(_recorded_slots(settings)), dict[str, str]()
    notes, servers = list[str](), set[str]()
    for source in {source.url: source for source in declared.values()}.values():
        try:
            database = open_database(
                source.url, table=source.name, query="", folder=settings.folder, connect_seconds=CONNECT_SECONDS
            )
            with connected(replace(database, name=database.place)) as server:
                found = server.rows(_SLOTS)
        except PipelineError as error:
            notes.append(f"whether a slot of a removed table is left is not known: {error}")
            continue
        for slot, of_database, held, system in found:
            servers.add(system)
            owner = recorded.get((system, slot)) or owner_of_slot(settings, slot)
            if owner is not None and slot not in used:
                problems[f"{system} {slot}"] = (
                    f"{owner}: {database.place} still has the slot {slot!r}, which loads made, in the database "
                    f"{of_database}, and no declared table reads it: it holds {size_text(held or 0)} of the log. To "
                    f"drop it, {_release(owner, declared)}SELECT pg_drop_replication_slot('{slot}')"
                )
    for (system, slot), table in recorded.items():
        if system not in servers and slot not in used:
            notes.append(
                f"{table}: no declared table names the server of its slot {slot!r}: whether the slot is left there is "
                "not known"
            )
    return LeftSlots(tuple(problems.values()), tuple(notes))


def _release(owner: str, declared: Mapping[str, PostgresChangesSource]) -> str:
    """Return a text with the command that drops the slot of a table; "" for a removed database, whose slot only SQL
    drops.
    """
    if "." not in owner:
        return ""
    declare = "" if owner in declared else f"declare the {'part' if part_of(owner) else 'table'} again and "
    return f"{declare}run `{release_command(owner)}`, or "


def _sources(settings: Settings) -> Mapping[str, PostgresChangesSource]:
    """Return the sources of tables and of parts of tables, by load name."""
    found = {one.load_name: one.source for spec in settings.tables.values() for one in followed_specs(spec)}
    return {name: source for name, source in found.items() if isinstance(source, PostgresChangesSource)}


def _declared_slots(settings: Settings) -> set[str]:
    """Return the slots that loads of the declared tables read."""
    lake, used = open_lake(settings), set[str]()
    for name, source in _sources(settings).items():
        entry = _position(lake, name) if lake.table_exists(table_of(name)) else {}
        used |= {names_of(settings, name, source, entry).slot, str(entry.get(SLOT))}
    return used


def _recorded_slots(settings: Settings) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((system, slot), load name) of tables and parts whose ledger records a slot, and which no source of
    PostgreSQL loads now.
    """
    lake, declared = open_lake(settings), _sources(settings)
    for database in lake.list_databases():
        for table in lake.list_tables(database):
            for name in _loaded(lake, f"{database}.{table}"):
                entry = {} if name in declared else _position(lake, name)
                if {"system", SLOT} <= entry.keys():
                    yield (str(entry["system"]), str(entry[SLOT])), name


def _loaded(lake: Catalog, table: str) -> list[str]:
    """Return the load names of a table and of the parts that its snapshots record."""
    try:
        return [table, *recorded_parts(table, lake.table(table).inspect.snapshots())]
    except (PaimonError, PipelineError):
        return [table]


def _position(lake: Catalog, name: str) -> Mapping[str, object]:
    """Return the recorded position of a table or part; {} if it has none, or if its ledger is damaged, which ``show``
    reports.
    """
    try:
        entry = read_ledger(lake.table(table_of(name)), name, accept_gaps=True).position
    except (PaimonError, PipelineError):
        return {}
    return entry if isinstance(entry, dict) else {}
