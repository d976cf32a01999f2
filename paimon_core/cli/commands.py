"""The commands and their arguments."""

from __future__ import annotations

import argparse
from typing import Any

from paimon_core.cli import plan_commands, read_commands, write_commands
from paimon_core.cli.arguments import Parser, add_plan_arguments, duration, moment, partition
from paimon_core.cli.catalogs import add_arguments
from paimon_core.cli.plan_commands import Command, Planner

_Commands = Any  # argparse gives its group of commands no public type


def parser() -> argparse.ArgumentParser:
    """All of the command line."""
    top = Parser(prog="paimon-core", description="Look at Paimon tables, check them, keep them healthy.")
    found = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    tables = _add(found, "tables", "the tables of the warehouse", read_commands.tables, table=False)
    tables.add_argument("database", nargs="?", help="only those of this database")
    _add(found, "snapshots", "the snapshots of a table", read_commands.snapshots)
    check = _add(
        found, "fsck", "check the invariants of a table, on all of its branches", read_commands.fsck, branch=False
    )
    check.add_argument("--deep", action="store_true", help="read all rows too")
    _add_tags(found)
    _add_branches(found)
    _add_expiry(found)
    _add_files(found)
    rollback = _planned(found, "rollback", "go back to a snapshot", _rollback)
    target = rollback.add_mutually_exclusive_group(required=True)
    target.add_argument("--snapshot", type=int)
    target.add_argument("--tag")
    target.add_argument("--time", type=moment)
    target.add_argument("--watermark", type=int)
    compact = _add(
        found, "compact", "merge the sorted runs of a table, or pack its small files", write_commands.compact
    )
    compact.add_argument("--full", action="store_true", help="into one run a bucket, whether called for or not")
    _add(found, "compact-manifests", "rewrite the manifests as few full ones", write_commands.compact_manifests)
    _add(found, "repair-hints", "make the hints LATEST and EARLIEST right", write_commands.repair_hints)
    done = _add(found, "mark-done", "mark partitions as complete", write_commands.mark_done)
    done.add_argument("partition", nargs="+", type=partition, metavar="KEY=VALUE,...")
    plan = _add(found, "apply", "do what a plan says that --plan-out wrote", plan_commands.apply, table=False)
    plan.add_argument("file", metavar="FILE")
    return top


