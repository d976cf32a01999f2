"""Decodes manifests to columns (format 4.1, 4.3): all records of many blocks are decoded at once.

A record starts with its version, its kind and its partition. The data is searched for these bytes, and each position
where the bytes occur is decoded as if a record started there; ``codec.avro.columns`` keeps only the real records. A
manifest that is no Avro file, has an unusual schema or contains invalid values is decoded by ``decode_entries``, which
raises the errors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from paimon_core.codec.avro.blocks import read_blocks
from paimon_core.codec.avro.columns import PADDING, Bytes, Column, Mask, NotInColumns, Numbers, Records, decode_columns
from paimon_core.codec.avro.container import AvroBlock
from paimon_core.codec.avro.digests import digests
from paimon_core.codec.avro.items import texts_of
from paimon_core.codec.avro.plain_schema import array_schema
from paimon_core.codec.record_file import is_avro
from paimon_core.errors import CorruptTable
from paimon_core.metadata.data_file import FileSource
from paimon_core.metadata.manifests.constant_columns import own, shared
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns, Spans
from paimon_core.metadata.manifests.manifest_file import VERSION, decode_entries
from paimon_core.options.similar_names import refuse_misspelled
from paimon_core.parallel_work import run_parallel

JOINT_BYTES = 1 << 20
"""Manifests with at most this many decompressed bytes are decoded together with other manifests."""
FEW_BYTES = 6 << 10
"""If all manifests together have at most this many bytes (about 80 entries), it is faster to decode their records one
by one; ``HEADER_BYTES`` of each manifest are not counted."""
HEADER_BYTES = 2300
"""The approximate bytes of the schema in a manifest; the number of the remaining bytes depends on the number of
entries.
"""

_FIELDS = {
    "_KIND": ("kind", "long"),
    "_PARTITION": ("partition", "bytes"),
    "_BUCKET": ("bucket", "long"),
    "_TOTAL_BUCKETS": ("total_buckets", "long"),
    "_FILE._FILE_NAME": ("file_name", "string"),
    "_FILE._FILE_SIZE": ("file_size", "count"),
    "_FILE._ROW_COUNT": ("row_count", "count"),
    "_FILE._MIN_KEY": ("min_key", "bytes"),
    "_FILE._MAX_KEY": ("max_key", "bytes"),
    "_FILE._KEY_STATS._MIN_VALUES": ("key_min_values", "bytes"),
    "_FILE._KEY_STATS._MAX_VALUES": ("key_max_values", "bytes"),
    "_FILE._KEY_STATS._NULL_COUNTS": ("key_null_counts", "counts?"),
    "_FILE._VALUE_STATS._MIN_VALUES": ("value_min_values", "bytes"),
    "_FILE._VALUE_STATS._MAX_VALUES": ("value_max_values", "bytes"),
    "_FILE._VALUE_STATS._NULL_COUNTS": ("value_null_counts", "counts?"),
    "_FILE._MIN_SEQUENCE_NUMBER": ("min_sequence_number", "long"),
    "_FILE._MAX_SEQUENCE_NUMBER": ("max_sequence_number", "long"),
    "_FILE._SCHEMA_ID": ("schema_id", "count"),
    "_FILE._LEVEL": ("level", "count"),
    "_FILE._EXTRA_FILES": ("extra_files", "strings"),
    "_FILE._CREATION_TIME": ("creation_time_millis", "long?"),
    "_FILE._DELETE_ROW_COUNT": ("delete_row_count", "long?"),
    "_FILE._EMBEDDED_FILE_INDEX": ("embedded_index", "bytes?"),
    "_FILE._FILE_SOURCE": ("file_source", "long?"),
    "_FILE._VALUE_STATS_COLS": ("value_stats_cols", "strings?"),
    "_FILE._EXTERNAL_PATH": ("external_path", "string?"),
    "_FILE._FIRST_ROW_ID": ("first_row_id", "long?"),
    "_FILE._WRITE_COLS": ("write_cols", "strings?"),
    "_FILE._WRITE_COLS_SEQUENCES": ("write_cols_sequences", "longs?"),
}
"""The column and the kind of each field. A field of a kind with ``?`` may be null or missing; a ``count`` must not be
negative.
"""
_ITEMS = {"counts": ("long", 0), "strings": ("string", None), "longs": ("long", None)}
"""The type of the items of an array, and the position of null in their Avro union; None: the items are not null."""
_LEADING = ("_VERSION", "_KIND", "_PARTITION")
_ARITY_BYTES = 4


@dataclass(frozen=True)
class _Blocks:
    """The decompressed blocks of one manifest, and the fields of its records.

    ``records`` None: the records must be decoded one by one.
    """

    data: bytes
    path: str
    blocks: list[AvroBlock]
    records: Records | None

    @property
    def unpacked(self) -> int:
        return sum(len(block.data) for block in self.blocks)


def decode_manifests(
    files: Sequence[tuple[bytes, str]],
    holding: Collection[bytes] | None = None,
    chosen: Sequence[Sequence[bool]] | None = None,
) -> list[Entries]:
    """Return the entries of each manifest, given their bytes and paths; paths are used in error messages.

    The result is columns, or ``ManifestEntry`` values if all manifests together are small (``FEW_BYTES``). ``holding``:
    entries that contain none of these byte strings may be left out. ``chosen``: for each manifest, which of its first
    blocks may contain them; the other ones are not unpacked. Raises the errors of ``decode_entries``.
    """
    if sum(max(len(data) - HEADER_BYTES, 0) for data, _ in files) <= FEW_BYTES:
        return [tuple(decode_entries(data, path, holding)) for data, path in files]

    def decoded(file: tuple[tuple[bytes, str], Sequence[bool]]) -> EntryColumns | _Blocks:
        manifest = _open(*file[0], holding, file[1])
        alone = manifest.records is None or manifest.unpacked > JOINT_BYTES
        return _decoded(manifest, holding) if alone else manifest

    each = zip(files, [()] * len(files) if chosen is None else chosen, strict=True)
    done = dict(enumerate(run_parallel(decoded, each)))
    joint: dict[Records, dict[int, _Blocks]] = {}
    for number, manifest in done.items():
        if isinstance(manifest, _Blocks) and manifest.records is not None:
            joint.setdefault(manifest.records, {})[number] = manifest
    for records, manifests in joint.items():
        together = _decoded_together(list(manifests.values()), records, holding)
        done |= zip(manifests, together, strict=True)
    return [columns for columns in done.values() if isinstance(columns, EntryColumns)]


def _open(data: bytes, path: str, holding: Collection[bytes] | None, chosen: Sequence[bool]) -> _Blocks:
    found = read_blocks(data, path, chosen) if is_avro(data) else None
    if found is None:
        return _Blocks(data, path, [], None)
    schema, blocks = found
    if holding is not None:
        blocks = [b for b in blocks if any(text in b.data for text in holding)]
    blocks = [b for b in blocks if b.count]
    records = _records_of(schema)
    return _Blocks(data, path, [] if records is None else blocks, records)


@lru_cache(maxsize=16)
def _records_of(schema: bytes) -> Records | None:
    """Return the fields of a schema; None when its records must be decoded one by one."""
    try:
        records = Records.of(array_schema(schema)["items"])
        _check_fields(records)
    except (NotInColumns, CorruptTable):
        return None
    return records


def _decoded(manifest: _Blocks, holding: Collection[bytes] | None) -> EntryColumns:
    if manifest.records is not None:
        joined = _joined(manifest.blocks)
        manifest.blocks.clear()  # free their memory, which is as large as the memory of the result
        try:
            return _columns(*joined, manifest.records)
        except NotInColumns:
            pass
    return EntryColumns.of_entries(decode_entries(manifest.data, manifest.path, holding))


def _decoded_together(
    manifests: Sequence[_Blocks], records: Records, holding: Collection[bytes] | None
) -> list[EntryColumns]:
    """Decode small manifests with the same fields together.

    If a manifest has invalid values, decode each manifest alone.
    """
    if len(manifests) == 1:
        return [_decoded(manifests[0], holding)]
    try:
        columns = _columns(*_joined([block for manifest in manifests for block in manifest.blocks]), records)
    except NotInColumns:
        return [_decoded(manifest, holding) for manifest in manifests]
    rows = [0, *accumulate(sum(block.count for block in manifest.blocks) for manifest in manifests)]
    ends = [0, *accumulate(manifest.unpacked for manifest in manifests)]
    places = zip(pairwise(rows), pairwise(ends), strict=True)
    return [own_copy(columns.take(slice(a, b)), first, last) for (a, b), (first, last) in places]


def own_copy(entries: EntryColumns, first: int, last: int) -> EntryColumns:
    """Return a copy of entries; its data and columns share no memory with larger arrays.

    ``first``, ``last``: the part of the data that contains all values of these entries.
    """
    spans: dict[str, Spans] = {}
    for name, (starts, lengths) in entries.spans.items():
        owned = own(lengths)
        is_null = starts is lengths or int(lengths.max(initial=-1)) < 0
        spans[name] = Spans(owned if is_null else np.where(lengths > 0, starts - first, 0), owned)
    return EntryColumns(
        entries.data[first:last] + PADDING,
        {name: own(column) for name, column in entries.numbers.items()},
        {name: own(column) for name, column in entries.nulls.items()},
        spans,
        entries.name_digest.copy(),
    )


def _joined(blocks: Sequence[AvroBlock]) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Return the joined bytes of all blocks, and for each block (start, end, number of records)."""
    ends = np.cumsum([len(block.data) for block in blocks], dtype=np.int64).tolist()
    bounds = [(a, b, block.count) for a, b, block in zip([0, *ends], ends, blocks, strict=False)]
    return b"".join([*(block.data for block in blocks), PADDING]), bounds


