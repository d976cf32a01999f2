"""Listed files: which files exist with their recorded size, by one listing of the directory of each bucket.

Names are compared by their hashes, for many directories at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paimon_core.codec.avro.columns import Mask, Numbers
from paimon_core.fsck.check_context import KEPT_LISTINGS, CheckRun, Listing
from paimon_core.fsck.checked_entries import CheckedEntries, Place
from paimon_core.fsck.known_names import name_hashes, searched
from paimon_core.storage.paths import is_plain

_DIRECTORIES = min(256, KEPT_LISTINGS)
"""The number of directories whose files are compared at once."""
_NONE = Listing((), ())
_MIX = 0x9E3779B97F4A7C15 - (1 << 64)


def listed(run: CheckRun, parts: Sequence[CheckedEntries], chosen: Sequence[Mask]) -> list[Mask]:
    """Return which of the chosen files of each part exist with their recorded size and have plain names.

    Of a directory that cannot be listed, no file is returned.
    """
    rows = [np.flatnonzero(mask) for mask in chosen]
    out = [np.zeros(len(part), bool) for part in parts]
    if not sum(map(len, rows)):
        return out
    code, places = _places(parts, rows)
    order = np.argsort(code, kind="stable")
    code = code[order]
    each = list(zip(parts, rows, strict=True))
    names = np.concatenate([part.columns.name_digest[some] for part, some in each])[order]
    sizes = np.concatenate([part.columns.numbers["file_size"][some] for part, some in each])[order]
    seen = np.zeros(len(code), bool)
    ends = np.searchsorted(code, np.arange(len(places) + _DIRECTORIES)[::_DIRECTORIES])
    for number, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        first = number * _DIRECTORIES
        seen[start:end] = _among(
            run, places[first : first + _DIRECTORIES], code[start:end] - first, names[start:end], sizes[start:end]
        )
    in_order = np.zeros(len(code), bool)
    in_order[order] = seen
    for mask, some, is_seen in zip(out, rows, np.split(in_order, np.cumsum([len(r) for r in rows])[:-1]), strict=True):
        mask[some] = is_seen
    return out


def _places(parts: Sequence[CheckedEntries], rows: Sequence[Numbers]) -> tuple[Numbers, list[Place]]:
    """Return the index of the place of each chosen file, and the distinct places."""
    known: dict[Place, int] = {}
    codes = []
    for part, some in zip(parts, rows, strict=True):
        code, places = part.places
        used = np.unique(code[some])
        number = np.zeros(len(places), np.int64)
        number[used] = [known.setdefault(places[at], len(known)) for at in used.tolist()]
        codes.append(number[code[some]])
    return np.concatenate(codes), list(known)


def _among(run: CheckRun, places: Sequence[Place], code: Numbers, names: Numbers, sizes: Numbers) -> Mask:
    """Return which of the files with these hashes of names are listed in their place with their size."""
    paths = run.context.paths
    directories: list[str] = []
    counts: list[int] = []
    found_names: list[bytes] = []
    found_sizes: list[int] = []
    for place in places:
        try:
            directory = paths.bucket(run.context.partition_path(place[0]), place[1])
            files = run.listing(directory)
        except Exception:  # each file is checked alone, which reports the error
            directory, files = "", _NONE
        if not is_plain(b"".join(files.names).decode(errors="surrogateescape")):
            files = _NONE
        directories.append(directory)
        counts.append(len(files.names))
        found_names += files.names
        found_sizes += files.sizes
    if not found_names:
        return np.zeros(len(code), bool)
    keys = _keys(name_hashes(found_names), np.repeat(np.arange(len(places)), counts))
    by_key = np.argsort(keys)
    keys = keys[by_key]
    wanted = _keys(names, code)
    at = np.minimum(searched(keys, wanted), len(keys) - 1)
    out: Mask = (keys[at] == wanted) & (np.array(found_sizes, np.int64)[by_key[at]] == sizes)
    for directory, count in zip(directories, np.bincount(code[out], minlength=len(places)).tolist(), strict=True):
        if count:
            run.reach(directory, count)
    return out


def _keys(names: Numbers, places: Numbers) -> Numbers:
    return names ^ (places * np.int64(_MIX))
