"""Unfinished tables as text and as values of JSON types; the command that lists and removes them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.argument_checks import as_millis
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted, utc_time
from paimon_core.errors import UnsupportedFeature

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.catalog.unfinished import Unfinished


def unfinished(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the hidden directories that killed copies by reference left; with ``--apply``, delete them."""
    from paimon_core.catalog.filesystem import FilesystemCatalog
    from paimon_core.catalog.unfinished import OLD_MILLIS, remove_unfinished, unfinished_tables

    if not isinstance(catalog, FilesystemCatalog):
        raise UnsupportedFeature(
            "orphans unfinished needs a catalog of type filesystem: only there do copies by reference prepare tables"
        )
    age = OLD_MILLIS if args.older_than is None else as_millis("--older-than", args.older_than)
    found = (remove_unfinished if args.apply else unfinished_tables)(catalog, args.database, older_than_millis=age)
    lines = [unfinished_text(one) for one in found]
    if not found:
        lines = ["no unfinished tables"]
    elif args.apply:
        lines.append(f"done: {counted(len(found), 'unfinished table')} deleted")
    else:
        lines.append("nothing was deleted: add --apply")
    out.say("\n".join(lines), {"applied": bool(args.apply), "unfinished": [unfinished_plain(one) for one in found]})
    return 0


def old_unfinished(catalog: Catalog, target: str | None) -> list[Unfinished]:
    """Return the old unfinished tables of a database, or of all; none when ``target`` is a table."""
    from paimon_core.catalog.filesystem import FilesystemCatalog
    from paimon_core.catalog.unfinished import unfinished_tables

    if not isinstance(catalog, FilesystemCatalog) or (target is not None and "." in target):
        return []
    return unfinished_tables(catalog, target)


def unfinished_text(one: Unfinished) -> str:
    """Return the sentence on one unfinished table."""
    what = f"a copy to {one.table} that was killed left" if one.table else "a copy that was killed left"
    return f"{one.path}: {what} {counted(one.files, 'file')}, last changed {utc_time(one.modified_millis)}"


def unfinished_plain(one: Unfinished) -> dict[str, object]:
    """Return one unfinished table as values of JSON types."""
    return {"path": one.path, "table": one.table, "files": one.files, "modified": utc_time(one.modified_millis)}
