"""Path patterns: parse the path of a file source, with wildcards and placeholders for partition keys.

``*`` and ``?`` match within one component of a path, ``**`` is a whole component and matches any number of directories.
A path that ends with ``/`` means all files below the directory. ``{{`` and ``}}`` stand for single braces.

========================  =====================  ====================================================
placeholder               default form           partition key
========================  =====================  ====================================================
``{date}``                ``%Y-%m-%d``           the day, ``2024-01-31``
``{month}``               ``%Y-%m``              the month, ``2024-01``
``{week}``                ``%Y-%m-%d``           the first day of the week, a Sunday
``{hour}``                ``%Y-%m-%d-%H``        the hour, ``2024-01-31-05:00``
``{any_other_name}``      one component or part  the matched text
========================  =====================  ====================================================

``{date:%Y/%m/%d}`` states another form, with the codes ``%Y %y %m %d %j %H``. Several placeholders with the same word
are combined (``year={date:%Y}/month={date:%m}/{date:%d}.csv``); placeholders with different words are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from paimon_lake.declarations.tables.partitions import KEY_FORMATS
from paimon_lake.protocol import PipelineError

DEFAULTS = {"date": "%Y-%m-%d", "month": "%Y-%m", "week": "%Y-%m-%d", "hour": "%Y-%m-%d-%H"}
"""The words for times, with the form of each when the placeholder does not state a form."""
BY = {"date": "day", "month": "month", "week": "week", "hour": "hour"}
"""The value of ``partitions.by`` for each word."""
KEYS = {word: KEY_FORMATS[by].replace("%M", "00") for word, by in BY.items()}
"""The form of the partition key for each word."""
_CODES = {"Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{2}", "d": r"\d{2}", "j": r"\d{3}", "H": r"\d{2}"}
_NEEDS = {"date": ("year", "day"), "week": ("year", "day"), "month": ("year", "month"), "hour": ("year", "day", "hour")}
_GIVES = {"Y": {"year"}, "y": {"year"}, "m": {"month"}, "d": {"day"}, "j": {"month", "day"}, "H": {"hour"}}
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|\*\*|[*?/]|[^{}*?/]+|[{}]")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Atom:
    """One part of a component.

    The kinds are ``text``, ``any`` (``*``), ``one`` (``?``), ``depth`` (``**``), ``code`` (a part of a time) and
    ``value`` (a placeholder for a name).
    """

    kind: str
    text: str = ""

    def regex(self, group: str | None = None) -> str:
        """Return the regular expression that the atom matches; if ``group`` is given, in a group with this name."""
        match self.kind:
            case "text":
                return re.escape(self.text)
            case "any":
                return "[^/]*"
            case "one":
                return "[^/]"
            case "code":
                inner = _CODES[self.text]
            case _:
                inner = "[^/]+"
        return f"(?P<{group}>{inner})" if group else inner


Component = tuple[Atom, ...]
ANY_DEPTH: Component = (Atom("depth"),)


def text_of(component: Component) -> str | None:
    """Return the text of a component; None when it has a placeholder or wildcard."""
    return "".join(a.text for a in component) if all(a.kind == "text" for a in component) else None


@dataclass(frozen=True)
class PathPattern:
    """A parsed pattern: ``root`` is the scheme and host or "", ``components`` the parts of the path between slashes."""

    text: str
    root: str
    components: tuple[Component, ...]
    word: str | None = None
    """The word of the placeholders: ``date``, ``month``, ``week``, ``hour`` or another name; None without
    placeholders."""
    is_absolute: bool = True
    """Whether the text is a URL or begins with a slash."""
    is_directory: bool = False
    """Whether the text ends with a slash."""

    @property
    def is_time(self) -> bool:
        """Whether the placeholders are times."""
        return self.word in DEFAULTS

    def below(self, directory: str) -> PathPattern:
        """Return this relative pattern below an absolute local directory, whose special characters are plain text."""
        names = tuple((Atom("text", name),) for name in directory.split("/") if name)
        return replace(self, components=(*names, *self.components), is_absolute=True)

    def literal_prefix(self) -> list[str]:
        """Return the leading components that contain only text."""
        names: list[str] = []
        for component in self.components:
            text = text_of(component)
            if text is None:
                break
            names.append(text)
        return names

    def regex(self) -> str:
        """Return the regular expression for whole paths below ``root``; its groups are the codes, or ``value``.

        A last component that has no wildcard may name a directory: then all files below it match.
        """
        parts, seen = [], set[str]()
        for component in self.components:
            if component == ANY_DEPTH:
                parts.append("(?:[^/]+/)*")
                continue
            for atom in component:
                name = atom.text if atom.kind == "code" else "value" if atom.kind == "value" else None
                parts.append(f"(?P={name})" if name in seen else atom.regex(name))
                seen |= {name} if name else set()
            parts.append("/")
        last = self.components[-1]
        if last == ANY_DEPTH:
            return "".join(parts) + "[^/]+"
        wild = any(atom.kind in ("any", "one") for atom in last)
        return "".join(parts[:-1]) + ("/.+" if self.is_directory else "" if wild else "(?:/.+)?")

    def key_of(self, groups: dict[str, str]) -> str | None:
        """Return the partition key for the groups of a match; None when the time does not exist, as February 30.

        Raises PipelineError for a week that does not begin with the first day of a week.
        """
        if not self.is_time:
            return groups.get("value")
        codes = sorted(groups)
        try:
            at = datetime.strptime(" ".join(groups[c] for c in codes), " ".join(f"%{c}" for c in codes))
        except ValueError:
            return None
        if any(_text(at, code) != text for code, text in groups.items()):
            return None  # Python accepts day 366 in a year of 365 days and returns a day of the next year
        if self.word == "week" and at != self._first_of_week(at):
            raise PipelineError(
                f"path {self.text!r}: {at:%Y-%m-%d} is not the first day of a week; the first day is "
                f"{self._first_of_week(at):%Y-%m-%d}"
            )
        return at.strftime(KEYS[str(self.word)])

    def of_key(self, key: str) -> PathPattern:
        """Return the pattern with placeholders replaced by the text of a partition key.

        Raises PipelineError for a pattern without placeholders, and for a key that does not have their form.
        """
        texts: dict[str, str] = {}
        if self.word is None:
            raise PipelineError(
                f"path {self.text!r} has no placeholder for the partition {key!r}: add one such as {{date}}"
            )
        if not self.is_time:
            # listings skip names that begin with a point or an underscore, and '..' would lead out of the directory
            if not key or key[0] in "._" or "/" in key or "\0" in key:
                raise PipelineError(
                    f"path {self.text!r}: partition {key!r} cannot be part of a file name: it must not be empty, begin "
                    "with '.' or '_', or contain '/' or NUL"
                )
        else:
            try:
                at = datetime.strptime(key, KEYS[self.word])
            except ValueError:
                raise PipelineError(
                    f"path {self.text!r}: partition {key!r} must have the form {KEYS[self.word]}"
                ) from None
            if self.word == "week" and at != self._first_of_week(at):
                raise PipelineError(f"path {self.text!r}: partition {key!r} is not the first day of a week")
            texts = {code: _text(at, code) for code in _CODES}

        def substituted(atom: Atom) -> Atom:
            if atom.kind == "code":
                return Atom("text", texts[atom.text])
            return Atom("text", key) if atom.kind == "value" else atom

        components = tuple(tuple(substituted(atom) for atom in component) for component in self.components)
        return replace(self, components=components, word=None)

    def _first_of_week(self, at: datetime) -> datetime:
        return at - timedelta(days=at.isoweekday() % 7)


def _text(at: datetime, code: str) -> str:
    return at.strftime(f"%{code}").zfill(4 if code == "Y" else 2)


def parse_pattern(text: str) -> PathPattern:
    """Parse a path or URL with wildcards and placeholders.

    Raises PipelineError for an unknown or unclosed placeholder, a form without a year or day, and ``**`` that is not a
    whole component.
    """
    root, path = _split_root(text)
    words: list[str] = []
    components: list[list[Atom]] = [[]]
    for atom in _atoms(text, path, words):
        if atom.kind == "text" and atom.text == "/":
            components.append([])
        else:
            components[-1].append(atom)
    for component in components:
        if any(atom.kind == "depth" for atom in component) and len(component) > 1:
            raise PipelineError(f"path {text!r}: '**' must be a whole component, such as in a/**/b.csv")
    if len(set(words)) > 1:
        raise PipelineError(
            f"path {text!r}: the placeholders {', '.join(sorted(set(words)))} cannot be combined, use one word"
        )
    kept = _normal(text, root, path.startswith("/"), [component for component in components if component])
    if not kept:
        raise PipelineError(f"path {text!r} names no file or directory")
    parsed = PathPattern(
        text,
        root,
        kept,
        words[0] if words else None,
        is_absolute=bool(root) or path.startswith("/"),
        is_directory=not components[-1],
    )
    if parsed.is_time:
        _check_complete(parsed)
    return parsed


def _normal(text: str, root: str, is_absolute: bool, components: list[list[Atom]]) -> tuple[tuple[Atom, ...], ...]:
    """Return the components without ``.`` and ``..``, except ``..`` at the start of a relative path.

    Raises PipelineError for ``..`` after a component with a wildcard or a placeholder. Also raises PipelineError for
    ``.`` and ``..`` in an object store, where they are ordinary names.
    """
    kept: list[tuple[Atom, ...]] = []
    for component in map(tuple, components):
        name = text_of(component)
        if name not in (".", ".."):
            kept.append(component)
        elif root not in ("", "file://"):
            raise PipelineError(f"path {text!r} must not contain the components '.' or '..': it is no path of a disk")
        elif name == "..":
            before = kept[-1] if kept else None
            if before is not None and any(atom.kind != "text" for atom in before):
                raise PipelineError(f"path {text!r} must not contain '..' after a wildcard or a place")
            if before is not None and text_of(before) != "..":
                kept.pop()
            elif not is_absolute:
                kept.append(component)
    return tuple(kept)


def _split_root(text: str) -> tuple[str, str]:
    scheme, separator, rest = text.partition("://")
    if not text.strip() or "\0" in text:
        raise PipelineError(f"path {text!r} must not be empty or contain a NUL character")
    if not separator:
        return "", text.removeprefix("file:")
    if scheme.lower() == "file":
        return "", rest
    host, _, path = rest.partition("/")
    if set(host) & set("*?{}"):
        raise PipelineError(f"path {text!r}: the bucket {host!r} must be plain text")
    return f"{scheme}://{host}", path


def _atoms(text: str, path: str, words: list[str]) -> Iterator[Atom]:
    for found in _TOKEN.finditer(path):
        token = found.group()
        if token in ("{", "}"):
            state = "not closed" if token == "{" else "not opened"
            raise PipelineError(
                f"path {text!r}: a brace is {state} at {path[found.start() :]!r}; write {token * 2} for text"
            )
        if found.group(1) is not None:
            yield from _place(text, found.group(1), words)
        else:
            plain = {"*": Atom("any"), "?": Atom("one"), "**": Atom("depth")}
            yield plain.get(token) or Atom("text", token[0] if token in ("{{", "}}") else token)


def _place(text: str, inside: str, words: list[str]) -> Iterator[Atom]:
    word, separator, form = inside.partition(":")
    if not _NAME.fullmatch(word) or (separator and word not in DEFAULTS):
        known = ", ".join(f"{{{name}}}" for name in DEFAULTS)
        raise PipelineError(
            f"path {text!r}: {{{inside}}} is not a placeholder; use {known}, each also with a form "
            f"({{date:%Y/%m/%d}}), "
            "or {name} for the name of a partition"
        )
    words.append(word)
    if word not in DEFAULTS:
        yield Atom("value", word)
        return
    for part in re.findall(r"%.?|/|[^%/]+", form if separator else DEFAULTS[word]):
        if not part.startswith("%"):
            yield Atom("text", part)
        elif part[1:] in _CODES:
            yield Atom("code", part[1:])
        else:
            known = " ".join(f"%{code}" for code in _CODES)
            raise PipelineError(f"path {text!r}: {part!r} in {{{inside}}} is not supported; use {known}")


def _check_complete(parsed: PathPattern) -> None:
    codes = {atom.text for component in parsed.components for atom in component if atom.kind == "code"}
    given = set().union(*(_GIVES[code] for code in codes))
    if "day" in given and "month" not in given:
        given -= {"day"}
    missing = [part for part in _NEEDS[str(parsed.word)] if part not in given]
    if missing:
        raise PipelineError(
            f"path {parsed.text!r}: the placeholders {{{parsed.word}}} do not give the {' and the '.join(missing)}"
        )
    if parsed.word != "hour" and "H" in codes:
        raise PipelineError(f"path {parsed.text!r}: %H belongs to {{hour}}, not to {{{parsed.word}}}")
    if {"Y", "y"} <= codes or ("j" in codes and codes & {"m", "d"}):
        raise PipelineError(
            f"path {parsed.text!r}: the placeholders {{{parsed.word}}} state a part of the time in two ways"
        )
