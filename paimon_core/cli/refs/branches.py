"""Branches: lists, creates, renames and fast-forwards branches."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import say_commit

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog


def list_branches(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the branches of a table except main, by name."""
    names = table_of(catalog, args).branches.list()
    out.say("\n".join(names) or "no branch except main", names)
    return 0


def create_branch(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Create a branch: empty, from a tag, or from the latest snapshot."""
    table_of(catalog, args).branches.create(args.name, tag=args.tag, from_latest=args.from_latest)
    out.say(f"created branch {args.name}", {"branch": args.name})
    return 0


def rename_branch(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rename a branch."""
    table_of(catalog, args).branches.rename(args.name, args.new_name)
    out.say(f"renamed branch {args.name} to {args.new_name}", {"branch": args.new_name})
    return 0


def fast_forward(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Add the newer snapshots, schemas and tags of another branch to this branch."""
    return say_commit(out, table_of(catalog, args).branches.fast_forward(args.name))
