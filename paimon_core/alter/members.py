"""Members: find and edit a column, a field of a ROW, the element of an ARRAY or the value of a MAP by its path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from paimon_core.alter.changes import Place
from paimon_core.errors import InvalidRequest, listed
from paimon_core.schema import DataField
from paimon_core.types import Child, DataType, TypeRoot

Member = DataField | Child
Edit = Callable[[list[Member], int], list[Member]]
"""A function of the members of one level and the position of the last name of the path (-1: not found); returns the new
members."""


def edited(fields: Sequence[DataField], path: Sequence[str], edit: Edit, *, rows_only: bool = False) -> list[DataField]:
    """Return the columns after ``edit`` was applied to the level that contains the last name of ``path``.

    With ``rows_only``, the level must be the columns or the fields of a ROW. Raises InvalidRequest for a path with a
    name that does not exist, and for the key of a MAP, because keys cannot be changed.
    """
    out = _edited(list(fields), tuple(path), 0, edit, rows_only)
    return [member for member in out if isinstance(member, DataField)]


def _edited(members: list[Member], path: tuple[str, ...], depth: int, edit: Edit, rows_only: bool) -> list[Member]:
    at = position(members, path[depth])
    if depth == len(path) - 1:
        return edit(members, at)
    if at < 0:
        raise missing(path[: depth + 1], members)
    out = list(members)
    kind = out[at].type
    out[at] = replace(out[at], type=_edited_type(kind, path, depth + 1, edit, rows_only))
    return out


def _edited_type(kind: DataType, path: tuple[str, ...], depth: int, edit: Edit, rows_only: bool) -> DataType:
    whole, here = ".".join(path), ".".join(path[:depth])
    if kind.root not in (TypeRoot.ROW, TypeRoot.ARRAY, TypeRoot.MAP):
        raise InvalidRequest(f"column {whole!r}: {here!r} is {kind}, which has no fields", column=whole)
    if kind.root is TypeRoot.MAP and path[depth] == "key":
        raise InvalidRequest(f"column {whole!r}: the key of a MAP cannot be changed", column=whole)
    if kind.root is not TypeRoot.ROW:
        names = [c.name for c in kind.children if c.name != "key"]
        if path[depth] not in names:
            raise InvalidRequest(
                f"column {whole!r}: {here!r} is {kind}, whose members are called {names[0]!r}", column=whole
            )
        if rows_only and depth == len(path) - 1:
            raise InvalidRequest(f"column {whole!r}: {here!r} is {kind}, which has no fields of its own", column=whole)
    children = _edited(list(kind.children), path, depth, edit, rows_only)
    return replace(kind, children=tuple(c for c in children if isinstance(c, Child)))


def position(members: Sequence[Member], name: str) -> int:
    """Return the position of the member called ``name``; -1 when there is none."""
    return next((at for at, member in enumerate(members) if member.name == name), -1)


def missing(path: Sequence[str], members: Sequence[Member]) -> InvalidRequest:
    """Return the error for a path whose last name is not among ``members``."""
    whole = ".".join(path)
    return InvalidRequest(f"there is no column {whole!r}; there are {listed([m.name for m in members])}", column=whole)


def inserted(members: Sequence[Member], new: Member, place: Place, default: int | None = None) -> list[Member]:
    """Return the members with ``new`` at ``place``; when ``place`` is empty, at position ``default`` (None: the end).

    Raises InvalidRequest when the column of ``after`` or ``before`` does not exist.
    """
    at = len(members) if default is None or place else default
    beside = place.after if place.after is not None else place.before
    if place.first:
        at = 0
    elif beside is not None:
        at = position(members, beside)
        if at < 0:
            raise missing([beside], members)
        at += place.after is not None
    return [*members[:at], new, *members[at:]]
