"""Source columns: how the columns of a table of PostgreSQL change from one position in its log to the next.

When the columns of the table change, the log contains their new description before the first row change that uses them.
A batch ends before the transaction of this change. The next batch begins with this transaction: its position has the
new columns, and the table of the lake is altered before it is written. Columns that were added without a later row
change also get into the position, once the log was read beyond the changes of the catalog.

Rows that are older than an added column have null in this column, or the default of the time of the change, which
PostgreSQL stores in its catalog and not in the log. So a column is added only when the older rows certainly have null.
The catalog must have no such default. In addition, either the table was not rewritten since its columns were last read,
or no row has a value in this column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from paimon_core.types import DataType
from paimon_lake.declarations.sources.schema_changes import is_wider
from paimon_lake.loads.postgres.rules import RELOAD, check_relation, lost_column
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.column_types import column_type
from paimon_lake.sources.postgres.pgoutput import LaterColumns, Relation
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server
from paimon_lake.sources.postgres.source_table import SourceTable, has_values, type_names

Mode = Literal["refuse", "ignore", "apply"]
_FLOAT4 = 700
"""The object identifier of the type real."""


@dataclass(frozen=True)
class SourceColumns:
    """Compares the columns of a source with positions; ``table``: the current state of the source, read after the
    positions.
    """

    text: str
    """The name of the source in errors."""
    name: tuple[str, ...]
    table: SourceTable
    key: tuple[str, ...]
    mode: Mode

    @property
    def now(self) -> Relation:
        """The current columns of the source."""
        identity_key = self.table.identity_key
        columns = [(c.name, c.type_oid, c.type_modifier, c.name in identity_key) for c in self.table.columns.values()]
        return Relation(self.table.identity, columns)

    # -- the differences from a position

    def added(self, position: Position, relation: Relation) -> list[str]:
        """Return the columns that are new since a position; columns that loads left out are not new."""
        known = {*position.known}
        return [
            name
            for name, *_ in relation.columns
            if name not in known and not (self.mode == "apply" and self._is_left_out(position, name))
        ]

    def _is_left_out(self, position: Position, name: str) -> bool:
        """Whether loads leave a column out: it is generated, so that the log does not have it, or it is older than the
        position and was renamed since.
        """
        column = self.table.columns.get(name)
        return column is not None and (column.is_generated or 0 < column.number <= position.made)

    def is_behind(self, position: Position) -> bool:
        """Whether the source has columns or types now that the position does not have."""
        types = {name: (oid, modifier) for name, oid, modifier, _ in self.now.columns}
        changed = any(types.get(name) != (oid, modifier) for name, _, oid, modifier in position.columns.values())
        return changed or (self.mode == "apply" and bool(self.added(position, self.now)))

    # -- one read of the log

    def check(self, earlier: Sequence[Position], position: Position, relation: Relation) -> None:
        """Raise LaterColumns for a relation with more columns or other types than ``position``.

        ``earlier``: the position of the ledger, and the positions from which ``position`` was moved: a transaction may
        have relations with the columns of these positions before the relation of ``position``. Raises PipelineError for
        a change that is refused.
        """
        there = {name: (oid, modifier) for name, oid, modifier, _ in relation.columns}
        later = self.mode == "apply" and bool(self.added(position, relation))
        copied = {column[0] for column in earlier[0].columns.values()}
        older = {(name, oid, modifier) for one in earlier for name, _, oid, modifier in one.columns.values()}
        for name, _, oid, modifier in position.columns.values():
            if name not in there and name in copied:
                raise lost_column(self.text, name, there)
            if name not in there or there[name] == (oid, modifier):
                continue
            if (name, *there[name]) in older:
                self._check_older(name, there[name][0])
                continue
            if self.mode == "refuse":
                raise self._other_type(name)
            later = True
        check_relation(self.text, relation, self.key, self.added(position, relation) if self.mode == "refuse" else ())
        if later:
            raise LaterColumns(relation)

    def _other_type(self, name: str) -> PipelineError:
        return PipelineError(
            f"{self.text}: the type of the column {name!r} changed, which may have changed all of its values: {RELOAD}"
        )

    def _check_older(self, name: str, type_oid: int) -> None:
        """Refuse texts of a FLOAT that would become another DOUBLE than in PostgreSQL."""
        if type_oid == _FLOAT4:
            raise PipelineError(
                f"{self.text}: a transaction changed rows before it changed the type of the column {name!r}: {RELOAD}"
            )

    # -- a reload

    def types_since(self, server: Server, position: Position) -> dict[str, DataType]:
        """Return the types of the columns that are new or wider since a position, for a copy of all rows."""
        now = {name: (oid, modifier) for name, oid, modifier, _ in self.now.columns}
        found = {name: now[name] for name in self.added(position, self.now)}
        types = self._readable(_types(server, found), list(found))
        followed = {d: (name, (oid, modifier)) for d, (name, _, oid, modifier) in position.columns.items()}
        old = _types(server, {declared: then for declared, (_, then) in followed.items()})
        new = _types(server, {declared: now[name] for declared, (name, _) in followed.items() if name in now})
        return types | {d: new[d] for d in old.keys() & new.keys() if is_wider(old[d], new[d])}

    # -- the next position

    def moved(self, server: Server, position: Position, relation: Relation) -> tuple[Position, dict[str, DataType]]:
        """Return a position with the columns of a relation that ``check`` found to be later, and the types of the
        columns that differ.

        Raises PipelineError for a type that is not wider, and when older rows may have other values than null in an
        added column.
        """
        columns = {declared: list(column) for declared, column in position.columns.items()}
        there = {name: (oid, modifier) for name, oid, modifier, _ in relation.columns}
        changed: dict[str, tuple[int, int]] = {}
        for declared, (name, _, oid, modifier) in position.columns.items():
            if there.get(name, (oid, modifier)) != (oid, modifier):
                columns[declared][2:] = changed[declared] = there[name]
        old = _types(server, {d: (position.columns[d][2], position.columns[d][3]) for d in changed})
        new = _types(server, changed)
        for declared in changed:
            if not (declared in old and declared in new and is_wider(old[declared], new[declared])):
                raise self._other_type(position.columns[declared][0])
        added = self.added(position, relation) if self.mode == "apply" else []
        for name in added:
            self._check_added(server, position, name)
            columns[name] = [name, self.table.columns[name].number, *there[name]]
            changed[name] = there[name]
        types = self._readable(_types(server, changed), added)
        known = [*position.known, *(name for name in there if name not in position.known)]
        made = max([position.made, *(self.table.columns[name].number for name in added)])
        known = position.known if self.mode == "ignore" else known
        return self.marked(replace(position, columns=columns, known=known, made=made)), types

    def _readable(self, types: dict[str, DataType], added: Sequence[str]) -> dict[str, DataType]:
        """Return the types; raises PipelineError when one of the added columns has no type of Paimon."""
        if missing := [name for name in added if name not in types]:
            raise PipelineError(
                f"{self.text}: the new column {missing[0]!r} has the type {self.table.columns[missing[0]].type_name}, "
                "which no column of the table holds: set source.schema_changes: ignore, which leaves new columns out"
            )
        return types

    def _check_added(self, server: Server, position: Position, name: str) -> None:
        column, what = self.table.columns.get(name), f"{self.text} has the new column {name!r}"
        if column is None:
            raise PipelineError(f"{what} in its log, which it does not have any more: {RELOAD}")
        numbers = [one.number for one in self.table.columns.values() if one.number > position.made]
        if not position.made or name in position.ignored:
            raise PipelineError(f"{what}, and loads have left its values out: {RELOAD} and adds the column")
        if len(numbers) < self.table.made - position.made:
            raise PipelineError(f"{what}, and columns that were added and dropped again: {RELOAD} and adds the column")
        if column.older_value is not None:
            raise PipelineError(
                f"{what} with the default {column.older_value.strip('{}')!r:.80} in older rows, which the log does not "
                f"contain: {RELOAD} and adds the column"
            )
        if self.table.file_node != position.file_node and has_values(server, self.name, name):
            raise PipelineError(
                f"{what}, and was rewritten or truncated meanwhile, so older rows may have values that the log does "
                f"not contain: {RELOAD} and adds the column"
            )

    def marked(self, position: Position) -> Position:
        """Return a position with the facts to compare with later: column numbers, file node, left-out columns."""
        live = [name for name, column in self.table.columns.items() if not column.is_generated]
        ignored = [name for name in live if name not in position.known] if self.mode == "ignore" else position.ignored
        made = position.made
        if not made and not set(live) - set(position.known):
            made = self.table.made
        node = self.table.file_node if made == self.table.made else position.file_node
        return replace(position, made=made, file_node=node, ignored=sorted({*position.ignored, *ignored}))


def sentences(before: Position, after: Position, types: Mapping[str, DataType], mode: Mode) -> list[str]:
    """Return one sentence for each column that changed between two positions; ``types`` are the types of the table's
    columns.
    """
    told = []
    for declared, column in after.columns.items():
        held = types[declared]
        if declared not in before.columns:
            told.append(f"the new column {declared} of the source is {held.with_nullable(True)} in the table")
        elif before.columns[declared][2:] != column[2:]:
            kept = (
                "values outside of it are rejected"
                if mode == "ignore"
                else "older values are kept, so load with reload if ALTER changed them by USING"
            )
            told.append(f"the column {declared} of the source has a wider type and is {held} in the table, {kept}")
    return told


def _types(server: Server, columns: Mapping[str, tuple[int, int]]) -> dict[str, DataType]:
    """Return the types of columns, given by type and type modifier; columns that cannot be read are left out."""
    names = type_names(server, {oid for oid, _ in columns.values()}) if columns else {}
    found = {name: column_type(names.get(oid, ""), modifier) for name, (oid, modifier) in columns.items()}
    return {name: kind for name, kind in found.items() if kind is not None}
