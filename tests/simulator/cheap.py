"""Cheap manifests: entries are kept in memory, and the manifest file contains a token of the size of a manifest.

So histories of metadata only spend their time on the order of the storage calls, which they test, and not on Avro.
Snapshots and schemas with equal bytes are parsed once. The tokens are stored in this module: histories run one after
the other, and each starts without tokens.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from paimon_core.errors import CorruptTable
from paimon_core.metadata.manifests import manifest_file
from paimon_core.metadata.manifests.entries import ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.entry_columns import Entries
from paimon_core.metadata.stores import manifest_store, schema_store, snapshot_store

MODULES = (manifest_file, manifest_store, snapshot_store, schema_store)
BYTES_PER_ENTRY = 80
_kept: dict[bytes, Sequence[Any]] = {}


def _encode(items: Iterable[Any], compression: str, form: str = "avro") -> bytes:
    kept = tuple(items)
    token = b"%012d" % len(_kept)
    data = token.ljust(40 + BYTES_PER_ENTRY * len(kept), b".")
    _kept[data] = kept
    return data


def _decode(kind: type) -> Callable[[bytes, str], list[Any]]:
    def decode(data: bytes, path: str) -> list[Any]:
        found = _kept.get(data)
        if found is None or (found and not isinstance(found[0], kind)):
            raise CorruptTable(f"{path} is torn or foreign", path=path)
        return list(found)

    return decode


decode_entries = _decode(ManifestEntry)
decode_list = _decode(ManifestFile)


def _decode_manifests(
    files: Sequence[tuple[bytes, str]], holding: object = None, chosen: object = None
) -> list[Entries]:
    return [tuple(decode_entries(data, path)) for data, path in files]


def _unpacked(data: bytes, path: str) -> list[bytes]:
    """The names of the files in a manifest, which some code searches in its bytes."""
    return [e.file.file_name.encode() for e in decode_entries(data, path)]


def _once(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``parse`` with a cache; its results are immutable."""
    known: dict[Any, Any] = {}

    def parsed(*arguments: Any) -> Any:
        if arguments not in known:
            known[arguments] = parse(*arguments)
        return known[arguments]

    return parsed


@contextlib.contextmanager
def cheap_manifests() -> Iterator[None]:
    """Make the manifest stores of all tables write and read tokens."""
    _kept.clear()
    swapped: dict[str, Any] = {
        "encode_entries": _encode,
        "encode_list": _encode,
        "decode_entries": decode_entries,
        "decode_list": decode_list,
        "decode_manifests": _decode_manifests,
        "unpacked_blocks": _unpacked,
        "parse_snapshot": _once(snapshot_store.parse_snapshot),
        "_parse": _once(schema_store._parse),
    }
    owners = [(module, name) for module in MODULES for name in swapped if hasattr(module, name)]
    before = [(module, name, getattr(module, name)) for module, name in owners]
    for module, name in owners:
        setattr(module, name, swapped[name])
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
