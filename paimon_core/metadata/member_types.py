"""Member types: checks the values of a dataclass against its annotations, for values that another process has sent."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
_Test = Callable[[Any], bool]


def checked(value: _T) -> _T:
    """Return the dataclass value unchanged; raises TypeError, which names the member, for a member of a wrong type."""
    kind: Any = type(value)
    for name, exact, fits in _members(kind):
        member = getattr(value, name)
        if type(member) not in exact and not fits(member):
            raise TypeError(f"{name} is {member!r:.80}")
    return value


@cache
def _members(kind: Any) -> tuple[tuple[str, frozenset[type], _Test], ...]:
    """Return for each member its name, the types whose values always fit, and a test for other values.

    The annotations are read once for each dataclass: a task checks thousands of values of few dataclasses.
    """
    hints = get_type_hints(kind)
    return tuple((f.name, _exact(hints[f.name]), _test(hints[f.name])) for f in fields(kind))


def _exact(hint: Any) -> frozenset[type]:
    """Return the types whose values fit ``hint``, without a look at their content."""
    if isinstance(hint, types.UnionType):
        return frozenset().union(*map(_exact, get_args(hint)))
    return frozenset() if get_origin(hint) is not None else frozenset([hint])


def _test(hint: Any) -> _Test:
    """Return whether a value fits ``hint``, as a function of the value."""
    if isinstance(hint, types.UnionType):
        tests = tuple(map(_test, get_args(hint)))
        return lambda value: any(test(value) for test in tests)
    origin, kinds = get_origin(hint), get_args(hint)
    if origin is tuple and not (len(kinds) == 2 and kinds[1] is Ellipsis):
        tests = tuple(map(_test, kinds))
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(tests)
            and all(test(one) for test, one in zip(tests, value, strict=True))
        )
    if origin is tuple or origin is Sequence:
        return _all_of(origin, _exact(kinds[0]), _test(kinds[0]))
    if origin is Mapping:
        keys, members = map(_test, kinds)
        return lambda value: isinstance(value, Mapping) and all(keys(k) and members(v) for k, v in value.items())
    return lambda value: isinstance(value, hint) and not (isinstance(value, bool) and hint is int)


def _all_of(kind: Any, exact: frozenset[type], test: _Test) -> _Test:
    """Return a test for sequences of a kind whose elements are of exact types or pass ``test``."""
    return lambda value: isinstance(value, kind) and all(type(one) in exact or test(one) for one in value)
