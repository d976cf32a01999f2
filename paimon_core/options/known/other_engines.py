"""Options that only other engines obey: the records of ``other_engines.tsv``, in the directory of this module.

A record is *carried* or *refused*, see ``Support``; ``stops`` is a member of ``Stops``. Lists are separated by commas.
"""

from __future__ import annotations

import pkgutil
from collections import defaultdict
from collections.abc import Mapping, Sequence

from paimon_core.options.option import Kind, Option, Stops, carried, refused


def by_subject() -> Mapping[str, Sequence[Option]]:
    """Return the options by subject, in the order of the file."""
    data = pkgutil.get_data(__name__, "other_engines.tsv")
    assert data is not None
    found: dict[str, list[Option]] = defaultdict(list)
    for line in data.decode().splitlines()[1:]:
        subject, *record = line.split("\t")
        found[subject].append(_option(*record))
    return found


def _option(
    key: str, kind: str, default: str, use: str, stops: str, changes: str, values: str, older: str, meaning: str
) -> Option:
    words, names, immutable = _list(values), _list(older), changes == "immutable"
    if use == "carried":
        return carried(key, Kind(kind), default, meaning, words, older=names, immutable=immutable)
    stopped = Stops[stops.upper()]
    return refused(key, Kind(kind), default, meaning, values=words, stops=stopped, older=names, immutable=immutable)


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
