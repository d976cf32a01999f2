"""Member types: checks the values of a dataclass against its annotations, for values that another process has sent."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_T = TypeVar("_T")


def checked(value: _T) -> _T:
    """Return the dataclass value unchanged; raises TypeError, which names the member, for a member of a wrong type."""
    kind: Any = type(value)
    for name, hint in _hints(kind).items():
        member = getattr(value, name)
        if not _fits(member, hint):
            raise TypeError(f"{name} is {member!r:.80}")
    return value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(hint, types.UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if get_origin(hint) is tuple:
        kinds = get_args(hint)
        if not isinstance(value, tuple):
            return False
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return all(_fits(one, kinds[0]) for one in value)
        return len(value) == len(kinds) and all(map(_fits, value, kinds))
    if get_origin(hint) is Sequence:
        return isinstance(value, Sequence) and all(_fits(one, get_args(hint)[0]) for one in value)
    if get_origin(hint) is Mapping:
        kind, member = get_args(hint)
        return isinstance(value, Mapping) and all(_fits(k, kind) and _fits(v, member) for k, v in value.items())
    return isinstance(value, hint) and not (isinstance(value, bool) and hint is int)
