"""TableReference: the values with which a Spark task opens a table; it is small enough to be sent with every task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.snapshot_store import Publisher
from paimon_core.schema import TableSchema
from paimon_core.storage.external_roots import NO_ROOTS, ExternalRoots
from paimon_core.storage.storage import Storage


@dataclass(frozen=True)
class TableReference:
    """A table's name, storage, root, schema, branch and dynamic options; ``open`` returns its context on a worker."""

    name: str
    storage: Storage
    root: str
    schema: TableSchema
    branch: str
    publisher: Publisher | None
    dynamic: Mapping[str, str | None]
    roots: ExternalRoots = NO_ROOTS

    @staticmethod
    def of(context: TableContext) -> TableReference:
        """Return the reference of an open table."""
        return TableReference(
            context.name,
            context.storage,
            context.paths.root,
            context.schema,
            context.branch,
            context.snapshots.publisher,
            context.dynamic,
            context.paths.external,
        )

    def open(self) -> TableContext:
        """Return a new context of the table."""
        return TableContext.of(
            self.name,
            self.storage,
            self.root,
            self.schema,
            branch=self.branch,
            publisher=self.publisher,
            dynamic=self.dynamic,
            roots=self.roots,
        )
