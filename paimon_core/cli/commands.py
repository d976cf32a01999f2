"""Commands: the parser of all commands, with their arguments and help texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from paimon_core.cli import (
    cluster_command,
    completion_command,
    health_commands,
    maintain_command,
    option_commands,
    plan_commands,
    read_commands,
    report_command,
    row_arguments,
    show_command,
    write_commands,
)
from paimon_core.cli.adding import add_command, add_where
from paimon_core.cli.arguments import Parser, Version, add_plan_arguments, duration, moment, partition
from paimon_core.cli.plan_commands import Planner
from paimon_core.health.finding import FINDINGS

OPTIONS, ARCHIVE = "options", "cluster-archive"
WITHOUT_WAREHOUSE = (OPTIONS, ARCHIVE, completion_command.COMPLETION)
_IDLE_HELP = "only partitions that had no new file for this time, such as '1 d'"
_OPTIONS_HELP = "list the options of tables, or explain one of them"
_ARCHIVE_HELP = "write an archive of the packages that the Python workers of a Spark cluster need"
_Commands = Any  # argparse has no public type for its group of subcommands


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = Parser(prog="paimon-core", description="List, check, compact and clean up Paimon tables.")
    top.add_argument("--version", action=Version, nargs=0, help="print the version")
    found = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    tables = add_command(found, "tables", "list the tables of the warehouse", read_commands.tables, table=False)
    tables.add_argument("database", nargs="?", help="list only the tables of this database")
    row_arguments.add_commands(found)
    add_command(found, "snapshots", "list the snapshots of a table", read_commands.snapshots)
    show = add_command(
        found, "show", "print a system table, such as db.t$files or sys.tables", show_command.show, table=False
    )
    show.add_argument("table", metavar="DATABASE.TABLE$NAME")
    show.add_argument("--columns", type=lambda text: text.split(","), metavar="COLUMN,...", help="only these columns")
    show.add_argument("--limit", type=int, metavar="N", help="at most so many rows")
    add_where(show, 'only the rows that match, such as "level = 0 and bucket < 4"')
    check = add_command(
        found, "fsck", "check the invariants of a table and all of its branches", read_commands.fsck, branch=False
    )
    check.add_argument("--deep", action="store_true", help="also read all rows")
    _add_health(found)
    alter = add_command(found, "alter", "change columns, comments and options of a table", write_commands.alter)
    alter.add_argument(
        "change",
        nargs="+",
        metavar="CHANGE",
        help="such as 'ADD COLUMN note STRING AFTER id', 'RENAME COLUMN a TO b', \"SET ('write-only' = 'true')\"; "
        "all changes apply, or none",
    )
    _add_tags(found)
    _add_branches(found)
    _add_expiry(found)
    _add_files(found)
    rollback = _planned(found, "rollback", "make an older snapshot the latest again", _rollback)
    target = rollback.add_mutually_exclusive_group(required=True)
    target.add_argument("--snapshot", type=int)
    target.add_argument("--tag")
    target.add_argument("--time", type=moment)
    target.add_argument("--watermark", type=int)
    _add_rewrites(found)
    add_command(
        found, "compact-manifests", "rewrite the manifests into fewer, larger ones", write_commands.compact_manifests
    )
    add_command(found, "repair-hints", "correct the hint files LATEST and EARLIEST", write_commands.repair_hints)
    done = add_command(found, "mark-done", "mark partitions as complete", write_commands.mark_done)
    done.add_argument("partition", nargs="+", type=partition, metavar="KEY=VALUE,...")
    _add_without_warehouse(found, top)
    plan = add_command(found, "apply", "apply a plan that --plan-out wrote", plan_commands.apply, table=False)
    plan.add_argument("file", metavar="FILE")
    return top


def _add_without_warehouse(found: _Commands, top: argparse.ArgumentParser) -> None:
    options = found.add_parser(OPTIONS, help=_OPTIONS_HELP, description=_OPTIONS_HELP)
    options.set_defaults(run=option_commands.options)
    options.add_argument("--json", action="store_true", help="print one JSON value")
    options.add_argument("name", nargs="?", help="the name of one option, or a part of names")
    archive = found.add_parser(ARCHIVE, help=_ARCHIVE_HELP, description=_ARCHIVE_HELP)
    archive.set_defaults(run=cluster_command.cluster_archive)
    archive.add_argument("--json", action="store_true", help="print one JSON value")
    archive.add_argument("--extras", type=lambda text: text.split(","), default=[], help="extras, such as s3,polars")
    archive.add_argument("target", type=Path, metavar="NAME.tar.gz", help="the file to write")
    text = completion_command.HELP
    completion = found.add_parser(completion_command.COMPLETION, help=text, description=text)
    completion.set_defaults(run=lambda args, out: completion_command.completion(top, args, out))
    completion.add_argument("--json", action="store_true", help="print one JSON value")
    completion_command.add_shell(completion)


def _planned(found: _Commands, name: str, text: str, plan: Planner) -> argparse.ArgumentParser:
    command = add_command(found, name, text, plan_commands.planned(plan))
    add_plan_arguments(command)
    return command


def _group(found: _Commands, name: str, text: str) -> _Commands:
    group = found.add_parser(name, help=text, description=text)
    return group.add_subparsers(dest="action", required=True, metavar="ACTION")


def _rollback(table: Any, args: argparse.Namespace) -> Any:
    return table.maintenance.plan_rollback(
        snapshot=args.snapshot, tag=args.tag, time=args.time, watermark=args.watermark
    )


def _add_health(found: _Commands) -> None:
    doctor = add_command(
        found,
        "doctor",
        "tell what is wrong with tables, what it costs and what mends it",
        health_commands.doctor,
        table=False,
    )
    doctor.add_argument(
        "target", nargs="?", metavar="DATABASE[.TABLE]", help="only this table or database (default: all tables)"
    )
    doctor.add_argument("--branch", help="branch of the table (default: main)")
    doctor.add_argument(
        "--fix",
        nargs="*",
        metavar="FINDING",
        choices=FINDINGS,
        help="show the mends and run them: all that are safe, or the findings that are named",
    )
    doctor.add_argument(
        "--threshold", action="append", default=[], metavar="NAME=NUMBER", help="from when on something is a finding"
    )
    maintain = add_command(
        found,
        "maintain",
        "do the maintenance that is worth its cost, within a budget",
        maintain_command.maintain,
        table=False,
    )
    maintain_command.add_arguments(maintain)
    metrics = add_command(
        found, "metrics", "print measures of tables as OpenMetrics text", health_commands.metrics, table=False
    )
    metrics.add_argument(
        "target", nargs="?", metavar="DATABASE[.TABLE]", help="only this table or database (default: all tables)"
    )
    metrics.add_argument("--output", type=Path, metavar="FILE", help="replace this file instead of printing")
    metrics.add_argument(
        "--otlp",
        nargs="?",
        const="",
        metavar="URL",
        help="send the metrics to this OpenTelemetry collector instead of printing (default: the URL in "
        "OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    top = add_command(found, "top", "list tables by size, files, growth or cost", health_commands.top, table=False)
    top.add_argument("database", nargs="?", help="only the tables of this database")
    top.add_argument("--by", choices=health_commands.ORDERS, default="size", help="the order (default: size)")
    top.add_argument("--limit", type=int, default=20, metavar="N", help="at most so many tables (default: 20)")
    report = add_command(
        found, "report", "write the health of tables as an HTML page", report_command.report, table=False
    )
    report.add_argument(
        "target", nargs="?", metavar="DATABASE[.TABLE]", help="only this table or database (default: all tables)"
    )
    report.add_argument("--branch", help="branch of the table (default: main)")
    report.add_argument("--output", metavar="FILE.html", help="the file to write or replace (default: print the page)")


def _add_rewrites(found: _Commands) -> None:
    compact = add_command(
        found, "compact", "merge the sorted runs of a table, or combine its small files", write_commands.compact
    )
    extent = compact.add_mutually_exclusive_group()
    extent.add_argument("--full", action="store_true", help="always compact, into one sorted run for each bucket")
    extent.add_argument(
        "--order-by", metavar="COLUMN,...", help="sort all rows of each partition of an append table without buckets"
    )
    compact.add_argument("--strategy", metavar="order|zorder|hilbert", help="how --order-by sorts (default: order)")
    compact.add_argument(
        "--partition-idle-time",
        type=duration,
        metavar="DURATION",
        help=_IDLE_HELP,
    )
    databases = add_command(
        found,
        "compact-database",
        "compact the tables of databases one after the other, and tell what happened to each",
        write_commands.compact_database,
        table=False,
    )
    for name, what in (
        ("including-databases", "only databases whose name the regular expression matches"),
        ("including-tables", "only tables whose name DATABASE.TABLE the regular expression matches"),
        ("excluding-tables", "no tables whose name DATABASE.TABLE the regular expression matches"),
    ):
        databases.add_argument(f"--{name}", metavar="REGEX", help=what)
    databases.add_argument("--full", action="store_true", help="always compact, into one sorted run for each bucket")
    databases.add_argument("--partition-idle-time", type=duration, metavar="DURATION", help=_IDLE_HELP)
    indexes = add_command(
        found,
        "rewrite-file-index",
        "give existing data files the indexes of the options file-index.<kind>.columns",
        write_commands.rewrite_file_index,
    )
    indexes.add_argument("--every", action="store_true", help="also files that have these indexes")
    rescale = add_command(found, "rescale", "rewrite partitions into another number of buckets", write_commands.rescale)
    rescale.add_argument("--buckets", type=int, metavar="N", help="default: option bucket, which alter changes")
    for command in (compact, rescale):
        which = command.add_mutually_exclusive_group()
        which.add_argument(
            "--partition",
            action="append",
            type=partition,
            metavar="KEY=VALUE,...",
            help="only this partition; may be repeated (default: all partitions)",
        )
        add_where(which, "only the partitions that match, such as \"dt >= '2026-05-01'\"")
    add_where(indexes, "only the partitions that match, such as \"dt >= '2026-05-01'\"")


def _add_tags(found: _Commands) -> None:
    tags = _group(found, "tags", "list, create, rename or delete tags (named snapshots)")
    add_command(tags, "list", "list the tags", read_commands.list_tags)
    create = add_command(tags, "create", "create a tag for a snapshot (default: the latest)", write_commands.create_tag)
    create.add_argument("name")
    create.add_argument("--snapshot", type=int)
    create.add_argument("--time", type=moment, help="tag the first snapshot at or after this time")
    create.add_argument("--watermark", type=int, help="tag the first snapshot with this watermark or a later one")
    create.add_argument(
        "--keep-for", type=duration, metavar="DURATION", help="let tag expiry delete the tag after this time"
    )
    rename = add_command(tags, "rename", "rename a tag", write_commands.rename_tag)
    rename.add_argument("name")
    rename.add_argument("new_name")
    delete = _planned(
        tags,
        "delete",
        "delete a tag, and the files that only this tag uses",
        lambda t, a: t.maintenance.plan_tag_deletion(a.name),
    )
    delete.add_argument("name")


def _add_branches(found: _Commands) -> None:
    branches = _group(found, "branches", "list, create, rename, fast-forward or delete branches")
    add_command(branches, "list", "list the branches", read_commands.list_branches)
    create = add_command(branches, "create", "create a branch, empty or with rows", write_commands.create_branch)
    create.add_argument("name")
    start = create.add_mutually_exclusive_group()
    start.add_argument("--tag", help="with the rows of this tag")
    start.add_argument("--from-latest", action="store_true", help="with the rows of the latest snapshot")
    rename = add_command(branches, "rename", "rename a branch", write_commands.rename_branch)
    rename.add_argument("name")
    rename.add_argument("new_name")
    forward = add_command(
        branches,
        "fast-forward",
        "take over the newer snapshots, schemas and tags of a branch",
        write_commands.fast_forward,
    )
    forward.add_argument("name")
    delete = _planned(branches, "delete", "delete a branch", lambda t, a: t.maintenance.plan_branch_deletion(a.name))
    delete.add_argument("name")


def _add_expiry(found: _Commands) -> None:
    expire = _group(found, "expire", "remove old snapshots, changelogs, partitions, tags or consumers")

    def kept(args: argparse.Namespace) -> dict[str, Any]:
        return {name: getattr(args, name) for name in ("keep_last", "keep_max", "older_than", "limit")}

    for name, plan in (
        ("snapshots", lambda t, a: t.maintenance.plan_snapshot_expiry(**kept(a))),
        ("changelogs", lambda t, a: t.maintenance.plan_changelog_expiry(**kept(a))),
    ):
        command = _planned(expire, name, f"remove old {name}, and the files that only they use", plan)
        command.add_argument("--keep-last", type=int, metavar="N", help="always keep at least N")
        command.add_argument("--keep-max", type=int, metavar="N", help="keep at most N")
        command.add_argument("--limit", type=int, metavar="N", help="expire at most N in one run")
        _age(command)
    partitions = _planned(
        expire,
        "partitions",
        "remove partitions that are older than their expiration time",
        lambda t, a: t.maintenance.plan_partition_expiry(older_than=a.older_than, strategy=a.strategy, limit=a.limit),
    )
    partitions.add_argument("--strategy", choices=("values-time", "update-time"))
    partitions.add_argument("--limit", type=int, metavar="N", help="expire at most N in one run")
    _age(partitions)
    _age(
        _planned(
            expire,
            "consumers",
            "remove consumers without recent activity",
            lambda t, a: t.maintenance.plan_consumer_expiry(older_than=a.older_than),
        )
    )
    _age(
        _planned(
            expire,
            "tags",
            "remove tags that are older than their retention time",
            lambda t, a: t.maintenance.plan_tag_expiry(older_than=a.older_than),
        )
    )


def _age(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--older-than",
        type=duration,
        metavar="DURATION",
        help="age such as '7 d' (default: the table's options; for orphans remove 1 d, for orphans purge 7 d)",
    )


def _add_files(found: _Commands) -> None:
    orphans = _group(found, "orphans", "remove, list, restore or purge files that no snapshot, tag or branch uses")
    remove = _planned(
        orphans,
        "remove",
        "move orphan files to quarantine, or delete them",
        lambda t, a: t.maintenance.plan_orphan_removal(mode=a.mode, **_given(a)),
    )
    remove.add_argument("--mode", choices=("quarantine", "delete"), default="quarantine")
    _age(remove)
    add_command(orphans, "list", "list the quarantines", read_commands.list_quarantines)
    undo = add_command(orphans, "undo", "restore the files of one quarantine", write_commands.undo)
    undo.add_argument("id")
    purge = _planned(
        orphans,
        "purge",
        "delete the files in quarantine permanently",
        lambda t, a: t.maintenance.plan_quarantine_purge(**_given(a)),
    )
    _age(purge)
    add_command(found, "consumers", "list the consumers (streaming readers) of a table", read_commands.list_consumers)
    _planned(
        found,
        "repair",
        "make a table with unreadable or missing files usable again; nothing is deleted",
        lambda t, a: t.maintenance.plan_repair(),
    )
    _planned(
        found,
        "remove-missing",
        "remove the entries of missing data files from the table",
        lambda t, a: t.maintenance.plan_missing_removal(),
    )


def _given(args: argparse.Namespace) -> dict[str, Any]:
    return {} if args.older_than is None else {"older_than": args.older_than}
