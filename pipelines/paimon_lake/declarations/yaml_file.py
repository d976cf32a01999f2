"""YAML files: their values together with the line of every key, so that an error can name the line.

Only plain values are read; a tag that would create an object is an error. A key that occurs twice is an error, because
other YAML readers silently use the last value. Anchors, aliases and merge keys (``<<``) work; the number and the depth
of values are limited, because a few aliases can stand for billions of values. As in YAML 1.2, which editors use, only
``true`` and ``false`` are booleans: ``on``, ``no`` and ``12:30`` are texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from paimon_lake.declarations.errors import Key, SettingsError, as_written, text_of

MAX_BYTES = 1 << 20
MAX_VALUES = 100_000
MAX_DEPTH = 32
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the parser in C, if PyYAML has it
_TAG = "tag:yaml.org,2002:"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_CONSTRUCTORS = {
    "float": SafeConstructor.construct_yaml_float,
    "int": SafeConstructor.construct_yaml_int,
    "timestamp": SafeConstructor.construct_yaml_timestamp,
}
_CONSTRUCTOR = SafeConstructor()
_TOO_DEEP = f"values are nested more than {MAX_DEPTH} levels deep"
_TOO_MANY = f"the file has more than {MAX_VALUES:,} values; each alias counts with all of its values"
_KINDS = {"float": "a number", "int": "a whole number", "timestamp": "a date or time", "bool": "true or false"}


class WrittenFloat(float):
    """A number that keeps its text: where a text is expected, ``1.10`` must not become ``1.1``."""

    written: str

    @classmethod
    def of(cls, value: Any, written: str) -> WrittenFloat:
        """Return a number that also has the text from which it was read."""
        number = cls(value)
        number.written = written
        return number


@dataclass(frozen=True)
class YamlFile:
    """The content of one file; ``lines`` gives the line of every key, counted from 1."""

    path: Path
    values: dict[str, Any]
    lines: Mapping[Key, int]

    def line(self, key: Key = ()) -> int:
        """Return the line of a key, or of the nearest key above it; 0 when there is none."""
        return next((self.lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.lines), 0)

    def place(self, key: Key = ()) -> str:
        """Return ``path:line`` of a key, or of the nearest key above it."""
        line = self.line(key)
        return f"{shown(self.path)}:{line}" if line else shown(self.path)


def read_yaml(path: Path) -> YamlFile:
    """Read one file; raises SettingsError for a file that is missing, is not plain YAML, or repeats a key."""
    text = _text(path)
    try:
        _check_depth(path, text)
        node = yaml.compose(text, _LOADER)
    except yaml.YAMLError as error:
        raise SettingsError(_not_yaml(path, text, error)) from None
    if node is None:
        return YamlFile(path, {}, {})
    reader = _Reader(path)
    values = reader.value(node, ())
    if not isinstance(values, dict):
        raise SettingsError(f"{shown(path)}: the file must be a mapping of keys to values, not {as_written(values)}")
    return YamlFile(path, values, reader.lines)


def shown(path: Path) -> str:
    """Return the path relative to the working directory, or in full when it is not below this directory."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute)


