"""Names that are one letter away from known ones: what a slip, or a flipped bit, makes of them."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_core.errors import CorruptTable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs from ``name`` in one letter, if there is one."""
    return next(
        (k for k in known if len(k) == len(name) and sum(a != b for a, b in zip(k, name, strict=True)) == 1), None
    )


def refuse_misspelled(name: str, there: Iterable[str], path: str) -> None:
    """Raises CorruptTable when a field that is missing in the records of ``path`` is there but for a letter."""
    if (found := nearest(name, there)) is not None:
        raise CorruptTable(f"{path}: its records have a field {found} and no {name}", path=path, field=name)
