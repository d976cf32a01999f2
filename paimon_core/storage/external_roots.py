"""ExternalRoots: the directories outside of a table that may contain its data files (format 1.4).

The operator passes the list of directories, which is empty by default. A path from metadata is untrusted: the path is
normalized, and is accepted only if it is below one of the listed directories. Paths are compared component by
component. On the local disk, no symbolic link below the directories is followed (``storage.symbolic_links``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import CorruptTable, InvalidRequest, PaimonError, UnsupportedFeature
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.object_stores.object_storage import ObjectStorage
from paimon_core.storage.open import has_scheme, open_storage
from paimon_core.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class ExternalRoots:
    """The allowed directories, as paths of the storage; () allows no data file outside of its table."""

    paths: tuple[str, ...] = ()
    kind: str = ""
    """The kind of store of these directories and of the warehouse."""

    @staticmethod
    def of(allowed: Sequence[str | os.PathLike[str]] | None, storage: Storage) -> ExternalRoots:
        """Return the roots that the argument ``allowed_roots`` lists, for a warehouse in ``storage``.

        Raises InvalidRequest for a value that is not a list of paths and URLs, UnsupportedFeature for a root in
        another kind of store than the warehouse.
        """
        if allowed is None:
            return NO_ROOTS
        if isinstance(allowed, str) or not isinstance(allowed, Sequence):
            raise InvalidRequest(f"allowed_roots must be a list of paths or URLs, not {allowed!r:.80}")
        return ExternalRoots(tuple(dict.fromkeys(_root(root, storage) for root in allowed)), _kind(storage))

    def resolve(self, external: str, name: str) -> str:
        """Return the path of the data file ``name``, for which metadata records the path or URL ``external``.

        Raises InvalidRequest for a file outside of the roots, CorruptTable for a path that does not end with the name.
        """
        path = self.find(external)
        if path is None:
            raise InvalidRequest(
                f"file {name} is at the external path {external}, outside of the table: such files are only read, "
                f"written and deleted below a directory of allowed_roots, which is [{', '.join(self.paths)}]",
                file=name,
                path=external,
            )
        if path.rpartition("/")[2] != name:
            raise CorruptTable(f"the external path {external} of file {name} has another file name", path=external)
        return path

    def find(self, external: str) -> str | None:
        """Return the normalized path of ``external``; None when it is not below one of the roots."""
        if not self.paths:
            return None
        try:
            storage, path = normalized(external)
        except PaimonError:
            return None
        inside = _kind(storage) == self.kind and any(path.startswith(root + "/") for root in self.paths)
        return path if inside else None


NO_ROOTS = ExternalRoots()
"""Allows no file outside of its table."""


def normalized(text: str) -> tuple[Storage, str]:
    """Return the storage and the normalized path (no ``.``, no ``..``, no trailing slash) of a URL or absolute path.

    Raises InvalidRequest for a relative path, UnsupportedFeature for an unknown scheme.
    """
    if not has_scheme(text) and not text.startswith("/"):
        raise InvalidRequest(f"{text!r:.200} is neither an absolute path nor a URL")
    return open_storage(text)


def _root(root: Any, storage: Storage) -> str:
    if not isinstance(root, str | os.PathLike) or not os.fspath(root):
        raise InvalidRequest(f"allowed_roots must contain paths or URLs, not {root!r:.80}")
    try:
        store, path = open_storage(os.fspath(root))
    except InvalidRequest as error:
        raise type(error)(f"allowed_roots: {error}") from error
    if _kind(store) != _kind(storage):
        raise UnsupportedFeature(
            f"allowed_roots: {root} is in another kind of store ({_kind(store)}) than the warehouse ({_kind(storage)})"
        )
    return path


def _kind(storage: Storage) -> str:
    if isinstance(storage, FsspecStorage):
        return storage.protocol
    return storage.kind if isinstance(storage, ObjectStorage) else type(storage).__name__