def _text(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise SettingsError(f"{shown(path)}: the file is larger than {MAX_BYTES >> 20} MiB")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SettingsError(f"{shown(path)}:{line}: the file is not UTF-8: byte {error.start} is invalid") from None
    except FileNotFoundError:
        raise SettingsError(f"{shown(path)} does not exist") from None
    except OSError as error:
        raise SettingsError(f"{shown(path)} cannot be read: {error.strerror}") from None
    if found := _CONTROL.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise SettingsError(f"{shown(path)}:{line}: the control character U+{ord(found[0]):04X} is not allowed")
    return text


def _check_depth(path: Path, text: str) -> None:
    """Raise SettingsError for nesting that is too deep.

    Must run before ``compose``, which is recursive in C and would crash.
    """
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            line = getattr(event.start_mark, "line", 0) + 1
            raise SettingsError(f"{shown(path)}:{line}: {_TOO_DEEP}")


_PLACEHOLDER = re.compile(r"(?<=[^\s:,{])\{[A-Za-z_]\w*\}|\{[A-Za-z_]\w*\}(?=[./_-])")
"""Matches a placeholder of a path, which YAML reads as a mapping in a text without quotes."""


def _hint(line: str) -> str:
    """Return the end of a sentence about a line with a placeholder that is not in quotes; "" for other lines."""
    for found in _PLACEHOLDER.finditer(line):
        before = line[: found.start()]
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            return f'; a text with {found[0]} needs quotes here, as in "data/{found[0]}.csv"'
    return ""


def _not_yaml(path: Path, text: str, error: yaml.YAMLError) -> str:
    """Return an error of the YAML parser as one sentence with the line."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    if mark is None:
        return f"{shown(path)}: the file is not valid YAML: {problem}"
    place = f"{shown(path)}:{mark.line + 1}"
    lines = text.splitlines()
    before = lines[mark.line][: mark.column + 1] if mark.line < len(lines) else ""
    if before.endswith("\t") or (not before.strip() and "\t" in before):
        return f"{place}: a tab at the start of a value: YAML allows only spaces there"
    if "single document" in problem or "another document" in problem:
        return f"{place}: a second document starts here (---): the file must have one"
    if "undefined alias" in problem:
        return f"{place}: the alias *{lines[mark.line][mark.column :].strip(' *')} names no anchor above it"
    context = getattr(error, "context", None)
    hint = _hint(lines[mark.line]) if mark.line < len(lines) else ""
    return f"{place}: the file is not valid YAML: {f'{context}, ' if context else ''}{problem}{hint}"


class _Reader:
    """The values of the nodes of one file, and the lines of their keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Key, int] = {}
        self._count = 0

    def value(self, node: yaml.Node, key: Key) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            raise self._error(node, _TOO_MANY)
        if len(key) > MAX_DEPTH:
            raise self._error(node, _TOO_DEEP)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, key)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != _TAG + kind:
            raise self._refused_tag(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, key)
        values = []
        for number, child in enumerate(node.value):
            self.lines[(*key, number)] = child.start_mark.line + 1
            values.append(self.value(child, (*key, number)))
        return values

    def _mapping(self, node: yaml.MappingNode, key: Key) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, (name_node, child) in self._pairs(node, key, 0).items():
            self.lines[(*key, name)] = name_node.start_mark.line + 1
            values[name] = self.value(child, (*key, name))
        return values

    def _pairs(self, node: yaml.MappingNode, key: Key, depth: int) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the keys of a mapping with their nodes; keys merged by ``<<`` come first; own keys override them."""
        if depth > MAX_DEPTH:
            raise self._error(node, f"mappings are merged more than {MAX_DEPTH} levels deep")
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merges = [child for name_node, child in node.value if name_node.tag == _TAG + "merge"]
        if len(merges) > 1:
            raise self._error(merges[1], f"the key {text_of((*key, '<<'))} occurs twice: write <<: [*one, *other]")
        for child in merges:
            several = list(child.value) if isinstance(child, yaml.SequenceNode) else [child]
            for one in reversed(several):
                if not isinstance(one, yaml.MappingNode):
                    raise self._error(one, f"{text_of((*key, '<<'))} must be a mapping, such as *alias")
                merged |= self._pairs(one, key, depth + 1)
        for name_node, child in node.value:
            if name_node.tag == _TAG + "merge":
                continue
            name = self._name(name_node, key)
            if name in own:
                raise self._error(name_node, f"the key {text_of((*key, name))} occurs twice")
            own[name] = (name_node, child)
        self._count += len(merged)
        if self._count > MAX_VALUES:
            raise self._error(node, _TOO_MANY)
        return {**merged, **own}

    def _name(self, node: yaml.Node, key: Key) -> str:
        """Return a key as the text in the file: ``on`` and ``2024`` are texts, not a boolean and a number."""
        where = f"a key of {text_of(key)}" if key else "a key of the file"
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, f"{where} is a list or a mapping: keys must be texts")
        if not node.tag.startswith(_TAG):
            raise self._refused_tag(node)
        if not str(node.value).strip():
            raise self._error(node, f"{where} is empty")
        return str(node.value)

    def _scalar(self, node: yaml.ScalarNode, key: Key) -> Any:
        text, kind = str(node.value), node.tag.removeprefix(_TAG)
        if kind in ("str", "value", "merge"):
            return text
        if kind == "null":
            return None
        if kind == "bool" and text.lower() in ("true", "false"):
            return text.lower() == "true"
        is_plain = not node.style  # without quotes
        if kind == "bool" and is_plain and text.lower() in ("yes", "no", "on", "off"):
            return text
        if kind == "float" and is_plain and ":" in text:
            return text
        if kind == "int" and is_plain and (":" in text or re.match(r"[-+]?0[\d_]", text)):
            return text  # YAML 1.1 would read 12:30 as 750, and 010 as 8
        if kind not in _KINDS:
            raise self._refused_tag(node)
        try:
            value: Any = _CONSTRUCTORS[kind](_CONSTRUCTOR, node)
        except (KeyError, ValueError, OverflowError, AttributeError):
            raise self._error(node, f"{text_of(key)}: {text[:80]!r} is not {_KINDS[kind]}") from None
        if kind == "float":
            return WrittenFloat.of(value, text)
        return value

    def _refused_tag(self, node: yaml.Node) -> SettingsError:
        tag = node.tag.replace(_TAG, "!!")
        return self._error(node, f"the tag {tag[:80]} is not allowed: only plain values are read")

    def _error(self, node: yaml.Node, message: str) -> SettingsError:
        return SettingsError(f"{shown(self.path)}:{node.start_mark.line + 1}: {message}")
