"""Parts: sources that fill different columns of one wide table, by its primary key.

Each part has columns of its own, and columns that order its rows. These columns are a sequence group of merge engine
partial-update, so a part never changes the columns of another part, in any order of loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from paimon_lake.declarations.model import Model, Names, SomeNames
from paimon_lake.declarations.sources.kinds import Kinds
from paimon_lake.declarations.sources.source import Source

_REMOVING = "partial-update.remove-record-on-sequence-group"


class Part(Model):
    """A source that fills some columns of a wide table, in the rows whose keys the source has."""

    source: Source
    """Where the rows of the part come from: files, a query, a function, a database, changes of PostgreSQL, Kafka, or a
    table of the lake with ``key_from``."""
    columns: SomeNames
    """The columns that this part fills, in addition to the primary key and ``order_by``; no other part fills these
    columns.
    """
    order_by: Names = ()
    """The columns that order the rows of this part with the same key: the row with the greatest value is the newest
    row, no matter when it is loaded. No other part has these columns. A row with a null in one of these columns is
    rejected. With changes of PostgreSQL and with ``key_from``, ``order_by`` is one BIGINT column, which loads fill.
    """
    kinds: Kinds | None = None
    """The column that says whether a row of this part inserts, updates or deletes."""
    deletes: Literal["columns", "row"] = "columns"
    """The effect of a row that deletes: set the columns of this part to null, or remove the whole row."""

    @property
    def filled(self) -> tuple[str, ...]:
        """The columns of the part, with the columns that order its rows."""
        return tuple(dict.fromkeys((*self.columns, *self.order_by)))

    @property
    def group_option(self) -> str:
        """The option of the table whose value names the columns of the part, without the columns of ``order_by``."""
        return f"fields.{','.join(self.order_by)}.sequence-group"

    def columns_in(self, options: Mapping[str, str]) -> tuple[str, ...]:
        """Return the columns of the part in a table with ``options``, in order; loads may have added columns."""
        return tuple(name for text in options.get(self.group_option, "").split(",") if (name := text.strip()))

    def has_order_to_fill(self, types: Mapping[str, str]) -> bool:
        """Whether the rows are ordered by one BIGINT column, which loads can fill; ``types``: by column."""
        return len(self.order_by) == 1 and types.get(self.order_by[0], "").upper().strip() == "BIGINT"


def part_options(parts: Mapping[str, Part]) -> dict[str, str]:
    """Return the options of a table with parts: sequence groups, and which deletes remove rows; {} without parts."""
    if not parts:
        return {}
    options = {"merge-engine": "partial-update"}
    for part in parts.values():
        options[part.group_option] = ",".join(column for column in part.columns if column not in part.order_by)
    removing = [column for part in parts.values() if part.deletes == "row" for column in part.order_by]
    return options | ({_REMOVING: ",".join(removing)} if removing else {})
