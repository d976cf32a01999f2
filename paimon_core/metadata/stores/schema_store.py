"""SchemaStore: the schemas of one table by id (format 2.1, 2.3). The latest schema has the highest id.

A schema file never changes, so a store reads each schema only once. Equal files are parsed once (``remembered``).
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from paimon_core.advice import with_advice
from paimon_core.codec.json_text import parse_json
from paimon_core.errors import CorruptTable, PaimonError, UnsupportedFeature
from paimon_core.metadata.remembered import remembered
from paimon_core.parallel_work import call_together
from paimon_core.schema import TableSchema
from paimon_core.storage.exclusive_create import create_once
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import Storage

DROPPED = "DROPPED"
"""The file in the schema directory that marks a dropped table: as soon as it exists, the table does not exist."""
_NAME = re.compile(r"schema-(0|[1-9]\d{0,18})")


class SchemaPublisher(Protocol):
    """Creates schemas for a catalog that stores data about schemas in addition to the schema files.

    A publisher can be pickled.
    """

    def publish(self, schemas: SchemaStore, schema: TableSchema, changes: Sequence[Any]) -> bool:
        """Create ``schema``, the result of ``changes``; return False when another writer has used the id.

        Raises StorageError and TableNotFound when nothing was created, CommitStateUnknown when the outcome is unknown.
        """


@dataclass(frozen=True, slots=True)
class SchemaStore:
    """Reads and creates the schema files of one table."""

    storage: Storage
    paths: TablePaths
    publisher: SchemaPublisher | None = None
    """Creates the schemas when a table is altered; None: ``SchemaStore.publish`` creates them."""
    _read: dict[int, TableSchema] = field(default_factory=dict, compare=False, repr=False)

    def ids(self) -> list[int]:
        """Return all ids, ascending; [] for a dropped table."""
        names = [entry.name for entry in self.storage.list(self.paths.schema_directory)]
        if DROPPED in names:
            return []
        found = map(_NAME.fullmatch, names)
        return sorted(int(match.group(1)) for match in found if match)

    def latest(self) -> TableSchema | None:
        """Return the newest schema; None when the table does not exist."""
        ids, first = self._ids_and_first() if self.storage.is_remote else (self.ids(), None)
        if ids and ids[-1] == 0 and first is not None:
            self._read[0] = first
        try:
            return self.read(ids[-1]) if ids else None
        except CorruptTable as error:
            meaning = "This is the newest schema: the table cannot be opened without it, older ones have own files"
            raise with_advice(error, meaning) from error

    def read(self, schema_id: int) -> TableSchema:
        """Return one schema.

        Raises CorruptTable for a missing or damaged file, UnsupportedFeature for unsupported types.
        """
        if schema_id not in self._read:
            path = self.paths.schema(schema_id)
            try:
                data = self.storage.read(path)
            except FileNotFoundError:
                raise CorruptTable(
                    f"schema {schema_id} is missing: {path}", path=path, schema=schema_id, missing=True
                ) from None
            self._read[schema_id] = _with_own_options(_parse(data, path, schema_id))
        return self._read[schema_id]

    def _ids_and_first(self) -> tuple[list[int], TableSchema | None]:
        """Return all ids and schema 0, if it can be read, after one round of requests.

        Only if schema 0 is the newest may it be kept: ``check_same_table`` then compares it with the stored file. Below
        a newer schema, it may be of a table that was dropped before the listing, and nothing would notice this.
        """
        known = SchemaStore(self.storage, self.paths, _read=dict(self._read))

        def first() -> None:
            with contextlib.suppress(PaimonError):
                known.read(0)

        found: list[int] = []
        call_together(lambda: found.extend(self.ids()), first)
        return found, known._read.get(0)

    def holds(self, schema: TableSchema) -> bool:
        """Whether the file of this schema still has the same content; the file is always read, never a cached copy.

        Raises CorruptTable for a damaged file.
        """
        path = self.paths.schema(schema.id)
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            return False
        found = _parse(data, path, schema.id)
        if found != schema:
            return False
        self._read.setdefault(schema.id, _with_own_options(found))
        return True

    def all(self) -> list[TableSchema]:
        """Return all schemas, the oldest first."""
        return [self.read(i) for i in self.ids()]

    def publish(self, schema: TableSchema) -> bool:
        """Create the schema file; return False when another writer has used the id (format 2.3).

        Raises StorageError when nothing was created, CommitStateUnknown when the outcome is unknown.
        """
        return create_once(self.storage, self.paths.schema(schema.id), schema.to_json().encode())


def _with_own_options(schema: TableSchema) -> TableSchema:
    """Return a copy of a remembered schema with a dict of options that no other store shares."""
    return replace(schema, options=dict(schema.options))


@remembered
def _parse(data: bytes, path: str, schema_id: int) -> TableSchema:
    try:
        schema = TableSchema.from_members(parse_json(data))
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"{path}: {error}", path=path, **error.facts) from error
    except (CorruptTable, ValueError, OverflowError, RecursionError) as error:
        raise CorruptTable(f"{path}: {error}", path=path) from error
    if schema.id != schema_id:
        raise CorruptTable(f"{path} contains schema {schema.id}", path=path, schema=schema.id)
    for what, values in (("name", schema.names), ("id", [f.id for f in schema.fields])):
        twice = [value for value, count in Counter[int | str](values).items() if count > 1]
        if twice:
            raise CorruptTable(f"{path}: the field {what} {twice[0]!r} appears twice", path=path)
    for key in (*schema.partition_keys, *schema.primary_keys):
        if key not in schema.by_name:
            raise CorruptTable(f"{path}: the key {key!r} is no column", path=path)
    return schema
