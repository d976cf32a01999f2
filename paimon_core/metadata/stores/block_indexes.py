"""Indexes of the blocks of large manifests in the local cache: a process that starts cold unpacks few of their blocks.

An index is made when a manifest is decoded as a whole, and read when entries of some partitions are wanted. Without a
local cache, or without the index, all blocks are unpacked. An index begins with the mark of its manifest, so that it is
not used for another manifest that has taken the same path.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from paimon_core.codec.record_file import is_avro
from paimon_core.metadata.manifests.block_partitions import BlockPartitions
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns
from paimon_core.storage.local_cache import LocalCache

LEAST_BYTES = 1 << 20
"""A smaller manifest has no index, because unpacking all of it takes a few milliseconds."""


def index_name(path: str) -> str:
    """Return the name under which the local cache keeps the index of the manifest ``path``."""
    return f"{path}.blocks"


def _mark(data: bytes) -> bytes:
    """Return what tells a manifest from another one: its length, and its last bytes, the random sync marker of Avro."""
    return len(data).to_bytes(8, "little") + data[-16:]


def chosen_blocks(
    files: LocalCache | None, manifests: Sequence[tuple[bytes, str]], texts: Collection[bytes] | None
) -> list[Sequence[bool]]:
    """Return for each manifest, given its bytes and path, which blocks may have a partition with one of the texts.

    () for a manifest of which all blocks must be unpacked: its index is missing or damaged, or ``texts`` is None.
    """
    if files is None or texts is None:
        return [()] * len(manifests)
    return [_chosen(files, path, _mark(data), texts) if len(data) >= LEAST_BYTES else () for data, path in manifests]


def _chosen(files: LocalCache, path: str, mark: bytes, texts: Collection[bytes]) -> Sequence[bool]:
    data = files.read(index_name(path)) or b""
    index = BlockPartitions.from_bytes(data[len(mark) :]) if data.startswith(mark) else None
    if data and index is None:
        files.forget(index_name(path))  # so that the next decoded manifest gets an index
    return () if index is None else index.holding(texts)


def keep_indexes(files: LocalCache | None, manifests: Sequence[tuple[bytes, str]], decoded: Sequence[Entries]) -> None:
    """Add the indexes of manifests that were decoded as a whole to the local cache, if they save work."""
    for (data, path), entries in zip(manifests, decoded, strict=True):
        if files is None or len(data) < LEAST_BYTES or not is_avro(data) or not isinstance(entries, EntryColumns):
            continue
        if not files.has(index_name(path)):
            index = BlockPartitions.of(entries, data, path)
            if index is not None:
                files.keep(index_name(path), _mark(data) + index.to_bytes())
