"""Names that are nearly known ones: one letter away, as a flipped bit makes them, or a slip of the hand."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from paimon_core.errors import CorruptTable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs from ``name`` in one letter, if there is one."""
    return next(
        (k for k in known if len(k) == len(name) and sum(a != b for a, b in zip(k, name, strict=True)) == 1), None
    )


def suggested(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, if there is one: other marks between its words, or a few letters off."""
    plain = {_plain(k): k for k in known}
    found = difflib.get_close_matches(_plain(name), plain, 1, 0.85)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.strip().lower().translate(str.maketrans("_.", "--"))


def refuse_misspelled(name: str, there: Iterable[str], path: str) -> None:
    """Raises CorruptTable when a field that is missing in the records of ``path`` is there but for a letter."""
    if (found := nearest(name, there)) is not None:
        raise CorruptTable(f"{path}: its records have a field {found} and no {name}", path=path, field=name)