def _columns(data: bytes, bounds: Sequence[tuple[int, int, int]], records: Records) -> EntryColumns:
    """Decode blocks of one schema. Raises NotInColumns for invalid records, and for records that do not fit columns."""
    if not bounds:
        return EntryColumns.of_entries([])
    buffer = np.frombuffer(data, np.uint8)
    found = decode_columns(buffer, bounds, _places(buffer, records), records)
    columns = {".".join(path): column for path, column in found.items()}
    found.clear()
    version = columns.pop("_VERSION")
    count = len(version.values)
    _check_numbers(version, {VERSION})
    _check_numbers(columns["_KIND"], {kind.value for kind in FileKind})
    if "_FILE._FILE_SOURCE" in columns:
        _check_numbers(columns["_FILE._FILE_SOURCE"], {source.value for source in FileSource})
    numbers: dict[str, Numbers] = {}
    nulls: dict[str, Mask] = {}
    spans: dict[str, Spans] = {}
    for field, (name, kind) in _FIELDS.items():
        column = columns.pop(field, None)  # popped, so that only one column's source is in memory at a time
        if column is None:  # an older writer did not know the field
            column = Column(np.zeros(count, np.int64), np.zeros(count, np.int64), np.ones(count, bool))
        missing = column.nulls is not None and bool(column.nulls.any())
        if missing and not kind.endswith("?"):
            raise NotInColumns(f"{field} is null")
        if kind in ("long", "long?", "count"):
            numbers[name] = shared(column.values)
            if missing and column.nulls is not None:
                nulls[name] = column.nulls
            if kind == "count" and int(column.values.min()) < 0:
                raise NotInColumns(f"{field} is negative")
        else:
            spans[name] = _spans(column, len(data))
    digest = _check_texts(data, spans)
    return EntryColumns(data, numbers, nulls, spans, digest)