def _add(
    found: _Commands, name: str, text: str, run: Command, *, table: bool = True, branch: bool = True
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = found.add_parser(name, help=text, description=text)
    command.set_defaults(run=run)
    add_arguments(command)
    command.add_argument("--json", action="store_true", help="print one JSON value")
    if table:
        command.add_argument("table", metavar="DATABASE.TABLE")
    if table and branch:
        command.add_argument("--branch", help="this branch of the table (default: main)")
    return command


def _planned(found: _Commands, name: str, text: str, plan: Planner) -> argparse.ArgumentParser:
    command = _add(found, name, text, plan_commands.planned(plan))
    add_plan_arguments(command)
    return command


def _group(found: _Commands, name: str, text: str) -> _Commands:
    group = found.add_parser(name, help=text, description=text)
    return group.add_subparsers(dest="action", required=True, metavar="ACTION")


def _rollback(table: Any, asked: argparse.Namespace) -> Any:
    return table.maintenance.plan_rollback(
        snapshot=asked.snapshot, tag=asked.tag, time=asked.time, watermark=asked.watermark
    )


def _add_tags(found: _Commands) -> None:
    tags = _group(found, "tags", "the named snapshots of a table")
    _add(tags, "list", "list them", read_commands.list_tags)
    create = _add(tags, "create", "name a snapshot (default: the latest)", write_commands.create_tag)
    create.add_argument("name")
    create.add_argument("--snapshot", type=int)
    create.add_argument("--time", type=moment, help="the first snapshot at or after this time")
    create.add_argument("--watermark", type=int, help="the first snapshot with this watermark or a later one")
    create.add_argument("--keep-for", type=duration, metavar="DURATION", help="let expiry delete it then")
    rename = _add(tags, "rename", "give one another name", write_commands.rename_tag)
    rename.add_argument("name")
    rename.add_argument("new_name")
    delete = _planned(
        tags,
        "delete",
        "delete one, and the files that only it used",
        lambda t, a: t.maintenance.plan_tag_deletion(a.name),
    )
    delete.add_argument("name")


def _add_branches(found: _Commands) -> None:
    branches = _group(found, "branches", "the branches of a table")
    _add(branches, "list", "list them", read_commands.list_branches)
    create = _add(branches, "create", "make one, empty or from a tag", write_commands.create_branch)
    create.add_argument("name")
    create.add_argument("--tag")
    rename = _add(branches, "rename", "give one another name", write_commands.rename_branch)
    rename.add_argument("name")
    rename.add_argument("new_name")
    forward = _add(branches, "fast-forward", "take over what a branch has on top", write_commands.fast_forward)
    forward.add_argument("name")
    delete = _planned(branches, "delete", "delete one", lambda t, a: t.maintenance.plan_branch_deletion(a.name))
    delete.add_argument("name")


def _add_expiry(found: _Commands) -> None:
    expire = _group(found, "expire", "remove what is old")

    def kept(asked: argparse.Namespace) -> dict[str, Any]:
        return {name: getattr(asked, name) for name in ("keep_last", "keep_max", "older_than", "limit")}

    for name, plan in (
        ("snapshots", lambda t, a: t.maintenance.plan_snapshot_expiry(**kept(a))),
        ("changelogs", lambda t, a: t.maintenance.plan_changelog_expiry(**kept(a))),
    ):
        command = _planned(expire, name, f"old {name} and the files that only they use", plan)
        command.add_argument("--keep-last", type=int, metavar="N", help="always keep so many")
        command.add_argument("--keep-max", type=int, metavar="N", help="never keep more")
        command.add_argument("--limit", type=int, metavar="N", help="expire no more at once")
        _age(command)
    partitions = _planned(
        expire,
        "partitions",
        "partitions whose time is over",
        lambda t, a: t.maintenance.plan_partition_expiry(older_than=a.older_than, strategy=a.strategy, limit=a.limit),
    )
    partitions.add_argument("--strategy", choices=("values-time", "update-time"))
    partitions.add_argument("--limit", type=int, metavar="N", help="expire no more at once")
    _age(partitions)
    _age(
        _planned(
            expire,
            "consumers",
            "consumers that fell silent",
            lambda t, a: t.maintenance.plan_consumer_expiry(older_than=a.older_than),
        )
    )
    _age(
        _planned(
            expire,
            "tags",
            "tags whose retention is over",
            lambda t, a: t.maintenance.plan_tag_expiry(older_than=a.older_than),
        )
    )


def _age(command: argparse.ArgumentParser) -> None:
    command.add_argument("--older-than", type=duration, metavar="DURATION", help="such as '7 d' (default: the options)")


def _add_files(found: _Commands) -> None:
    orphans = _group(found, "orphans", "files that nothing uses")
    remove = _planned(
        orphans,
        "remove",
        "put them aside, or delete them",
        lambda t, a: t.maintenance.plan_orphan_removal(mode=a.mode, **_given(a)),
    )
    remove.add_argument("--mode", choices=("quarantine", "delete"), default="quarantine")
    _age(remove)
    _add(orphans, "list", "what was put aside", read_commands.list_quarantines)
    undo = _add(orphans, "undo", "bring back what one removal put aside", write_commands.undo)
    undo.add_argument("id")
    purge = _planned(
        orphans,
        "purge",
        "delete for good what was put aside",
        lambda t, a: t.maintenance.plan_quarantine_purge(**_given(a)),
    )
    _age(purge)
    _add(found, "consumers", "the streaming readers of a table", read_commands.list_consumers)
    _planned(
        found,
        "remove-missing",
        "take the entries of data files that are gone out of the table",
        lambda t, a: t.maintenance.plan_missing_removal(),
    )


def _given(asked: argparse.Namespace) -> dict[str, Any]:
    return {} if asked.older_than is None else {"older_than": asked.older_than}
