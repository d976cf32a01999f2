"""Unfinished tables: hidden directories that a killed copy by reference left beside the tables of a database.

``FilesystemCatalog.create_at_once`` prepares a table in such a directory and deletes the directory at its end, also
after an error. Only a process that is killed, or a machine that fails, leaves it. No table refers to it.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paimon_core.catalog.filesystem import HIDDEN
from paimon_core.metadata import clock
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import database_path

if TYPE_CHECKING:
    from paimon_core.catalog.filesystem import FilesystemCatalog
    from paimon_core.storage.storage import FileInfo, Storage

OLD_MILLIS = 24 * 60 * 60 * 1000
"""The usual age, one day, from which on no running process is expected to use the directory; as for orphan files."""


@dataclass(frozen=True)
class Unfinished:
    """One hidden directory; times are epoch milliseconds."""

    path: str
    table: str
    """The name that the table would have got, or "" when the directory is empty."""
    files: int
    """The number of files of the table; most of them share their bytes with files of the table that was copied."""
    modified_millis: int
    """The last time at which a file or directory was added."""


def unfinished_tables(
    catalog: FilesystemCatalog, database: str | None = None, *, older_than_millis: int = OLD_MILLIS
) -> list[Unfinished]:
    """Return the directories of one database, or of all, that did not change for ``older_than_millis``, by path.

    Raises DatabaseNotFound. The result is empty on a store other than the local disk, where tables are not prepared in
    this way.
    """
    databases = catalog.list_databases() if database is None else [database]
    if database is not None:
        catalog.list_tables(database)  # raises DatabaseNotFound
    if not catalog.storage.is_local:
        return []
    limit = clock.now_millis() - older_than_millis
    found = [
        _described(catalog.storage, name, entry)
        for name in databases
        for entry in catalog.storage.list(database_path(catalog.warehouse, name))
        if entry.is_directory and not entry.is_link and entry.name.startswith(HIDDEN)
    ]
    return sorted((one for one in found if one.modified_millis <= limit), key=lambda one: one.path)


def remove_unfinished(
    catalog: FilesystemCatalog, database: str | None = None, *, older_than_millis: int = OLD_MILLIS
) -> list[Unfinished]:
    """Delete what ``unfinished_tables`` returns, and return it.

    A file that other tables share keeps its bytes. A copy that still runs fails with StorageError and creates no table.
    A directory that another process deletes first is left out of the result.
    """
    found = unfinished_tables(catalog, database, older_than_millis=older_than_millis)
    return [one for one in found if _removed(catalog.storage, one.path)]


def _removed(storage: Storage, path: str) -> bool:
    """Delete a hidden directory; return False if it does not exist.

    The directory first gets another hidden name, so that a copy that still runs cannot make it a table while its files
    are deleted.
    """
    renamed = f"{path.rpartition('/')[0]}/{HIDDEN}{uuid.uuid4()}"
    try:
        storage.move_directory(path, renamed)
    except FileNotFoundError:
        return False
    confined(storage, renamed).delete_directory(renamed)
    return True


def _described(storage: Storage, database: str, entry: FileInfo) -> Unfinished:
    inside = confined(storage, entry.path)
    below = inside.list(entry.path)
    tables = [one.name for one in below if one.is_directory and not one.is_link]
    # A linked file keeps the time of the file that it shares, so the times of the directories count.
    times, files, directories = [entry.modified_millis], 0, [one for one in below if one.is_directory]
    while directories:
        times += [one.modified_millis for one in directories if one.is_directory]
        files += sum(not one.is_directory for one in directories)
        directories = [
            deeper for one in directories if one.is_directory and not one.is_link for deeper in inside.list(one.path)
        ]
    return Unfinished(entry.path, f"{database}.{tables[0]}" if tables else "", files, max(times))
