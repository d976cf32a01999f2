"""Arguments of the commands on tags and branches."""

from __future__ import annotations

from paimon_core.cli.parsing.adding import Commands, add_command, add_group
from paimon_core.cli.parsing.values import duration, moment, number
from paimon_core.cli.refs import branches, tags
from paimon_core.cli.upkeep.plans import add_planned


def add_tags(found: Commands) -> None:
    """Add the commands on tags."""
    group = add_group(found, "tags", "list, create, rename or delete tags (named snapshots)")
    add_command(group, "list", "list the tags", tags.list_tags)
    create = add_command(group, "create", "create a tag for a snapshot (default: the latest)", tags.create_tag)
    create.add_argument("name")
    create.add_argument("--snapshot", type=number)
    create.add_argument("--time", type=moment, help="tag the first snapshot at or after this time")
    create.add_argument("--watermark", type=number, help="tag the first snapshot with this watermark or a later one")
    create.add_argument(
        "--keep-for", type=duration, metavar="DURATION", help="let tag expiry delete the tag after this time"
    )
    rename = add_command(group, "rename", "rename a tag", tags.rename_tag)
    rename.add_argument("name")
    rename.add_argument("new_name")
    delete = add_planned(
        group,
        "delete",
        "delete a tag, and the files that only this tag uses",
        lambda t, a: t.maintenance.plan_tag_deletion(a.name),
    )
    delete.add_argument("name")


def add_branches(found: Commands) -> None:
    """Add the commands on branches."""
    group = add_group(found, "branches", "list, create, rename, fast-forward or delete branches")
    add_command(group, "list", "list the branches", branches.list_branches)
    create = add_command(group, "create", "create a branch, empty or with rows", branches.create_branch)
    create.add_argument("name")
    start = create.add_mutually_exclusive_group()
    start.add_argument("--tag", help="with the rows of this tag")
    start.add_argument("--from-latest", action="store_true", help="with the rows of the latest snapshot")
    rename = add_command(group, "rename", "rename a branch", branches.rename_branch)
    rename.add_argument("name")
    rename.add_argument("new_name")
    forward = add_command(
        group,
        "fast-forward",
        "take over the newer snapshots, schemas and tags of a branch",
        branches.fast_forward,
    )
    forward.add_argument("name")
    delete = add_planned(group, "delete", "delete a branch", lambda t, a: t.maintenance.plan_branch_deletion(a.name))
    delete.add_argument("name")
