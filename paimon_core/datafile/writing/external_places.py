"""ExternalPlaces: selects the directory outside of the table in which a new data file is written (format 1.4)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

from paimon_core.codec.binary_row.murmur import murmur3
from paimon_core.errors import InvalidRequest
from paimon_core.options import TableOptions
from paimon_core.storage.external_roots import ExternalRoots

_HASH_BITS = 20
_HASH_CUTS = (0, 4, 8, 12, _HASH_BITS)


@dataclass
class ExternalPlaces:
    """The external paths of one table, used in turn by one writer of one bucket."""

    places: tuple[str, ...]
    weights: tuple[int, ...] = ()
    injects: bool = False
    """Whether the path has, between bucket and file, directories that are computed from a hash of the file name."""
    position: int = 0

    @staticmethod
    def of(options: TableOptions, roots: ExternalRoots) -> ExternalPlaces | None:
        """Return the places of the table's options; None when new files are in the table.

        Raises InvalidRequest for an external path that is not below the allowed roots, and for options that do not
        fit each other.
        """
        places, weights = external_places(options)
        if not places:
            return None
        for place in places:
            # A file in the directory is checked, because the directory itself may be an allowed root.
            if roots.find(f"{place}/file") is None:
                raise InvalidRequest(
                    f"data-file.external-paths = {place}: the path must be one of allowed_roots or below one; "
                    f"they are [{', '.join(roots.paths)}]",
                    option="data-file.external-paths",
                    value=place,
                )
        injects = options["data-file.external-paths.strategy"] == "entropy-inject"
        return ExternalPlaces(places, weights, injects, 0 if injects else random.randrange(len(places)))

    def next(self, relative: str, name: str) -> str:
        """Return the URL of the new file ``name`` of the bucket whose relative directory is ``relative``."""
        if self.weights:
            place = random.choices(self.places, self.weights)[0]
        else:
            self.position = (self.position + 1) % len(self.places)
            place = self.places[self.position]
        middle = [relative, *_directories(name)] if self.injects else [relative]
        return "/".join((place, *middle, name))


def external_places(options: TableOptions) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the URLs (in Java's form) of the directories for new files, and the weights of these; () for none.

    Raises InvalidRequest for options that do not fit each other.
    """
    strategy = options["data-file.external-paths.strategy"]
    places: tuple[str, ...] = options["data-file.external-paths"]
    if strategy == "none" or not places:
        return (), ()
    if strategy == "specific-fs":
        scheme = options["data-file.external-paths.specific-fs"]
        if not scheme:
            raise InvalidRequest(
                "data-file.external-paths.strategy = specific-fs needs data-file.external-paths.specific-fs"
            )
        places = tuple(p for p in places if p.partition(":")[0].lower() == scheme.lower())
        if not places:
            raise InvalidRequest(f"no path of data-file.external-paths has the scheme {scheme} of its specific-fs")
    weights: tuple[int, ...] = options["data-file.external-paths.weights"]
    if strategy != "weight-robin" or len(places) < 2 or not weights:
        return places, ()
    if len(weights) != len(places):
        raise InvalidRequest(
            f"data-file.external-paths.weights has {len(weights)} weights for {len(places)} external paths"
        )
    return places, weights


def _directories(name: str) -> list[str]:
    """Return the directories of the strategy entropy-inject, such as ``1001/1001/1001/10011001``."""
    bits = f"{murmur3(name.encode()) & ((1 << _HASH_BITS) - 1):0{_HASH_BITS}b}"
    return [bits[a:b] for a, b in pairwise(_HASH_CUTS)]
