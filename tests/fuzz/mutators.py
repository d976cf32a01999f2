"""Mutators of bytes, texts and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from random import Random
from typing import Any

MOST_BYTES = 1 << 18
"""The longest input."""
_MOST_PLACES = 20_000
"""The places of a JSON value to choose from; parts that are repeated in each other have many more."""
_NUMBERS = (0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
_RUNS = (1, 2, 3, 4, 8, 16, 64, 256, 1024)


def of_bytes(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    """Return the bytes after one to four changes of any kind."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = _changed(data, chance, pool)
    return data[:MOST_BYTES]


def _changed(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    size = min(chance.choice(_RUNS), len(data) - at)
    other = chance.choice(pool) if pool else b""
    match chance.randrange(9):
        case 0 | 1 if at < len(data):
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 2 if at < len(data):
            return data[:at] + bytes([chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))]) + data[at + 1 :]
        case 3:
            return data[:at] + data[at + size :]
        case 4:
            return data[:at] + data[at : at + size] * chance.choice((2, 3, 50)) + data[at + size :]
        case 5:
            number = chance.choice(_NUMBERS) - chance.randrange(2)
            width = chance.choice((2, 4, 8))
            some = (number % 2 ** (8 * width)).to_bytes(width, chance.choice(("little", "big")))
            return data[:at] + some + data[at + width :]
        case 6:
            start = chance.randrange(len(other) + 1)
            return data[:at] + other[start : start + chance.choice(_RUNS)] + data[at + size :]
        case 7:
            return data[:at] if chance.randrange(2) else data[:at] + other[chance.randrange(len(other) + 1) :]
    return data[:at] + chance.randbytes(chance.choice((1, 2, 4, 30))) + data[at:]


def of_text(words: Sequence[str]) -> Callable[[bytes, Random, Sequence[bytes]], bytes]:
    """Return a mutator of texts with these words besides the changes of bytes."""

    def mutate(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
        if chance.randrange(3) == 0:
            return of_bytes(data, chance, pool)
        text = data.decode(errors="replace")
        for _ in range(chance.choice((1, 1, 2, 3))):
            cuts = sorted(chance.randrange(len(text) + 1) for _ in range(2))
            word = chance.choice((*words, *_TEXTS, str(chance.choice(_NUMBERS))))
            match chance.randrange(4):
                case 0:
                    text = text[: cuts[0]] + word + text[cuts[0] :]
                case 1:
                    text = text[: cuts[0]] + word + text[cuts[1] :]
                case 2:
                    times = min(chance.choice((2, 5, 400)), MOST_BYTES // max(1, cuts[1] - cuts[0]))
                    text = text[: cuts[0]] + text[cuts[0] : cuts[1]] * times + text[cuts[1] :]
                case _:
                    text = text[: cuts[0]] + text[cuts[1] :]
        return text.encode(errors="replace")[:MOST_BYTES]

    return mutate


_TEXTS = (
    "",
    " ",
    "\0",
    "'",
    "''",
    "`",
    "\\",
    "\n",
    "٣",
    "²",
    "İ",
    "ß",
    "\u2028",
    "\U0001f600",
    "a" * 300,
    "..",
    "../x",
    "/etc",
    "9" * 30,
    "9" * 5000,
    "-1",
    "1e999",
    "NaN",
    "Infinity",
    "1_000",
    "+5",
    "0x10",
)


class Pairs(list[tuple[str, Any]]):
    """The members of an object, which may repeat names."""


def of_json(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    """Return the JSON text with some values, names or members changed; other bytes are changed as bytes."""
    if chance.randrange(4) == 0:
        return of_bytes(data, chance, pool)
    try:
        value = json.loads(data, object_pairs_hook=Pairs)
    except (ValueError, RecursionError):
        return of_bytes(data, chance, pool)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        value = _with_change(value, chance)
    return _dumped(value).encode("utf-8", "surrogatepass")[:MOST_BYTES]


def _with_change(value: Any, chance: Random) -> Any:
    places = list(islice(_places(value), _MOST_PLACES))
    if not places or chance.randrange(40) == 0:
        return json_value(chance, value)
    holder, at = chance.choice(places)
    if isinstance(holder, Pairs):
        name, old = holder[at]
        match chance.randrange(7):
            case 0:
                del holder[at]
            case 1:
                holder.insert(at, (name, json_value(chance, old)))
            case 2:
                holder[at] = (chance.choice((*_TEXTS, *(n for n, _ in holder))), old)
            case _:
                holder[at] = (name, json_value(chance, old))
    elif chance.randrange(4) == 0:
        holder[at : at + 1] = [holder[at]] * chance.choice((0, 2, 100))
    else:
        holder[at] = json_value(chance, holder[at])
    return value


def _places(value: Any, depth: int = 0) -> Any:
    if isinstance(value, Pairs | list) and depth < 40:
        for at in range(len(value)):
            yield value, at
            yield from _places(value[at][1] if isinstance(value, Pairs) else value[at], depth + 1)


def json_value(chance: Random, old: Any) -> Any:
    """Return a value that a parser may not expect in place of ``old``."""
    match chance.randrange(12):
        case 0:
            return chance.choice((None, True, False, [], Pairs(), "", [None], Pairs([("", None)])))
        case 1:
            return chance.choice(_NUMBERS) * chance.choice((1, -1))
        case 2:
            return chance.choice((1.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), 1e19, 0.1))
        case 3:
            return 10 ** chance.choice((18, 19, 38, 400, 4000))
        case 4:
            return chance.choice(_TEXTS)
        case 5:
            return chance.choice(("\ud800", "x\udfff", "\0", "\x7f", "\ufeff"))
        case 6:
            deep: Any = old
            for _ in range(chance.choice((1, 3, 40, 120, 2000))):
                deep = [deep] if chance.randrange(2) else Pairs([("type", deep)])
            return deep
        case 7 if isinstance(old, str):
            return of_text(())(old.encode("utf-8", "replace"), chance, ()).decode(errors="replace")
        case 8 if isinstance(old, int) and abs(old) < 2**70:
            return old + chance.choice((-1, 1, 2**31, -(2**31), 2**63))
        case 9 if not (isinstance(old, int) and abs(old) >= 2**70):
            return "" if isinstance(old, list) else str(old)[:1000]
        case 10:
            return [old, old]
    return Pairs([("a", old)])


def _dumped(value: Any) -> str:
    """Return JSON with repeated members, without recursion; incomplete when it is longer than ``MOST_BYTES``."""
    out: list[str] = []
    size = 0
    stack: list[Any] = [value]
    while stack and size <= MOST_BYTES:
        part = stack.pop()
        if isinstance(part, _Mark):
            out.append(part.text)
        elif isinstance(part, Pairs):
            out.append("{")
            stack.append(_Mark("}"))
            for number, (name, inner) in reversed(list(enumerate(part))):
                stack += [inner, _Mark(f"{',' if number else ''}{json.dumps(name, ensure_ascii=False)}:")]
        elif isinstance(part, list):
            out.append("[")
            stack.append(_Mark("]"))
            for number, inner in reversed(list(enumerate(part))):
                stack += [inner, _Mark("," if number else "")]
        elif isinstance(part, int) and not isinstance(part, bool):
            out.append(_digits(part))
        else:
            out.append(json.dumps(part, ensure_ascii=False))
        size += len(out[-1]) if out else 0
    return "".join(out)


class _Mark:
    def __init__(self, text: str) -> None:
        self.text = text


def _digits(number: int) -> str:
    return str(number) if abs(number) < 10**4000 else "1" + "0" * 5000
