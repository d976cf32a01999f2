"""Loaded files: the versions of source files that were loaded, and the digests of their contents if these are known."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

MOST_FILES = 500_000
"""The largest number of loaded files of one table. One snapshot must be able to have the entries of all files, each 43
bytes."""
PATH_BYTES, VERSION_BYTES, CONTENT_BYTES = 8, 4, 8
"""The numbers of bytes of the digests of a file: of its path, of its version and of its content."""


@dataclass(frozen=True)
class LoadedFiles:
    """The loaded files; ``versions`` maps the digest of a path to the digest of the loaded version."""

    versions: Mapping[bytes, bytes] = field(default_factory=dict)
    contents: Mapping[bytes, bytes] = field(default_factory=dict)
    """Maps the digest of a path to the digest of the version, followed by the digest of the content. Files whose
    content is not known have no entry.
    """

    def state(self, path: str, version: str) -> str:
        """Return ``new``, ``loaded``, or ``changed`` for a file that was loaded with another version."""
        found = self.versions.get(digest(path, PATH_BYTES))
        if found is None:
            return "new"
        return "loaded" if found == digest(version, VERSION_BYTES) else "changed"

    def with_files(self, files: Iterable[tuple[str, str]]) -> LoadedFiles:
        """Return the loaded files with more files, given as (path, version)."""
        return replace(
            self, versions={**self.versions, **{digest(p, PATH_BYTES): digest(v, VERSION_BYTES) for p, v in files}}
        )

    def content(self, path: str) -> bytes | None:
        """Return the digest of the content of a file that was loaded; None when it is not known."""
        found = self.contents.get(digest(path, PATH_BYTES))
        return None if found is None else found[VERSION_BYTES:]

    def with_contents(self, contents: Mapping[str, bytes]) -> LoadedFiles:
        """Return the files with known contents.

        ``contents`` maps a path to the digest of the content of the loaded version.
        """
        paths = {digest(path, PATH_BYTES): content for path, content in contents.items()}
        return replace(self, contents={**self.contents, **{p: self.versions[p] + c for p, c in paths.items()}})

    def contents_text(self) -> str:
        """Return the text of the snapshot property ``CONTENTS``."""
        return base64.b64encode(b"".join(p + c for p, c in sorted(self.contents.items()))).decode()

    def to_text(self) -> str:
        """Return ``versions`` as the text of a snapshot property, see ``entries``."""
        return base64.b64encode(b"".join(p + v for p, v in sorted(self.versions.items()))).decode()


def entries(text: str, size: int) -> dict[bytes, bytes]:
    """Return the entries of a property: a digest of a path, and ``size`` bytes about it.

    Raises ValueError for another text.
    """
    data, size = base64.b64decode(text, validate=True), PATH_BYTES + size
    if len(data) % size:
        raise ValueError(f"{len(data)} bytes are no whole number of entries")
    found = (data[at : at + size] for at in range(0, len(data), size))
    return {entry[:PATH_BYTES]: entry[PATH_BYTES:] for entry in found}


def path_digest(path: str) -> bytes:
    """Return the digest of a path in the form of the ledger."""
    return digest(path, PATH_BYTES)


def digest(text: str, size: int) -> bytes:
    """Return the first bytes of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:size]
