"""Lake tables: the source of a part of a wide table is another table of the lake; a mapping table gives its rows the
key of the wide table.

The mapping is a third table of the lake. It has the primary key of the wide table and, as a foreign key, the primary
key of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from paimon_lake.declarations.errors import Key, Mistake, nearest
from paimon_lake.declarations.model import Model, Texts
from paimon_lake.declarations.sources.lookup import table_name

if TYPE_CHECKING:
    from paimon_lake.declarations.sources.parts import Part
    from paimon_lake.declarations.sources.source import Source
    from paimon_lake.declarations.table import TableSpec


class KeyFrom(Model):
    """A mapping table, which states to which rows of the wide table (any number) a row of the source belongs."""

    table: Annotated[str, AfterValidator(table_name)]
    """The mapping table, ``<database>.<table>``; it is declared, and its primary key is the key of the wide table."""
    on: Annotated[Mapping[str, str], Field(min_length=1)]
    """Maps the primary key of the source to columns of the mapping table. A mapping row that has a null in one of these
    columns belongs to no row of the source.
    """
    columns: Annotated[Mapping[str, str], Field(min_length=1)]
    """Maps the primary key of this table to the primary key of the mapping table."""


class LakeTableSource(Model):
    """A table of the lake that lacks the key of the wide table; only for parts. Each load reads the changed rows."""

    type: Literal["table"]
    """A table of the lake, whose rows get their key from a mapping table."""
    table: Annotated[str, AfterValidator(table_name)]
    """The table, ``<database>.<table>``; it is declared and has a primary key."""
    key_from: KeyFrom
    """The mapping table that gives the key of the wide table."""
    rename: Texts = Field(default={})
    """Maps a column of the source to a column of this table; every other column of the part has the same name in the
    source and in this table.
    """
    cache_bytes: Annotated[int, Field(ge=1 << 20, le=1 << 40)] = 512 << 20
    """The greatest size of the columns that a load reads, in bytes of decoded values. This size holds for the source,
    for the mapping table, and for the changed rows of each of these tables. Each process keeps the tables in temporary
    files; larger tables are refused."""

    @property
    def tables(self) -> tuple[str, str]:
        """The names of the source and of the mapping table."""
        return self.table, self.key_from.table

    def columns_of(self, filled: Sequence[str]) -> dict[str, str]:
        """Return a mapping from each column of the wide table in ``filled`` to its column of the source."""
        named = {mine: theirs for theirs, mine in self.rename.items()}
        return {column: named.get(column, column) for column in filled}


def followed_tables(source: Source | None) -> tuple[str, ...]:
    """Return the tables whose changes a part with ``key_from`` follows; () for other sources."""
    return source.tables if isinstance(source, LakeTableSource) else ()


def check_lake_table(spec: TableSpec) -> None:
    """Raise Mistake for a source of type ``table`` outside of a part of a table."""
    if isinstance(spec.source, LakeTableSource) and not spec.is_part:
        raise Mistake("table fills only parts of a wide table: use a source of type sql", "source", "type")


def key_from_mistakes(spec: TableSpec, part: Part) -> Iterator[tuple[Key, str]]:
    """Yield (key below the part, sentence) for each rule that a part with ``key_from`` does not follow."""
    source = part.source
    if not isinstance(source, LakeTableSource):
        return
    if not part.has_order_to_fill(spec.columns):
        yield (
            ("order_by",),
            "must be one column of the type BIGINT, which loads fill: when the mapping changes, an older row of the "
            "source replaces a newer one, so a column of the source cannot order them",
        )
    for column in set(part.order_by) & {*part.columns, *source.rename.values()}:
        yield ("order_by",), f"{column!r:.80} is filled by loads: remove it from columns and from source.rename"
    if part.kinds is not None:
        yield ("kinds",), "is not allowed beside key_from: the changes of both tables say what is deleted"
    if part.deletes != "columns":
        yield ("deletes",), "must be columns: a row of the source that is deleted does not end the rows it belongs to"
    for theirs, mine in source.rename.items():
        if mine not in part.columns:
            yield ("source", "rename", theirs), f"{mine!r:.80} is not in the columns of this part"
    if len(set(source.rename.values())) < len(source.rename):
        yield ("source", "rename"), "gives one column two values"
    key = ("source", "key_from", "columns")
    for column in source.key_from.columns:
        if column not in spec.primary_key:
            near = nearest(column, spec.primary_key)
            yield (*key, column), f"{column!r:.80} is not in the primary_key of this table{near}"
    for column in spec.primary_key:
        if column not in source.key_from.columns:
            yield key, f"{column!r:.80} is missing: the mapping table gives each column of the primary_key"
