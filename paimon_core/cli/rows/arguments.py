"""Arguments of the commands on rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from paimon_core.cli.parsing.adding import Commands, add_command, add_limit, add_scan, add_version, add_where
from paimon_core.cli.parsing.values import key, names, number, seconds
from paimon_core.cli.rows import (
    changing,
    copies,
    differences,
    explanations,
    exports,
    imports,
    merges,
    queries,
    tails,
)


def add_rows(found: Commands) -> None:
    """Add the commands that show, count, compare and query rows."""
    head = add_scan(found, "head", "print the first rows of a table", queries.head)
    sample = add_scan(found, "sample", "print rows drawn at random; reads the whole table", queries.sample)
    tail = add_command(found, "tail", "print the last changes of rows", tails.tail)
    tail.add_argument("--columns", type=names, metavar="COLUMN,...", help="only these columns")
    for command in (head, sample):
        command.add_argument("-n", type=number, default=10, metavar="N", help="the number of rows (default: 10)")
    tail.add_argument("-n", type=number, metavar="N", help="the number of rows (default: 10)")
    tail.add_argument("--follow", "-f", action="store_true", help="print the changes of new commits until Ctrl-C")
    tail.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        help="with --follow, where the changes begin instead of -n: now, latest (the latest snapshot), earliest, or a "
        "snapshot id",
    )
    tail.add_argument("--every", type=seconds, metavar="SECONDS", help="look for commits so often (default: 1)")
    tail.add_argument("--seconds", type=seconds, metavar="SECONDS", help="end after this time (default: never)")
    sample.add_argument("--seed", type=number, metavar="N", help="draw the same rows again")
    count = add_command(found, "count", "count the rows of a table", queries.count)
    count.add_argument("--by-partition", action="store_true", help="for each partition")
    add_where(count, "only the rows that match")
    add_version(count)
    changes = add_command(found, "changes", "print the rows that changed between two versions", differences.changes)
    bound = "snapshot id, tag or time"
    changes.add_argument("--start", metavar="VERSION", help=f"{bound} (default: before the first snapshot)")
    changes.add_argument("--end", metavar="VERSION", help=f"{bound} (default: the latest snapshot)")
    add_where(changes, "only the rows that match")
    diff = add_command(found, "diff", "print the rows in which two versions differ", differences.diff)
    diff.add_argument("a", metavar="A", help=bound)
    diff.add_argument("b", metavar="B", help=bound)
    diff.add_argument("--summary", action="store_true", help="only count the differences, by column")
    for command in (changes, diff):
        command.add_argument("--columns", type=names, metavar="COLUMN,...", help="only these columns")
        add_limit(command)
    explain = add_scan(found, "explain", "tell which files a scan reads, and why", explanations.explain)
    explain.add_argument("--analyze", action="store_true", help="also read the rows and count what was decoded")
    row = add_command(found, "explain-row", "tell where the values of one row come from", explanations.explain_row)
    row.add_argument("key", type=key, metavar="KEY=VALUE,...", help="the primary key of the row")
    add_version(row)
    sql = add_command(found, "sql", "run a SELECT of DuckDB over the tables", queries.sql, table=False)
    sql.add_argument("query", metavar="SELECT", help="tables are database.table, also with AT (VERSION => 3)")
    sql.add_argument("--group", metavar="NAME", help="read the tables of this group at its newest version")
    add_limit(sql)


def add_changes(found: Commands) -> None:
    """Add the commands that delete, update and merge rows."""
    delete = add_command(found, "delete", "delete the rows that match a filter", changing.delete)
    update = add_command(found, "update", "give columns of rows new values", changing.update)
    update.add_argument("--set", action="append", default=[], metavar="COLUMN=VALUE", help="may be repeated")
    update.add_argument("--set-null", action="append", default=[], metavar="COLUMN", help="may be repeated")
    merge = add_command(found, "merge", "update, insert and delete rows by the rows of files or a query", merges.merge)
    merge.add_argument("source", nargs="+", metavar="FILE", help="Parquet, ORC, CSV or JSON (an object on each line)")
    merge.add_argument(
        "--sql", action="store_true", help="instead of files there is one SELECT of DuckDB over the tables"
    )
    merge.add_argument("--on", type=names, metavar="COLUMN,...", required=True, help="the columns that must be equal")
    merge.add_argument(
        "--matched",
        choices=("update", "delete", "ignore"),
        default="update",
        help="what happens to rows that match a row of the source (default: update, of the columns that it has)",
    )
    merge.add_argument(
        "--not-matched",
        choices=("insert", "ignore"),
        default="insert",
        help="what happens to rows of the source that match no row (default: insert)",
    )
    merge.add_argument(
        "--by-source",
        choices=("ignore", "delete"),
        default="ignore",
        help="what happens to rows that match no row of the source (default: ignore)",
    )
    merge.add_argument("--apply", action="store_true", help="do it; without this option only count the rows")
    _add_file_form(merge)
    for command in (delete, update):
        command.add_argument("--where", metavar="FILTER", required=True, help='the rows, such as "price > 5"')
        command.add_argument("--apply", action="store_true", help="do it; without this option only count the rows")


def add_transfers(found: Commands) -> None:
    """Add the commands that import, export and copy rows."""
    files = add_command(found, "import", "write files to a table in one commit", imports.import_files)
    files.add_argument("file", nargs="+", metavar="FILE", help="Parquet, ORC, CSV or JSON (an object on each line)")
    _add_file_form(files)
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
    export = add_scan(found, "export", "write the rows of a table to a file", exports.export)
    export.add_argument("file", metavar="FILE", help="the file to write: .parquet, .csv, .json or .jsonl")
    export.add_argument("--format", choices=("parquet", "csv", "json"), help="default: by the name of the file")
    export.add_argument("--replace", action="store_true", help="replace the file when it exists")
    copy = add_command(found, "copy", "copy the rows of a table to a new table", copies.copy)
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
    add_version(copy)


def _add_file_form(command: argparse.ArgumentParser) -> None:
    """Add the arguments that state what is in files."""
    command.add_argument("--format", choices=("parquet", "orc", "csv", "json"), help="default: by the name of the file")
    command.add_argument("--file-option", action="append", default=[], metavar="KEY=VALUE", help="such as delimiter=;")
    command.add_argument("--columns", type=names, metavar="COLUMN,...", help="the columns to read (default: all)")
