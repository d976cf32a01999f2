"""Tags: lists, creates and renames tags."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import utc_time

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog


def list_tags(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the tags of a table, by name."""
    rows = [
        (t.name, t.snapshot.id, utc_time(t.snapshot.time_millis), utc_time(t.expires_millis))
        for t in table_of(catalog, args).tags.list()
    ]
    out.table(("tag", "snapshot", "time", "expires"), rows, "no tags")
    return 0


def create_tag(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Create a tag for a snapshot."""
    tag = table_of(catalog, args).tags.create(
        args.name, args.snapshot, time=args.time, watermark=args.watermark, keep_for=args.keep_for
    )
    out.say(f"created tag {tag.name} for snapshot {tag.snapshot.id}", {"tag": tag.name, "snapshot": tag.snapshot.id})
    return 0


def rename_tag(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rename a tag."""
    tag = table_of(catalog, args).tags.rename(args.name, args.new_name)
    out.say(f"renamed tag {args.name} to {tag.name}", {"tag": tag.name, "snapshot": tag.snapshot.id})
    return 0
