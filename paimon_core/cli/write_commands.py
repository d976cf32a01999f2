"""The commands that change a table and lose nothing: they do it at once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.cli.catalogs import table_of
from paimon_core.cli.output import Output, sentence
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.metadata.snapshot import Snapshot
    from paimon_core.table.table import Table


def create_tag(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Name a snapshot."""
    tag = table_of(catalog, asked).tags.create(
        asked.name, asked.snapshot, time=asked.time, watermark=asked.watermark, keep_for=asked.keep_for
    )
    out.say(f"tag {tag.name} is snapshot {tag.snapshot.id}", {"tag": tag.name, "snapshot": tag.snapshot.id})
    return 0


def rename_tag(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Give a tag another name."""
    tag = table_of(catalog, asked).tags.rename(asked.name, asked.new_name)
    out.say(f"tag {asked.name} is called {tag.name} now", {"tag": tag.name, "snapshot": tag.snapshot.id})
    return 0


def create_branch(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Make a branch, empty or from a tag."""
    table_of(catalog, asked).branches.create(asked.name, tag=asked.tag)
    out.say(f"branch {asked.name} is made", {"branch": asked.name})
    return 0


def rename_branch(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Give a branch another name."""
    table_of(catalog, asked).branches.rename(asked.name, asked.new_name)
    out.say(f"branch {asked.name} is called {asked.new_name} now", {"branch": asked.new_name})
    return 0


def fast_forward(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Take over what a branch has on top."""
    return _committed(out, table_of(catalog, asked).branches.fast_forward(asked.name))


def compact(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Merge sorted runs, or pack small files."""
    return _committed(out, table_of(catalog, asked).compact(full=asked.full))


def compact_manifests(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Rewrite the manifests as few full ones."""
    return _committed(out, table_of(catalog, asked).maintenance.compact_manifests())


def repair_hints(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Make LATEST and EARLIEST right."""
    report = table_of(catalog, asked).maintenance.repair_hints()
    out.say(sentence(report), report)
    return 0


def mark_done(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Tell others that partitions are complete."""
    table = table_of(catalog, asked)
    files = table.maintenance.mark_done(
        *({k: _value(table, k, v) for k, v in spec.items()} for spec in asked.partition)
    )
    out.say("\n".join(files), list(files))
    return 0


def _value(table: Table, column: str, text: str) -> Any:
    """A value of a partition column from its text."""
    (field,) = table.schema.select([column])
    try:
        return pa.array([text]).cast(field.type.to_arrow())[0].as_py()
    except (pa.ArrowException, ValueError):
        raise InvalidRequest(
            f"{text!r:.60} is no {field.type} for partition column {column!r}", column=column
        ) from None


def undo(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Bring back what an orphan removal put aside; 1 when some of it is lost."""
    report = table_of(catalog, asked).maintenance.undo(asked.id)
    out.say(sentence(report), report)
    return 1 if report.lost else 0


def _committed(out: Output, snapshot: Snapshot | None) -> int:
    text = "nothing to do" if snapshot is None else f"snapshot {snapshot.id} ({snapshot.commit_kind})"
    out.say(text, {"snapshot": None if snapshot is None else snapshot.id})
    return 0
