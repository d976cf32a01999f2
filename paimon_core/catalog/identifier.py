"""Identifier: ``database.table``, or ``database.table$branch_x`` for a branch of the table (format 1.1)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.storage.paths import MAIN, identifier

_BRANCH = "branch_"
SYSTEM_DATABASE = "sys"


@dataclass(frozen=True)
class Identifier:
    """The name of a table in a catalog, with the branch ``main`` or another branch."""

    database: str
    table: str
    branch: str = MAIN

    @staticmethod
    def parse(text: str) -> Identifier:
        """Parse ``database.table`` or ``database.table$branch_x``.

        Raises InvalidRequest, which names the broken rule, for an invalid name; UnsupportedFeature for the name of a
        system table.
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
                f"{text!r} names a system table: use catalog.system_table, or table.system of {database}.{table}; here "
                "only 'branch_<name>' may follow '$'",
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

    @staticmethod
    def is_system(text: object) -> bool:
        """Whether ``text`` names a system table: ``db.table$files``, ``db.table$branch_x$files``, ``sys.tables``."""
        if not isinstance(text, str):
            return False
        last = text.rpartition("$")[2]
        return text.lower().startswith(f"{SYSTEM_DATABASE}.") or ("$" in text and not last.startswith(_BRANCH))

    @staticmethod
    def split_system(text: str) -> tuple[str | None, str]:
        """Return (table, name of the system table); the table is None for a system table of the catalog (``sys.*``).

        Raises InvalidRequest for any other text.
        """
        if not Identifier.is_system(text):
            raise InvalidRequest(f"{text!r:.80} is not a system table, such as 'database.table$files'", name=text)
        if "$" not in text:
            return None, text.partition(".")[2]
        table, _, kind = text.rpartition("$")
        return table, kind

    @property
    def object_name(self) -> str:
        """``table``, or ``table$branch_x`` for a branch; requests to Paimon's REST servers contain this name."""
        return self.table if self.branch == MAIN else f"{self.table}${_BRANCH}{self.branch}"

    def __str__(self) -> str:
        return f"{self.database}.{self.object_name}"
