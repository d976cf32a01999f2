"""Row arguments: the parsers of the commands on rows and tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from paimon_core.cli import change_commands, import_command, row_commands, table_commands, transfer_commands
from paimon_core.cli.adding import Commands, add_command, add_where, names
from paimon_core.cli.arguments import moment, partition
from paimon_core.cli.plan_commands import Command


def add_commands(found: Commands) -> None:
    """Add the commands that show, count, compare, query, import and export rows, and that list and define tables."""
    _add_tables(found)
    _add_rows(found)
    _add_changes(found)
    _add_transfers(found)


def _add_tables(found: Commands) -> None:
    ls = add_command(found, "ls", "list tables with their keys and latest snapshots", table_commands.ls, table=False)
    ls.add_argument("database", nargs="?", help="only the tables of this database")
    add_command(found, "describe", "print columns, keys, options, size and health", table_commands.describe)
    create = add_command(found, "create", "create a table", table_commands.create, branch=False)
    create.add_argument("columns", metavar="COLUMNS", help="such as 'id BIGINT NOT NULL, price DECIMAL(10, 2)'")
    create.add_argument("--primary-key", type=names, default=[], metavar="COLUMN,...")
    create.add_argument("--partition-by", type=names, default=[], metavar="COLUMN,...")
    create.add_argument("--table-option", action="append", default=[], metavar="KEY=VALUE", help="may be repeated")
    create.add_argument("--comment", help="what the table contains")
    create.add_argument("--if-not-exists", action="store_true", help="do nothing when the table exists")
    create.add_argument("--create-database", action="store_true", help="create the database if it does not exist")
    drop = add_command(found, "drop", "delete a table with all of its files", table_commands.drop, branch=False)
    drop.add_argument("--apply", action="store_true", help="drop it; without this option nothing is changed")
    rename = add_command(found, "rename", "rename a table", table_commands.rename, branch=False)
    rename.add_argument("new_name", metavar="DATABASE.NEW_NAME")
    history = add_command(found, "history", "list the snapshots, newest first, with their tags", table_commands.history)
    history.add_argument("-n", type=int, default=0, metavar="N", help="only the newest N")
    add_where(add_command(found, "files", "list the data files of a table", table_commands.files), "only these files")


def _add_rows(found: Commands) -> None:
    head = _rows(found, "head", "print the first rows of a table", row_commands.head)
    sample = _rows(found, "sample", "print rows drawn at random; reads the whole table", row_commands.sample)
    tail = add_command(found, "tail", "print the last changes of rows", row_commands.tail)
    tail.add_argument("--columns", type=names, metavar="COLUMN,...", help="only these columns")
    for command in (head, sample, tail):
        command.add_argument("-n", type=int, default=10, metavar="N", help="the number of rows (default: 10)")
    sample.add_argument("--seed", type=int, metavar="N", help="draw the same rows again")
    count = add_command(found, "count", "count the rows of a table", row_commands.count)
    count.add_argument("--by-partition", action="store_true", help="for each partition")
    add_where(count, "only the rows that match")
    _add_version(count)
    changes = add_command(found, "changes", "print the rows that changed between two versions", row_commands.changes)
    bound = "snapshot id, tag or time"
    changes.add_argument("--start", metavar="VERSION", help=f"{bound} (default: before the first snapshot)")
    changes.add_argument("--end", metavar="VERSION", help=f"{bound} (default: the latest snapshot)")
    add_where(changes, "only the rows that match")
    diff = add_command(found, "diff", "print the rows in which two versions differ", row_commands.diff)
    diff.add_argument("a", metavar="A", help=bound)
    diff.add_argument("b", metavar="B", help=bound)
    diff.add_argument("--summary", action="store_true", help="only count the differences, by column")
    for command in (changes, diff):
        command.add_argument("--columns", type=names, metavar="COLUMN,...", help="only these columns")
        _limit(command)
    explain = _rows(found, "explain", "tell which files a scan reads, and why", row_commands.explain)
    explain.add_argument("--analyze", action="store_true", help="also read the rows and count what was decoded")
    row = add_command(found, "explain-row", "tell where the values of one row come from", row_commands.explain_row)
    row.add_argument("key", type=partition, metavar="KEY=VALUE,...", help="the primary key of the row")
    _add_version(row)
    sql = add_command(found, "sql", "run a SELECT of DuckDB over the tables", row_commands.sql, table=False)
    sql.add_argument("query", metavar="SELECT", help="tables are database.table, also with AT (VERSION => 3)")
    _limit(sql)


def _add_changes(found: Commands) -> None:
    delete = add_command(found, "delete", "delete the rows that match a filter", change_commands.delete)
    update = add_command(found, "update", "give columns of rows new values", change_commands.update)
    update.add_argument("--set", action="append", default=[], metavar="COLUMN=VALUE", help="may be repeated")
    update.add_argument("--set-null", action="append", default=[], metavar="COLUMN", help="may be repeated")
    for command in (delete, update):
        command.add_argument("--where", metavar="FILTER", required=True, help='the rows, such as "price > 5"')
        command.add_argument("--apply", action="store_true", help="do it; without this option only count the rows")


def _add_transfers(found: Commands) -> None:
    files = add_command(found, "import", "write files to a table in one commit", import_command.import_files)
    files.add_argument("file", nargs="+", metavar="FILE", help="Parquet, ORC, CSV or JSON (an object on each line)")
    files.add_argument("--format", choices=("parquet", "orc", "csv", "json"), help="default: by the name of the file")
    files.add_argument("--file-option", action="append", default=[], metavar="KEY=VALUE", help="such as delimiter=;")
    files.add_argument("--columns", type=names, metavar="COLUMN,...", help="the columns to read (default: all)")
    replaced = files.add_mutually_exclusive_group()
    replaced.add_argument("--overwrite", action="store_true", help="replace the rows of the table")
    replaced.add_argument(
        "--overwrite-where", metavar="FILTER", help="replace the partitions that match, such as \"day = '2024-01-31'\""
    )
    files.add_argument(
        "--rejects",
        type=Path,
        metavar="FILE",
        help="write the rows that fit, and the others with their reasons to this new file; then exit code 3",
    )
    export = _rows(found, "export", "write the rows of a table to a file", transfer_commands.export)
    export.add_argument("file", metavar="FILE", help="the file to write: .parquet, .csv, .json or .jsonl")
    export.add_argument("--format", choices=("parquet", "csv", "json"), help="default: by the name of the file")
    export.add_argument("--replace", action="store_true", help="replace the file when it exists")
    copy = add_command(found, "copy", "copy the rows of a table to a new table", transfer_commands.copy)
    copy.add_argument("to", metavar="DATABASE.NEW_TABLE")
    copy.add_argument("--to-warehouse", metavar="URL", help="the warehouse of the new table (default: the same)")
    copy.add_argument(
        "--to-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of that warehouse or its store; secrets are read from the environment, for example s3.secret-key "
        "from $PAIMON_TO_S3_SECRET_KEY",
    )
    copy.add_argument(
        "--by-reference",
        action="store_true",
        help="share the files of the version by hard links on the local disk; neither table deletes the other's files",
    )
    copy.add_argument("--create-database", action="store_true", help="create the database if it does not exist")
    _add_version(copy)


def _rows(found: Commands, name: str, text: str, run: Command) -> argparse.ArgumentParser:
    """Add a command with the arguments of a scan."""
    command = add_command(found, name, text, run)
    command.add_argument("--columns", type=names, metavar="COLUMN,...", help="only these columns")
    add_where(command, "only the rows that match")
    _add_version(command)
    return command


def _add_version(command: argparse.ArgumentParser) -> None:
    version = command.add_mutually_exclusive_group()
    version.add_argument("--snapshot", type=int, metavar="ID", help="at this snapshot")
    version.add_argument("--tag", help="at this tag")
    version.add_argument("--time", type=moment, help="at the snapshot that was the latest at this time")


def _limit(command: argparse.ArgumentParser) -> None:
    command.add_argument("--limit", type=int, default=100, metavar="N", help="at most so many rows (default: 100)")
