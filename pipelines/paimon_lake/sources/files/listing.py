"""Listing: find the files that a path pattern matches, on the local disk and on object stores.

The listing starts at the longest part of the path without placeholders and wildcards, and enters only directories that
can contain a match. As in Spark and Hive, files whose name begins with ``.`` or ``_`` or ends with ``.tmp`` or ``.crc``
are left out, and so are directories whose name begins with ``.`` or ``_`` (but not ``_name=value``), unless the pattern
names them. Symbolic links to files and directories are left out as well, so that no file is read twice or from outside
of the path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_core.errors import PaimonError
from paimon_core.storage.open import open_storage
from paimon_core.storage.storage import FileInfo, Storage
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.pattern import ANY_DEPTH, PathPattern, parse_pattern, text_of

_MEMORY = "memory://"
_LEFT_OUT_ENDS = (".tmp", ".crc")


@dataclass(frozen=True)
class SourceFile:
    """One file of a source."""

    path: str
    """An absolute local path, or a URL; the bytes of a local path that are not UTF-8 are escaped, such as ``\\xe9``."""
    size: int
    """The size in bytes."""
    version: str
    """A text that changes when the file is replaced: size in bytes and modification time in epoch milliseconds."""
    partition: str | None = None
    """The partition key in the path; None when the pattern has no placeholder."""
    stored: str = ""
    """The version of the file in its store, such as an ETag; a task reads the file only in this version."""
    checksum: str = ""
    """A checksum of the content from the store; "" when the store has no checksum."""
    stored_path: str = ""
    """The path that opens the file if ``path`` is escaped, with surrogates for escaped bytes. Default: ``path``."""
    name: str = ""
    """The path in the ledger; a relative path lets the folder move with its files. Default: the whole path."""

    @property
    def ledger_name(self) -> str:
        """The name of the file in the ledger: a path relative to the folder of the lake, or the whole path or URL."""
        return self.name or self.stored_path or self.path


def list_files(pattern: str | PathPattern, storage_options: Mapping[str, str]) -> list[SourceFile]:
    """Return the files that match, sorted by path; [] when the directory does not exist.

    Raises PipelineError for a wrong pattern and when the store cannot be listed.
    """
    parsed = pattern if isinstance(pattern, PathPattern) else parse_pattern(pattern)
    return sorted(_matches(parsed, storage_options), key=lambda file: file.path)


def partition_files(
    pattern: str | PathPattern, keys: Iterable[str], storage_options: Mapping[str, str]
) -> list[SourceFile]:
    """Return the files of the partitions, sorted by path, and list only the directories that can contain them.

    Raises PipelineError as ``list_files`` does, and for a key that does not have the form of the placeholders.
    """
    parsed = pattern if isinstance(pattern, PathPattern) else parse_pattern(pattern)
    found = {}
    for key in dict.fromkeys(keys):
        for file in _matches(parsed.of_key(key), storage_options):
            found[file.ledger_name] = replace(file, partition=key)
    return sorted(found.values(), key=lambda file: file.path)


@contextmanager
def open_source_file(file: SourceFile, storage_options: Mapping[str, str]) -> Iterator[pa.NativeFile]:
    """Open a file for random access, in the version that was listed.

    Raises PipelineError when the file is missing, when the store fails, and when the file changes before the context
    ends. So all splits of a file are read from one version, or the load fails.
    """
    path = file.path
    scheme, separator, rest = path.partition("://")
    try:
        root = f"{scheme}://{rest.partition('/')[0]}" if separator else path
        storage, _ = open_storage(root, storage_options)
        with storage.open_version(_inner(file.stored_path or path), file.stored) as stream:
            yield stream
    except FileNotFoundError:
        raise PipelineError(f"file {path} does not exist any more: list the source again") from None
    except PaimonError as error:
        raise PipelineError(f"file {path} cannot be read: {error}; load again") from error


def _inner(path: str) -> str:
    """Return a path in the form of its storage: the storage ``memory://`` has absolute paths without the scheme."""
    return "/" + path.removeprefix(_MEMORY).lstrip("/") if path.startswith(_MEMORY) else path


def _matches(parsed: PathPattern, options: Mapping[str, str]) -> Iterator[SourceFile]:
    is_memory = parsed.root.startswith(_MEMORY)
    if is_memory:
        parsed = parsed.below(parsed.root.removeprefix(_MEMORY))
    elif not parsed.root and not parsed.is_absolute:
        parsed = parsed.below(os.getcwd())
    try:
        storage, base = open_storage(parsed.root or "/any", options)
        start = base if parsed.root and not is_memory else ""
        yield from _Walk(storage, parsed, start).files()
    except PaimonError as error:
        raise PipelineError(f"path {parsed.text!r} cannot be listed: {error}") from error


@dataclass(frozen=True)
class _Walk:
    """The search for one pattern below ``start``, which is the root of a bucket in an object store, otherwise ""."""

    storage: Storage
    parsed: PathPattern
    start: str

    def files(self) -> Iterator[SourceFile]:
        """Yield the files that match the whole pattern."""
        regex = re.compile(self.parsed.regex(), re.DOTALL)
        url = "memory:/" if self.parsed.root.startswith(_MEMORY) else ""
        for info in self._enter(self.start, 0):
            found = regex.fullmatch(info.path[len(self.start) + 1 :])
            if found is None:
                continue
            key = self.parsed.key_of({name: text for name, text in found.groupdict().items() if text is not None})
            if key is not None or self.parsed.word is None:
                version, path = f"{info.size}-{info.modified_millis}", url + info.path
                shown, key = escaped(path), None if key is None else escaped(key)
                stored_path = path if path != shown else ""
                yield SourceFile(shown, info.size, version, key, info.version, info.checksum, stored_path)

    def _enter(self, directory: str, at: int) -> Iterator[FileInfo]:
        """Yield the files below a directory whose path can match the components from ``at``."""
        component, is_last = self.parsed.components[at], at == len(self.parsed.components) - 1
        text = text_of(component)
        if component == ANY_DEPTH:
            yield from self._below(directory)
        elif text is not None and not is_last and (at < len(self.parsed.literal_prefix()) or not self.storage.is_local):
            yield from self._enter(f"{directory}/{text}", at + 1)
        else:
            regex = re.compile("".join(atom.regex() for atom in component), re.DOTALL)
            for entry in self.storage.list(directory or "/"):
                if entry.is_link or not regex.fullmatch(entry.name) or (text is None and is_left_out(entry)):
                    continue
                if not entry.is_directory:
                    yield from [entry] if is_last else []
                else:
                    yield from self._below(entry.path) if is_last else self._enter(entry.path, at + 1)

    def _below(self, directory: str) -> Iterator[FileInfo]:
        for entry in self.storage.walk(directory or "/"):
            inner = entry.path[len(directory) + 1 :].split("/")[:-1]
            hidden = is_left_out(entry) or any(is_left_out(FileInfo(name, True)) for name in inner)
            if not (entry.is_directory or entry.is_link or hidden):
                yield entry


def escaped(path: str) -> str:
    """Return a path as text; bytes that are not UTF-8 (surrogates in the path) are written as ``\\xe9``."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_left_out(entry: FileInfo) -> bool:
    """Whether a listing skips this file or directory because of its name."""
    name = entry.name
    if entry.is_directory:
        return name.startswith(".") or (name.startswith("_") and "=" not in name)
    return name.startswith((".", "_")) or name.endswith(_LEFT_OUT_ENDS)
