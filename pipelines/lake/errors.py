"""Errors of declarations: one sentence with the file, the line, the key, the rule and the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError


class SettingsError(ValueError):
    """A file of the lake's folder is missing or invalid; the message names file, line and key."""


Key = tuple[str | int, ...]
"""The keys and list positions from the top of a file to a value."""
_RULES = {
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "a text",
    "float_type": "a number",
    "date_type": "a date",
    "tuple_type": "a list",
    "mapping_type": "a mapping of keys to values",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}


def sentence(error: ValidationError, model: type[BaseModel], values: Any, place: Callable[[Key], str]) -> str:
    """Return the first error as one sentence; ``place`` gives the file and line of a key."""
    first = error.errors(include_url=False)[0]
    kind, found, rule = first["type"], first["input"], first["msg"]
    key = _key(first["loc"], values)
    name = text_of(key)
    if kind == "extra_forbidden":
        known = _known(model, key[:-1], values)
        return f"{place(key)}: unknown key {name}{_nearest(str(key[-1]), known)} (known here: {', '.join(known)})"
    if kind == "missing":
        return f"{place(key[:-1])}: {name} is missing"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return f"{place(key)}: {name}.{_tag(first, found)}"
    if kind == "literal_error":
        expected = first["ctx"]["expected"].replace("'", "")
        return f"{place(key)}: {name} must be {expected}, not {found!r:.80}{_nearest(str(found), _words(expected))}"
    if kind == "value_error":
        said = str(first["ctx"]["error"])
        return f"{place(key)}: {f'{name}: ' if key else ''}{said}"
    must = _RULES.get(kind)
    return f"{place(key)}: {name} must be {must}, not {found!r:.80}" if must else f"{place(key)}: {name}: {rule}"


def text_of(key: Sequence[str | int]) -> str:
    """Return a key as people write it: ``source.path`` or ``checks[2].columns``."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _key(location: Sequence[Any], values: Any) -> Key:
    """Return the location without the names of union members, which are no keys of the file."""
    key: list[str | int] = []
    for number, part in enumerate(location):
        is_last = number == len(location) - 1
        if (isinstance(values, dict) and part in values) or (
            isinstance(values, (list, tuple)) and isinstance(part, int)
        ):
            values = values[part]
        elif not is_last or not isinstance(values, dict) or values.get("type") == part:
            continue  # the name of a union member; a missing key is the last part of a mapping
        key.append(part)
    return tuple(key)


def _tag(first: Any, found: Any) -> str:
    allowed = first["ctx"].get("expected_tags", "").replace("'", "")
    if first["type"] == "union_tag_not_found":
        return "type is missing"
    tag = found.get("type") if isinstance(found, dict) else found
    return f"type must be one of {allowed}, not {tag!r:.80}{_nearest(str(tag), _words(allowed))}"


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word != "or"]


def _nearest(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _known(model: type[BaseModel], key: Key, values: Any) -> list[str]:
    """Return the keys of the model at a key of the file."""
    models = [model]
    for part in key:
        values = values[part]
        if isinstance(part, str):
            models = [m for owner in models if part in owner.model_fields for m in _models_in(owner, part)]
    if isinstance(values, dict) and "type" in values:
        tagged = [m for m in models if "type" in m.model_fields and values["type"] in _tags(m)]
        models = tagged or models
    return sorted({name for m in models for name in m.model_fields})


def _models_in(owner: type[BaseModel], field: str) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    waiting = [owner.model_fields[field].annotation]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found.append(kind)
        waiting += get_args(kind)
    return found


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    return get_args(model.model_fields["type"].annotation)
