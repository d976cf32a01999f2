"""Entries of manifests by the names of their files, without a ``ManifestEntry`` value for each other entry."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from paimon_core.codec.avro.columns import PADDING
from paimon_core.codec.avro.digests import digests
from paimon_core.codec.avro.items import texts_of
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns


class FileNames:
    """A set of names of data files that is compared with the names in many manifests."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        texts = [name.encode() for name in self.names]
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        data = b"".join((*texts, PADDING))
        self._digests = np.sort(digests(data, np.cumsum(lengths) - lengths, lengths)[0])

    def entries(self, of: Entries) -> list[ManifestEntry]:
        """Return the entries of files with one of the names, in order."""
        if isinstance(of, tuple):
            return [e for e in of if e.file.file_name in self.names]
        return [e for e in of.entries(self._near(of)) if e.file.file_name in self.names]

    def used(self, of: Entries) -> set[str]:
        """Return the names in the set that are the name of a file or of an extra file of an entry."""
        if isinstance(of, tuple):
            return set(self.names.intersection(n for e in of for n in (e.file.file_name, *e.file.extra_files)))
        near = self._near(of)
        found = {name.decode() for name in of.bytes_at("file_name", near)} | _extra_files(of)
        return set(found & self.names)

    def _near(self, of: EntryColumns) -> npt.NDArray[np.intp]:
        """Return the positions of the entries whose names have the hash of one of the names."""
        if not len(of) or not self.names:
            return np.zeros(0, np.intp)
        place = np.searchsorted(self._digests, of.name_digest)
        return np.flatnonzero(self._digests.take(place, mode="clip") == of.name_digest)


def all_names(of: Entries) -> set[str]:
    """Return the names of all files and of their extra files."""
    if isinstance(of, tuple):
        return {name for e in of for name in (e.file.file_name, *e.file.extra_files)}
    return {name.decode() for name in of.bytes_at("file_name")} | _extra_files(of)


def _extra_files(of: EntryColumns) -> set[str]:
    return {name for extra in (of.codes("extra_files")[1] if len(of) else ()) for name in texts_of(extra)}
