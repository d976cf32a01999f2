"""Kinds: the column that states whether a row of a load inserts, updates or deletes."""

from __future__ import annotations

from pydantic import model_validator

from paimon_lake.declarations.model import Model, Names

_INSERTS, _UPDATES, _DELETES = ("+I", "I", "insert"), ("+U", "U", "update"), ("-D", "D", "delete")


class Kinds(Model):
    """The column that says whether a row inserts, updates or deletes, and the values for each of these kinds."""

    column: str
    """The column of the source that has the values; the table need not have this column."""
    insert: Names = _INSERTS
    """The values of rows that are inserted; default: ``+I``, ``I``, ``insert``."""
    update: Names = _UPDATES
    """The values of rows that replace a row with the same key; default: ``+U``, ``U``, ``update``."""
    delete: Names = _DELETES
    """The values of rows that delete the row with their key; default: ``-D``, ``D``, ``delete``."""

    @model_validator(mode="after")
    def _distinct(self) -> Kinds:
        values = [*self.insert, *self.update, *self.delete]
        for value in values:
            if values.count(value) > 1:
                raise ValueError(f"the value {value!r:.40} has two meanings")
        return self
