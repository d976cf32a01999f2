"""Nested texts: parses the texts that Java accepts as defaults of ARRAY, MAP and ROW columns (format 2.3).

An ARRAY is ``[1, 2]`` or ``ARRAY(1, 2)``, a MAP ``{a -> 1, b -> 2}`` or ``MAP(a, 1, b, 2)``, a ROW ``{1, x}`` or
``STRUCT(1, x)``, with the fields in order. Commas inside of brackets or double quotes are not separators. As in Java,
the quotes stay a part of the texts of an ARRAY and a ROW and are removed in a MAP, and ``null`` is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_core.arrow import labelled
from paimon_core.datafile.evolution.casts import find_cast
from paimon_core.types import STRING, Child, DataType, TypeRoot

_FORMS = {
    TypeRoot.ARRAY: re.compile(r"\[(.*)\]|ARRAY\s*\((.*)\)", re.IGNORECASE),
    TypeRoot.MAP: re.compile(r"\{(.*)\}|MAP\s*\((.*)\)", re.IGNORECASE),
    TypeRoot.ROW: re.compile(r"\{(.*)\}|STRUCT\s*\((.*)\)", re.IGNORECASE),
}
_ENTRY = re.compile(r"(.+?)\s*->\s*(.+)")


def is_parsed(kind: DataType) -> bool:
    """Whether texts can be parsed as values of the type: this is so unless the type is or contains a MULTISET or
    VARIANT.
    """
    if kind.root in _FORMS:
        return all(is_parsed(child.type) for child in kind.children)
    return find_cast(STRING, kind) is not None


def parsed(text: str, kind: DataType) -> pa.Array:
    """Return an array with the one value that the text states; raises pa.ArrowInvalid for any other text."""
    return labelled(_parsed(text, kind), kind.to_arrow())


def _parsed(text: str, kind: DataType) -> pa.Array:
    if kind.root not in _FORMS:
        cast = find_cast(STRING, kind.with_nullable(True))
        assert cast is not None
        found = cast(pa.array([text]), STRING, kind.with_nullable(True))
        if found.null_count:
            raise pa.ArrowInvalid(f"{text!r:.60} is too large for {kind}")
        return found
    form = _FORMS[kind.root].fullmatch(text.strip())
    if form is None:
        raise pa.ArrowInvalid(f"{text!r:.60} does not have the form of type {kind.root}")
    is_call = form.group(1) is None
    if kind.root is TypeRoot.MAP and "\\" in text:
        raise pa.ArrowInvalid(f"{text!r:.60} has a backslash, with which Java drops a character of a MAP")
    parts = list(_split((form.group(2) if is_call else form.group(1)).strip(), quotes=kind.root is not TypeRoot.MAP))
    match kind.root:
        case TypeRoot.ARRAY:
            return pa.ListArray.from_arrays([0, len(parts)], _column(parts, kind.children[0]))
        case TypeRoot.MAP:
            return _map(parts, kind, is_call)
    if parts and len(parts) != len(kind.children):
        raise pa.ArrowInvalid(f"{text!r:.60} has {len(parts)} values for {len(kind.children)} fields")
    texts = parts or ["null"] * len(kind.children)
    columns = [_column([part], child) for part, child in zip(texts, kind.children, strict=True)]
    return pa.StructArray.from_arrays(columns, names=[c.name for c in kind.children])


def _map(parts: Sequence[str], kind: DataType, is_call: bool) -> pa.Array:
    if not is_call:
        entries = [_ENTRY.fullmatch(part) for part in parts]
        if None in entries:
            raise pa.ArrowInvalid(f"{parts[entries.index(None)]!r:.60} is not an entry such as 'a -> 1'")
        parts = [part for entry in entries if entry is not None for part in entry.groups()]
    if len(parts) % 2:
        raise pa.ArrowInvalid("a key has no value")
    key, value = kind.children
    # If several entries have equal keys, the last entry is used.
    pairs = {k.strip(): v.strip() for k, v in zip(parts[::2], parts[1::2], strict=True)}
    if "null" in pairs:
        raise pa.ArrowInvalid("a key of a MAP is null")
    keys, values = _column(list(pairs), key), _column(list(pairs.values()), value)
    if len(keys.unique()) < len(keys):
        raise pa.ArrowInvalid("two texts are the same key")
    return pa.MapArray.from_arrays([0, len(pairs)], keys, values)


def _column(texts: Sequence[str], child: Child) -> pa.Array:
    """Return the values of a member, whose type may be NOT NULL."""
    kind = child.type.with_nullable(True)
    arrays = []
    for text in map(str.strip, texts):
        if text == "null" and not child.type.nullable:
            raise pa.ArrowInvalid(f"{child.name} is NOT NULL")
        arrays.append(pa.nulls(1, kind.to_arrow()) if text == "null" else parsed(text, kind))
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, kind.to_arrow())


def _split(text: str, *, quotes: bool) -> Iterator[str]:
    """Yield the parts between commas that are in no brackets and no double quotes; an empty part is left out."""
    part, depth, quoted, escaped = "", 0, False, False
    for char in text:
        is_mark = not escaped and char in '\\"'
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
        elif not quoted:
            if char in "[{(":
                depth += 1
            elif char in "]})":
                depth = max(0, depth - 1)
            elif char == "," and not depth:
                if part:
                    yield part
                part = ""
                continue
        if quotes or not is_mark:
            part += char
    if part:
        yield part
