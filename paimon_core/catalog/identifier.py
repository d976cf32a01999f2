"""Identifier: ``database.table``, and ``database.table$branch_x`` for a branch of it (format 1.1)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.storage.paths import MAIN, identifier

_BRANCH = "branch_"


@dataclass(frozen=True)
class Identifier:
    """The name of a table in a catalog, and one of its branches."""

    database: str
    table: str
    branch: str = MAIN

    @staticmethod
    def parse(text: str) -> Identifier:
        """Parse ``database.table`` or ``database.table$branch_x``.

        Raises InvalidRequest, which names the rule that a name breaks, UnsupportedFeature for system tables.
        """
        database, dot, object_name = text.partition(".") if isinstance(text, str) else ("", "", "")
        table, dollar, suffix = object_name.partition("$")
        if not (database and dot and table) or "." in table:
            raise InvalidRequest(f"table name {text!r} must be 'database.table'", name=text)
        identifier(database, "database")
        identifier(table, "table")
        if not dollar:
            return Identifier(database, table)
        if not suffix.startswith(_BRANCH) or "$" in suffix:
            raise UnsupportedFeature(
                f"{text!r} names a system table: use table.inspect of {database}.{table}; after '$' only "
                "'branch_<name>' is supported",
                name=text,
            )
        branch = suffix.removeprefix(_BRANCH)
        return Identifier(database, table, branch if branch == MAIN else identifier(branch, "branch"))

    @staticmethod
    def of_table(text: str, verb: str) -> Identifier:
        """Parse the name of a whole table, for the operation ``verb``; raises InvalidRequest for a branch."""
        found = Identifier.parse(text)
        if found.branch != MAIN:
            raise InvalidRequest(f"cannot {verb} {text!r}: it names a branch, not a table", name=text)
        return found

    @property
    def object_name(self) -> str:
        """Return the table with its branch, as in requests to Paimon's REST servers."""
        return self.table if self.branch == MAIN else f"{self.table}${_BRANCH}{self.branch}"

    def __str__(self) -> str:
        return f"{self.database}.{self.object_name}"
