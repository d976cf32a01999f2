"""Arguments of the commands on tables."""

from __future__ import annotations

from paimon_core.cli.parsing.adding import Commands, add_command, add_where
from paimon_core.cli.parsing.values import names, number
from paimon_core.cli.tables import definitions, descriptions, listings


def add_tables(found: Commands) -> None:
    """Add the commands that list, describe and define tables."""
    ls = add_command(found, "ls", "list tables with their keys and latest snapshots", descriptions.ls, table=False)
    ls.add_argument("database", nargs="?", help="only the tables of this database")
    add_command(found, "describe", "print columns, keys, options, size and health", descriptions.describe)
    create = add_command(found, "create", "create a table", definitions.create, branch=False)
    create.add_argument("columns", metavar="COLUMNS", help="such as 'id BIGINT NOT NULL, price DECIMAL(10, 2)'")
    create.add_argument("--primary-key", type=names, default=[], metavar="COLUMN,...")
    create.add_argument("--partition-by", type=names, default=[], metavar="COLUMN,...")
    create.add_argument("--table-option", action="append", default=[], metavar="KEY=VALUE", help="may be repeated")
    create.add_argument("--comment", help="what the table contains")
    create.add_argument("--if-not-exists", action="store_true", help="do nothing when the table exists")
    create.add_argument("--create-database", action="store_true", help="create the database if it does not exist")
    drop = add_command(found, "drop", "delete a table with all of its files", definitions.drop, branch=False)
    drop.add_argument("--apply", action="store_true", help="drop it; without this option nothing is changed")
    rename = add_command(found, "rename", "rename a table", definitions.rename, branch=False)
    rename.add_argument("new_name", metavar="DATABASE.NEW_NAME")
    history = add_command(found, "history", "list the snapshots, newest first, with their tags", listings.history)
    history.add_argument("-n", type=number, default=0, metavar="N", help="only the newest N")
    add_where(add_command(found, "files", "list the data files of a table", listings.files), "only these files")


def add_lists(found: Commands) -> None:
    """Add the command that lists tables."""
    tables = add_command(found, "tables", "list the tables of the warehouse", listings.tables, table=False)
    tables.add_argument("database", nargs="?", help="list only the tables of this database")


def add_system_tables(found: Commands) -> None:
    """Add the commands that print snapshots and system tables."""
    add_command(found, "snapshots", "list the snapshots of a table", listings.snapshots)
    show = add_command(
        found, "show", "print a system table, such as db.t$files or sys.tables", listings.show, table=False
    )
    show.add_argument("table", metavar="DATABASE.TABLE$NAME")
    show.add_argument("--columns", type=lambda text: text.split(","), metavar="COLUMN,...", help="only these columns")
    show.add_argument("--limit", type=number, metavar="N", help="at most so many rows")
    add_where(show, 'only the rows that match, such as "level = 0 and bucket < 4"')


def add_alter(found: Commands) -> None:
    """Add the command that changes a table."""
    alter = add_command(found, "alter", "change columns, comments and options of a table", definitions.alter)
    alter.add_argument(
        "change",
        nargs="+",
        metavar="CHANGE",
        help="such as 'ADD COLUMN note STRING AFTER id', 'RENAME COLUMN a TO b', \"SET ('write-only' = 'true')\"; "
        "all changes apply, or none",
    )
