"""File index options: ``file-index.<kind>.columns``, which lists the indexed columns, and the options of each index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_core.options.parsers import list_parts, one_of, parse_bytes, parse_fraction, parse_size, whole

FILE_INDEX_PREFIX = "file-index."
_COLUMNS = "columns"
_BLOOM = "bloom-filter"
_MOST_BITS = (1 << 31) - 16


def _rate(text: str) -> float:
    rate = parse_fraction(text)
    if not 0 < rate < 1:
        raise ValueError("a number above 0 and below 1")
    return rate


_OF_KIND: Mapping[str, Mapping[str, tuple[Callable[[str], Any], Any]]] = {
    _BLOOM: {"items": (whole(1, (1 << 31) - 1), 1_000_000), "fpp": (_rate, 0.1)},
    "bitmap": {
        "version": (lambda text: int(one_of("1", "2")(text)), 2),
        "index-block-size": (parse_size, 16 << 10),
    },
    "bsi": {},
    "range-bitmap": {"chunk-size": (parse_bytes, None)},
}
"""For each kind of index, the parser and the default of each option; None: the default depends on the column's type."""


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """One index: its column, the indexed key of a MAP column (None for other columns), its kind and its options."""

    column: str
    key: str | None
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the indexed values in an index, ``column`` or ``column[key]``."""
        return self.column if self.key is None else f"{self.column}[{self.key}]"


def is_file_index_option(key: str) -> bool:
    """Whether the key lists the columns of a kind of index or is an option of one index."""
    parts = key.removeprefix(FILE_INDEX_PREFIX).split(".")
    if not key.startswith(FILE_INDEX_PREFIX) or parts[0] not in _OF_KIND:
        return False
    return parts[1:] == [_COLUMNS] or (len(parts) == 3 and parts[2] in _OF_KIND[parts[0]])


def parse_file_indexes(texts: Mapping[str, str]) -> tuple[IndexedColumn, ...]:
    """Return the indexes that file index options declare; ``is_file_index_option`` must be true for all ``texts``.

    The options of a map column apply to all of its keys. An option has no effect if the column does not have the index
    of this option. Raises ValueError, which names the option, for a bad value.
    """
    found: dict[tuple[str, str | None, str], None] = {}
    given: dict[tuple[str, str], dict[str, Any]] = {}
    for key, text in texts.items():
        kind, column, *rest = key.removeprefix(FILE_INDEX_PREFIX).split(".")
        if rest:
            try:
                given.setdefault((kind, column), {})[rest[0]] = _OF_KIND[kind][rest[0]][0](text)
            except ValueError as error:
                raise ValueError(f"{error} ({key} = {text!r:.80})") from None
            continue
        for name in list_parts(text):
            if not name:
                raise ValueError(f"a list of columns ({key} = {text!r:.80})")
            found[(*_split(name), kind)] = None
    out = []
    for column, map_key, kind in found:
        options = {name: default for name, (_, default) in _OF_KIND[kind].items()}
        options |= given.get((kind, column), {})
        options |= given.get((kind, f"{column}[{map_key}]"), {}) if map_key is not None else {}
        out.append(IndexedColumn(column, map_key, kind, options))
    for index in out:
        bits = index.options["items"] * -math.log2(index.options["fpp"]) * 1.45 if index.kind == _BLOOM else 0
        if bits > _MOST_BITS:
            raise ValueError(f"less than {_MOST_BITS} bits for the bloom filter of {index.name!r}")
    return tuple(out)


def renamed_file_index(key: str, text: str, column: str, name: str) -> tuple[str, str]:
    """Return the key and text of a file index option after the column ``column`` is renamed to ``name``."""

    def renamed(indexed: str) -> str:
        found, map_key = _split(indexed)
        return indexed if found != column else name if map_key is None else f"{name}[{map_key}]"

    kind, of, *rest = key.removeprefix(FILE_INDEX_PREFIX).split(".")
    if rest:
        return f"{FILE_INDEX_PREFIX}{kind}.{renamed(of)}.{rest[0]}", text
    names = list_parts(text)
    changed = tuple(map(renamed, names))
    return key, text if changed == names else ",".join(changed)


def _split(name: str) -> tuple[str, str | None]:
    column, bracket, key = name.partition("[")
    return (column, key[:-1]) if bracket and key.endswith("]") else (name, None)
