"""Errors of declarations: one sentence with the file, the line, the key, the rule and the value."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo


class SettingsError(ValueError):
    """A file of the lake's folder is missing or invalid; the message names file, line and key."""


class Mistake(ValueError):
    """An error that a validator of a model raises; ``key`` is the path from the model to the wrong key."""

    def __init__(self, text: str, *key: str | int) -> None:
        super().__init__(text)
        self.key = key


Key = tuple[str | int, ...]
"""A path in a file: the keys and list positions from the top of the file to a value."""
_MAPPING = "a mapping of keys to values"
_RULES = {
    "bool_type": "true or false",
    "date_type": "a date, such as 2024-01-31",
    "dict_type": _MAPPING,
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "greater than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "int_type": "a whole number",
    "less_than_equal": "{le:g} or less",
    "list_type": "a list",
    "mapping_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "model_type": _MAPPING,
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
    "too_short": "a list with at least {min_length} entry",
    "tuple_type": "a list",
}
"""Maps each kind of error of pydantic to a text about the allowed values."""
_IN_WORDS = {"string_type": ": write it in quotes"}
_CREDENTIALS = re.compile(r"://[^\s@/]*:\S*@")


def sentence(
    error: ValidationError, model: type[BaseModel], written: Any, spot: Callable[[Key], tuple[str, int]]
) -> str:
    """Return the first error as one sentence, with the number of further errors in the same file.

    ``written`` are the values as the file has them, before variables are replaced: a message never repeats the value of
    a variable. ``spot`` returns the file and line of a key; line 0 when the file does not have the key. Errors for
    unknown keys come first, because a misspelt key also causes an error for a missing key; all other errors follow in
    the order of the file.
    """
    found = [_Found.of(one, model, written) for one in error.errors(include_url=False)]
    # Pydantic does not count wrong entries, so it also reports a list of wrong entries as too short: drop that error.
    wrong = {one.key[:-1] for one in found}
    found = [one for one in found if one.kind != "too_short" or one.key not in wrong]
    found.sort(key=lambda one: (one.kind != "extra_forbidden", spot(one.key)[1]))
    (file, line), first = spot(found[0].key), found[0]
    if first.kind == "missing":
        file, line = spot(first.key[:-1])
    more = sum(spot(one.key)[0] == file for one in found) - 1
    others = f"; {more} more error{'s' if more > 1 else ''} in this file" if more > 0 else ""
    return f"{file}:{line}: {first.text()}{others}" if line else f"{file}: {first.text()}{others}"


def text_of(key: Sequence[str | int]) -> str:
    """Return a key as text, such as ``source.path`` or ``checks[2].columns``."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(word: str, known: Sequence[str]) -> str:
    """Return ``; did you mean ...?`` with the most similar known word; "" when no known word is similar."""
    folded = {one.lower().replace("-", "_"): one for one in known}
    near = get_close_matches(word.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]}?" if near else ""


def as_written(value: Any) -> str:
    """Return a value for a message as YAML writes it, without passwords and not longer than 80 characters."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, date):
        return str(value)
    return f"{_CREDENTIALS.sub('://***@', value) if isinstance(value, str) else value!r:.80}"


