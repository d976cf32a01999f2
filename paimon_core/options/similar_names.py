"""Similar names: finds the known name that is most similar to a misspelled name, or to a name with a flipped bit."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from paimon_core.errors import CorruptTable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that differs from ``name`` in exactly one letter, or None."""
    return next(
        (k for k in known if len(k) == len(name) and sum(a != b for a, b in zip(k, name, strict=True)) == 1), None
    )


def resembled(name: str, known: Collection[str]) -> str | None:
    """Return the known name that ``name`` probably stands for; None when it resembles no known name.

    Two names resemble each other when only a few letters or the separators differ, or when both start with the same
    word and a dot: for ``snapshot.keep``, the most similar of the names that start with ``snapshot.`` is returned.
    """
    plain = {_plain(k): k for k in known}
    if found := difflib.get_close_matches(_plain(name), plain, 1, 0.81):
        return plain[found[0]]
    space, dot, _ = name.partition(".")
    group = [k for k in known if k.startswith(f"{space}.")] if dot and space else []
    return next(iter(difflib.get_close_matches(name, group, 1, 0.0)), None)


def similar(name: str, known: Collection[str]) -> str | None:
    """Return the known name that is most similar to ``name``; None when none is similar."""
    return next(iter(difflib.get_close_matches(name.lower(), known, 1, 0.6)), None)


def _plain(name: str) -> str:
    return name.strip().lower().translate(str.maketrans("_.", "--"))


def refuse_misspelled(name: str, there: Iterable[str], path: str) -> None:
    """Raise CorruptTable when one of the fields ``there`` of the file ``path`` differs from ``name`` in one letter."""
    if (found := nearest(name, there)) is not None:
        raise CorruptTable(f"{path}: its records have a field {found} and no {name}", path=path, field=name)