def _spans(column: Column, size: int) -> Spans:
    assert column.lengths is not None
    lengths = shared(column.lengths if column.nulls is None else np.where(column.nulls, -1, column.lengths))
    kind: Any = np.int32 if size <= np.iinfo(np.int32).max else np.int64
    if len(lengths) and int(lengths.max()) < 0:  # all are null
        lengths = shared(np.full(len(lengths), -1, kind))
        return Spans(lengths, lengths)
    return Spans(column.values.astype(kind), shared(lengths.astype(kind)))


def _check_fields(records: Records) -> None:
    """Raise NotInColumns unless all fields have the types in ``_FIELDS``, and all required fields are present.

    Raises CorruptTable for a field with a damaged name.
    """
    if tuple(".".join(f.path) for f in records.fields[:3]) != _LEADING:
        raise NotInColumns("other fields come first")
    if any(field.null is not None for field in records.fields[:3]):
        raise NotInColumns("the leading fields may be null")
    present = {".".join(field.path): field for field in records.fields}
    if len(present) != len(records.fields):
        raise NotInColumns("two fields have the same name")
    for name, (_, kind) in _FIELDS.items():
        field = present.get(name)
        if field is None:
            if not kind.endswith("?"):
                raise NotInColumns(f"no field {name}")
            parent, _, last = name.rpartition(".")
            refuse_misspelled(last, [f.path[-1] for f in records.fields if ".".join(f.path[:-1]) == parent], "")
            continue
        kind = kind.rstrip("?")
        if kind in _ITEMS:
            items = field.items
            if field.kind != "array" or items is None or (items.kind, items.null) != _ITEMS[kind]:
                raise NotInColumns(f"{name} has another type")
        elif field.kind != ("long" if kind == "count" else kind):
            raise NotInColumns(f"{name} has another type")


