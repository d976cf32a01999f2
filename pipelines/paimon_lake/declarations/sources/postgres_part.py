"""PostgreSQL part: the rules for the declaration of a part that follows a table of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from paimon_lake.declarations.errors import Key
from paimon_lake.declarations.sources.parts import Part
from paimon_lake.declarations.sources.source import PostgresChangesSource

if TYPE_CHECKING:
    from paimon_lake.declarations.table import TableSpec


def postgres_mistakes(spec: TableSpec, part: Part) -> Iterator[tuple[Key, str]]:
    """Yield (key below the part, sentence) for each rule that a part with ``postgres_changes`` does not follow."""
    source = part.source
    if not isinstance(source, PostgresChangesSource):
        return
    if source.database:
        yield (
            ("source", "database"),
            f"{source.database:.40} is a slot that tables share, and a part cannot share one, because it loads alone: "
            "write url, which gives the part a slot of its own, or load a table with this database, and fill the part "
            "by a query with `read: changes` over it",
        )
    if source.source_column:
        yield (
            ("source", "source_column"),
            "is not allowed in a part, which follows one table: load a table from these tables, and fill the part by a "
            "query with `read: changes` over it",
        )
    if not part.has_order_to_fill(spec.columns):
        yield (
            ("order_by",),
            "must be one column of the type BIGINT, which loads fill with the position in the log: the log has no old "
            "values for rows that are deleted, so a column of the source cannot order them",
        )
    for column in set(part.order_by) & set(part.columns):
        yield ("order_by",), f"{column!r:.80} is filled by loads: remove it from columns"
    if part.kinds is not None:
        yield ("kinds",), "is not allowed here: the log of PostgreSQL says what is inserted, updated and deleted"
    for number, lookup in enumerate(source.lookup):
        for column in lookup.on:
            if column in spec.columns and column not in (*spec.primary_key, *part.columns):
                yield (
                    ("source", "lookup", number, "on", column),
                    f"{column!r:.80} is filled by another part, or by loads: the log may not repeat its value; look up "
                    "by a column of this part",
                )
