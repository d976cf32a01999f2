"""TableReference: all that a Spark task needs to open a table again, small enough to travel with every task."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.snapshot_store import Publisher
from paimon_core.schema import TableSchema
from paimon_core.storage.storage import Storage


@dataclass(frozen=True)
class TableReference:
    """A table's name, place, schema and branch; ``open`` gives its context on a worker."""

    name: str
    storage: Storage
    root: str
    schema: TableSchema
    branch: str
    publisher: Publisher | None

    @staticmethod
    def of(context: TableContext) -> TableReference:
        """The reference of an open table."""
        return TableReference(
            context.name,
            context.storage,
            context.paths.root,
            context.schema,
            context.branch,
            context.snapshots.publisher,
        )

    def open(self) -> TableContext:
        """The context, with fresh stores."""
        return TableContext.of(
            self.name, self.storage, self.root, self.schema, branch=self.branch, publisher=self.publisher
        )
