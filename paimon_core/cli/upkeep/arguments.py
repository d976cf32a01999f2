"""Arguments of the commands that clean up, compact, roll back and repair tables."""

from __future__ import annotations

import argparse
from typing import Any

from paimon_core.cli.catalogs.unfinished import unfinished
from paimon_core.cli.parsing.adding import Commands, add_age, add_command, add_group, add_where
from paimon_core.cli.parsing.values import duration, moment, number, partition
from paimon_core.cli.upkeep import partitions, plans, rewrites, stored_files
from paimon_core.cli.upkeep.plans import add_planned

_IDLE_HELP = "only partitions that had no new file for this time, such as '1 d'"


def _rollback(table: Any, args: argparse.Namespace) -> Any:
    return table.maintenance.plan_rollback(
        snapshot=args.snapshot, tag=args.tag, time=args.time, watermark=args.watermark
    )


def add_rewrites(found: Commands) -> None:
    """Add the commands that rewrite files."""
    compact = add_command(
        found, "compact", "merge the sorted runs of a table, or combine its small files", rewrites.compact
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
        rewrites.compact_database,
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
        rewrites.rewrite_file_index,
    )
    indexes.add_argument("--every", action="store_true", help="also files that have these indexes")
    rescale = add_command(found, "rescale", "rewrite partitions into another number of buckets", rewrites.rescale)
    rescale.add_argument("--buckets", type=number, metavar="N", help="default: option bucket, which alter changes")
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


def add_expiry(found: Commands) -> None:
    """Add the commands that expire snapshots, changelogs, partitions, tags and consumers."""
    expire = add_group(found, "expire", "remove old snapshots, changelogs, partitions, tags or consumers")

    def kept(args: argparse.Namespace) -> dict[str, Any]:
        return {name: getattr(args, name) for name in ("keep_last", "keep_max", "older_than", "limit")}

    for name, plan in (
        ("snapshots", lambda t, a: t.maintenance.plan_snapshot_expiry(**kept(a))),
        ("changelogs", lambda t, a: t.maintenance.plan_changelog_expiry(**kept(a))),
    ):
        command = add_planned(expire, name, f"remove old {name}, and the files that only they use", plan)
        command.add_argument("--keep-last", type=number, metavar="N", help="always keep at least N")
        command.add_argument("--keep-max", type=number, metavar="N", help="keep at most N")
        command.add_argument("--limit", type=number, metavar="N", help="expire at most N in one run")
        add_age(command)
    idle = add_planned(
        expire,
        "partitions",
        "remove partitions that are older than their expiration time",
        lambda t, a: t.maintenance.plan_partition_expiry(older_than=a.older_than, strategy=a.strategy, limit=a.limit),
    )
    idle.add_argument("--strategy", choices=("values-time", "update-time"))
    idle.add_argument("--limit", type=number, metavar="N", help="expire at most N in one run")
    add_age(idle)
    add_age(
        add_planned(
            expire,
            "consumers",
            "remove consumers without recent activity",
            lambda t, a: t.maintenance.plan_consumer_expiry(older_than=a.older_than),
        )
    )
    add_age(
        add_planned(
            expire,
            "tags",
            "remove tags that are older than their retention time",
            lambda t, a: t.maintenance.plan_tag_expiry(older_than=a.older_than),
        )
    )


def add_files(found: Commands) -> None:
    """Add the commands on orphan files, consumers and damaged tables."""
    orphans = add_group(found, "orphans", "remove, list, restore or purge files that no snapshot, tag or branch uses")
    remove = add_planned(
        orphans,
        "remove",
        "move orphan files to quarantine, or delete them",
        lambda t, a: t.maintenance.plan_orphan_removal(mode=a.mode, **_given(a)),
    )
    remove.add_argument("--mode", choices=("quarantine", "delete"), default="quarantine")
    add_age(remove)
    add_command(orphans, "list", "list the quarantines", stored_files.list_quarantines)
    undo = add_command(orphans, "undo", "restore the files of one quarantine", stored_files.undo)
    undo.add_argument("id")
    purge = add_planned(
        orphans,
        "purge",
        "delete the files in quarantine permanently",
        lambda t, a: t.maintenance.plan_quarantine_purge(**_given(a)),
    )
    add_age(purge)
    leftovers = add_command(
        orphans,
        "unfinished",
        "list or remove the hidden directories that killed copies by reference left",
        unfinished,
        table=False,
    )
    leftovers.add_argument("database", nargs="?", help="default: all databases")
    leftovers.add_argument("--apply", action="store_true", help="remove them; without this option they are only listed")
    add_age(leftovers)
    add_command(found, "consumers", "list the consumers (streaming readers) of a table", stored_files.list_consumers)
    add_planned(
        found,
        "repair",
        "make a table with unreadable or missing files usable again; nothing is deleted",
        lambda t, a: t.maintenance.plan_repair(),
    )
    add_planned(
        found,
        "remove-missing",
        "remove the entries of missing data files from the table",
        lambda t, a: t.maintenance.plan_missing_removal(),
    )


def _given(args: argparse.Namespace) -> dict[str, Any]:
    return {} if args.older_than is None else {"older_than": args.older_than}


def add_rollback(found: Commands) -> None:
    """Add the command that makes an older snapshot the latest."""
    rollback = add_planned(found, "rollback", "make an older snapshot the latest again", _rollback)
    target = rollback.add_mutually_exclusive_group(required=True)
    target.add_argument("--snapshot", type=number)
    target.add_argument("--tag")
    target.add_argument("--time", type=moment)
    target.add_argument("--watermark", type=number)


def add_marks(found: Commands) -> None:
    """Add the commands on manifests, hint files and complete partitions."""
    add_command(found, "compact-manifests", "rewrite the manifests into fewer, larger ones", rewrites.compact_manifests)
    add_command(found, "repair-hints", "correct the hint files LATEST and EARLIEST", stored_files.repair_hints)
    done = add_command(found, "mark-done", "mark partitions as complete", partitions.mark_done)
    done.add_argument("partition", nargs="+", type=partition, metavar="KEY=VALUE,...")


def add_apply(found: Commands) -> None:
    """Add the command that applies a written plan."""
    plan = add_command(found, "apply", "apply a plan that --plan-out wrote", plans.apply, table=False)
    plan.add_argument("file", metavar="FILE")