def _check_numbers(column: Column, allowed: set[int]) -> None:
    valid = np.isin(column.values, list(allowed))
    if column.nulls is not None:
        valid |= column.nulls
    if not valid.all():
        raise NotInColumns("a number is not allowed")


def _check_texts(data: bytes, spans: dict[str, Spans]) -> Numbers:
    """Return the hashes of the file names. Raises NotInColumns for a text that is not UTF-8."""
    digest, ascii_only = digests(data, *spans["file_name"])
    _check_unicode(data, spans["file_name"], np.flatnonzero(~ascii_only))
    for name in ("external_path", "extra_files", "value_stats_cols", "write_cols"):
        starts, lengths = spans[name]
        some = np.flatnonzero(lengths > 0)
        if len(some):
            texts = Spans(starts[some], lengths[some])
            _check_unicode(data, texts, np.flatnonzero(~digests(data, *texts)[1]), array=name != "external_path")
    return digest


def _check_unicode(data: bytes, spans: Spans, at: Any, *, array: bool = False) -> None:
    texts = {data[a : a + n] for a, n in zip(spans.starts[at].tolist(), spans.lengths[at].tolist(), strict=True)}
    try:
        for text in texts:
            texts_of(text) if array else text.decode()
    except UnicodeDecodeError as error:
        raise NotInColumns("a text is not UTF-8") from error


def _places(buffer: Bytes, records: Records) -> Numbers:
    """Return the positions at which a record may start: a version, a kind and a partition follow.

    A partition is recognized by its number of columns, which must be the same as in the first record. If this number is
    0, all partitions are equal, so the length and all bytes of the partition are compared.
    """
    end = len(buffer) - len(PADDING)
    lead = 0 if records.branch is None else 1
    places = np.flatnonzero(buffer[:end] == 2 * VERSION)
    places = places[buffer[places + 1] <= 2]
    if lead:
        places = places[places > 0]
        places = places[buffer[places - 1] == 2 * (records.branch or 0)]
    partition = _row_starts(buffer, np.array([lead], np.int64))
    at = int(partition[0])
    arity = buffer[at : at + _ARITY_BYTES]
    first, last = 0, _ARITY_BYTES
    if not arity.any():
        first, last = -1, min(int(buffer[at - 1]) // 2, end - at)
    rows = np.minimum(_row_starts(buffer, places), end)
    matches = np.ones(len(places), bool)
    for offset in range(first, last):
        matches &= buffer.take(rows + offset, mode="clip") == buffer[at + offset]
    out: Numbers = places[matches] - lead
    return out


def _row_starts(buffer: Bytes, versions: Numbers) -> Numbers:
    """Return where the partition of each record starts: after the version, the kind and a length of 1 or 2 bytes."""
    return versions + 3 + (buffer[versions + 2] > 0x7F)
