"""Linked copy: a new table that shares the files of one version of another table, by hard links on the local disk.

Files of a table never change, and a file exists until its last link is deleted. So expiry, compaction and a drop of one
table delete no file of the other table. Metadata that states what is in a table, its schemas and the snapshot, is
written anew.

Paths outside of the table (``data-file.external-paths``) are no means for such a copy: neither table knows of the
other, and the expiry of each would delete files that the other reads. Therefore other stores, and files at such paths,
are refused.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.catalog.identifier import Identifier
from paimon_core.errors import CorruptTable, StorageError, TableNotFound, UnsupportedFeature
from paimon_core.metadata.manifests.index_names import index_file_names
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.options.registry import is_for_new_tables
from paimon_core.storage import local_disk

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.metadata.context import TableContext
    from paimon_core.metadata.snapshot import Snapshot
    from paimon_core.schema import TableSchema
    from paimon_core.table.table import Table
    from paimon_core.table.view import TableView

_DEEP = "copy the rows instead, which works in every store"


def linked_copy(source: TableView, catalog: Catalog, name: str) -> tuple[Table, int]:
    """Create the table ``name`` with the version of ``source``, and return it with the number of files it shares.

    The new table has one snapshot, with the id and the content of the version, and the schemas up to the version's,
    without the keys that a new table cannot have (``is_for_new_tables``). It also has a schema 0, which repeats the
    oldest schema when the table has none, because a process that creates a table creates this file.

    *Commits at the same time.* The version is chosen first: later commits to the source are not copied, and when the
    version expires before its files are shared, or the source is dropped, the copy fails. The new table appears as a
    whole, by one rename (``create_at_once``): no process can commit to it before. Of two processes that create the
    table, one gets AlreadyExists, and what the other has created stays as it is. After any error the new table does not
    exist.

    Raises UnsupportedFeature when one of the tables is not on the local disk, or when the version has files outside of
    its table; AlreadyExists; CorruptTable for a missing file; StorageError when the file system has no links between
    the two places.
    """
    context, snapshot = source.context, source.latest_snapshot()
    if not isinstance(catalog, FilesystemCatalog):
        raise UnsupportedFeature(f"a copy by reference needs a catalog of type filesystem: {_DEEP}", table=name)
    for storage, what in ((context.storage, source.name), (catalog.storage, name)):
        if not storage.is_local:
            raise UnsupportedFeature(
                f"table {what} is not on the local disk, and only there can two tables share files: {_DEEP}",
                table=what,
            )
    files = [] if snapshot is None else sorted(set(_files(context, snapshot)))
    newest = source.schema.id if snapshot is None else max(source.schema.id, snapshot.schema_id)
    schemas = [_for_new_table(context.schemas.read(number)) for number in context.schemas.ids() if number <= newest]
    if not schemas:
        raise TableNotFound(f"table {source.name} is being dropped", table=source.name)
    if schemas[0].id:
        schemas.insert(0, dataclasses.replace(schemas[0], id=0))

    def fill(new: TableContext) -> None:
        for schema in schemas:
            new.schemas.publish(schema)
        targets = [new.paths.below(context.paths.relative(path)) for path in files]
        for path, target in zip(files, targets, strict=True):
            _link(path, target, context.paths.root, source.name)
        local_disk.sync_directories(targets)
        if snapshot is not None:
            _write_snapshot(new, snapshot)
        check_same_table(context)  # the schemas and the snapshot belong to one table

    table = catalog.create_at_once(Identifier.of_table(name, "create"), schemas[0], fill)
    return table, len(files)


def _for_new_table(schema: TableSchema) -> TableSchema:
    options = {key: text for key, text in schema.options.items() if key != "path" and is_for_new_tables(key)}
    return dataclasses.replace(schema, options=options)


def _write_snapshot(new: TableContext, snapshot: Snapshot) -> None:
    # The changes of the version begin at a snapshot that the copy does not have.
    own = dataclasses.replace(
        snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None, changelog_record_count=None
    )
    new.storage.create_exclusive(new.paths.snapshot(own.id), own.to_json().encode())
    new.snapshots.write_earliest_hint(own.id)
    new.snapshots.write_latest_hint(own.id)


def _files(context: TableContext, snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths of all files that a read of the snapshot needs."""
    paths = context.paths
    with context.manifests.reading(snapshot):
        yield from (paths.manifest(one) for one in (snapshot.base_manifest_list, snapshot.delta_manifest_list))
        yield from (paths.manifest(one.file_name) for one in context.manifests.manifests_of(snapshot))
        if snapshot.statistics is not None:
            yield paths.statistics(snapshot.statistics)
        if snapshot.index_manifest is not None:
            path = paths.manifest(snapshot.index_manifest)
            yield path
            yield from (paths.index(name) for name in index_file_names(context.storage.read(path), path))
    for entry in context.manifests.entries_of(snapshot):
        if entry.file.external_path is not None:
            raise UnsupportedFeature(
                f"file {entry.file.file_name} is outside of its table, at {entry.file.external_path}: {_DEEP}",
                path=entry.file.external_path,
            )
        yield from context.file_paths(entry.partition, entry.bucket, entry.file)


def _link(path: str, target: str, root: str, table: str) -> None:
    if os.path.realpath(path) != os.path.realpath(root) + path.removeprefix(root):
        raise CorruptTable(f"{path} is a symbolic link, or below one, which leads out of table {table}", path=path)
    try:
        local_disk.link(path, target)
    except FileNotFoundError:
        raise CorruptTable(
            f"{path} is missing: the version of table {table} expired meanwhile, or the table is damaged", path=path
        ) from None
    except OSError as error:
        raise StorageError(
            f"{target} cannot share the file {path}: {error.strerror}; the two tables must be in one file system with "
            f"hard links: {_DEEP}",
            path=path,
        ) from error