class _Found:
    """One error of pydantic with its place in the file and in the models."""

    def __init__(self, kind: str, context: Mapping[str, Any], key: Key, value: Any, types: Sequence[Any]) -> None:
        self.kind, self.context, self.key, self.value, self.types = kind, context, key, value, types

    @staticmethod
    def of(error: Any, model: type[BaseModel], written: Any) -> _Found:
        key: list[str | int] = []
        types: list[Any] = [model]
        kind: Any = model
        for part in error["loc"]:
            members = _tagged(kind)
            if members:
                kind = members[part]
                types[-1] = kind
                continue
            if part == "[key]":
                break
            kind = _inner(kind, part)
            types.append(kind)
            key.append(part)
        context = error.get("ctx", {})
        if isinstance(context.get("error"), Mistake):
            key += context["error"].key
        return _Found(error["type"], context, tuple(key), _at(written, key), types)

    def text(self) -> str:
        name = text_of(self.key)
        if self.kind == "extra_forbidden":
            known = _keys(self.types[-2])
            hint = _HINTS.get(str(self.key[-1])) or nearest(str(self.key[-1]), known)
            return f"unknown key {name}{hint} (known here: {', '.join(known)})"
        if self.kind == "missing":
            return f"{name} is missing"
        if self.kind in ("union_tag_invalid", "union_tag_not_found"):
            return self._type(name)
        if self.kind == "literal_error":
            allowed = [str(one) for one in get_args(_stripped(self.types[-1]))]
            must = allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
            return f"{name} must be {must}, not {as_written(self.value)}{self._near(allowed)}"
        if self.kind == "value_error":
            return f"{f'{name}: ' if name else ''}{self.context['error']}"
        must = _RULES[self.kind].format(**self.context) if self.kind in _RULES else "valid here"
        if self.kind == "tuple_type" and get_args(_stripped(self.types[-1]))[:1] == (str,):
            must = "a name or a list of names"
        hint = _IN_WORDS.get(self.kind, "") if isinstance(self.value, bool | int | float | date) else ""
        if self.kind == "string_type" and self.value is None and str(self.key[-1]).endswith((")", ">")):
            hint = ": in braces, a type with a comma needs quotes"
        return f"{name} must be {must}, not {as_written(self.value)}{hint}"

    def _near(self, allowed: Sequence[str]) -> str:
        return nearest(self.value, allowed) if isinstance(self.value, str) else ""

    def _type(self, name: str) -> str:
        """Return the error of the key ``type`` of a mapping; this key selects the model of the mapping."""
        allowed = sorted(_tagged(self.types[-1]))
        listed = f"one of {', '.join(allowed)}"
        if not isinstance(self.value, Mapping):
            return f"{name} must be a mapping with the key type, {listed}, not {as_written(self.value)}"
        if "type" not in self.value:
            others = get_close_matches("type", [key for key in self.value if key not in _keys(self.types[-1])], n=1)
            return (
                f"{name}.type is missing{f'; did you mean type instead of {others[0]}?' if others else f': {listed}'}"
            )
        found = self.value["type"]
        if isinstance(found, str) and found.lower() in NOT_YET:
            return f"{name}.type {found} is not supported yet: it must be {listed}{_EVENTS.get(found, '')}"
        near = nearest(found, allowed) if isinstance(found, str) else ""
        return f"{name}.type must be {listed}, not {as_written(found)}{near}"


NOT_YET = frozenset(("pulsar", "kinesis", "debezium", "canal", "maxwell", "ogg", "cdc", "mysql-cdc", "postgres-cdc"))
"""Types of sources that are not supported yet: streams and formats of change data."""
_HINTS = {
    "lookup": ": only files, databases, changes and messages have it, below source; a query joins its inputs",
    "key_from": ": only a source of type table has it, in a part of a wide table",
    "refresh": ": written rows are not looked up again; to update them when the other table changes, fill these "
    "columns by a part with `source: {type: table, key_from: ...}`",
}
"""Further advice for some unknown keys; it follows the name of the key in the sentence."""
_EVENTS = {
    name: f"; files of its events are of type files with format {name}-json"
    for name in ("debezium", "canal", "maxwell")
}


def _at(values: Any, key: Iterable[str | int]) -> Any:
    """Return the value at a key; None when the file does not have it."""
    for part in key:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            # The file may have one text where a list or a mapping is expected, such as one name: return the text.
            return values if isinstance(values, str) else None
    return values


def _stripped(kind: Any) -> Any:
    """Return a type without ``Annotated``, and without ``None`` when the type is optional."""
    while True:
        if get_origin(kind) is Annotated:
            if any(isinstance(one, FieldInfo) and one.discriminator for one in get_args(kind)):
                return kind
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, types.UnionType):
            members = [one for one in get_args(kind) if one is not type(None)]
            if len(members) > 1:
                return kind
            kind = members[0]
        else:
            return kind


def _tagged(kind: Any) -> dict[str, type[BaseModel]]:
    """Return the models of a union by the value of ``type`` that selects each; {} for a type without such models."""
    kind = _stripped(kind)
    if get_origin(kind) is not Annotated:
        return {}
    models = get_args(get_args(kind)[0])
    return {tag: one for one in models for tag in get_args(one.model_fields["type"].annotation)}


def _inner(kind: Any, part: Any) -> Any:
    """Return the type of the value at one key of a model, or at one position or key of a list or mapping."""
    kind = _stripped(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(part)
        if field is not None and field.discriminator:  # pydantic has moved the discriminator to the field
            return Annotated[field.annotation, field]
        return None if field is None else field.annotation
    return next((one for one in reversed(get_args(kind)) if one is not Ellipsis), None)


def _keys(kind: Any) -> list[str]:
    """Return the sorted keys that a mapping of this type may have in a file."""
    kind = _stripped(kind)
    models = list(_tagged(kind).values()) or [kind]
    return sorted({name for one in models for name in set(one.model_fields) - _not_in_file(one)})


def _not_in_file(model: Any) -> frozenset[str]:
    return getattr(model, "not_in_file", frozenset())
