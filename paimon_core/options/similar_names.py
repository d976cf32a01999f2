"""Similar names: finds the known name that a misspelled or damaged name (for example by a flipped bit) stands for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from paimon_core.errors import CorruptTable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that differs from ``name`` in exactly one letter, or None."""
    return next(
        (k for k in known if len(k) == len(name) and sum(a != b for a, b in zip(k, name, strict=True)) == 1), None
    )


def suggested(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None: it has other separators, or a few letters differ."""
    plain = {_plain(k): k for k in known}
    found = difflib.get_close_matches(_plain(name), plain, 1, 0.85)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.strip().lower().translate(str.maketrans("_.", "--"))


def refuse_misspelled(name: str, there: Iterable[str], path: str) -> None:
    """Raise CorruptTable when ``path`` has no field ``name`` but a field of ``there`` that differs in one letter."""
    if (found := nearest(name, there)) is not None:
        raise CorruptTable(f"{path}: its records have a field {found} and no {name}", path=path, field=name)
