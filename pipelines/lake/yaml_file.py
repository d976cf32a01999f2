"""YAML files: their values together with the line of every key, so that an error can name the line.

Only plain values are read (no tags that create objects); a key that occurs twice is an error, because YAML readers
would silently keep the last one. ``${NAME:-default}`` in a text is replaced by an environment variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pipelines.lake.errors import Key, SettingsError, text_of

VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True)
class YamlFile:
    """The content of one file; ``lines`` gives the line of every key, counted from 1."""

    path: Path
    values: dict[str, Any]
    lines: Mapping[Key, int]

    def place(self, key: Key = ()) -> str:
        """Return ``path:line`` of a key, or of the nearest key above it."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.lines:
                return f"{shown(self.path)}:{self.lines[key[:length]]}"
        return shown(self.path)

    def with_variables(self) -> dict[str, Any]:
        """Return the values with variables replaced; raises SettingsError for one that is not set."""
        replaced = _replaced(self.values, (), self)
        assert isinstance(replaced, dict)
        return replaced


def read_yaml(path: Path) -> YamlFile:
    """Read one file; raises SettingsError for a file that is missing, is not YAML, or repeats a key."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{shown(path)}: {' '.join(str(error).split())}") from None
    if node is None:
        return YamlFile(path, {}, {})
    lines: dict[Key, int] = {}
    try:
        values = _value(node, (), lines, path)
    except yaml.YAMLError as error:
        raise SettingsError(f"{shown(path)}: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise SettingsError(f"{shown(path)}: the file must be a mapping of keys to values")
    return YamlFile(path, values, lines)


def shown(path: Path) -> str:
    """Return the path below the working directory when it is there, otherwise in full."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute)


def _value(node: yaml.Node, key: Key, lines: dict[Key, int], path: Path) -> Any:
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Any] = {}
        for name_node, child in node.value:
            # The text itself: YAML 1.1 reads the key on as true.
            name = name_node.value if isinstance(name_node, yaml.ScalarNode) else str(_scalar(name_node))
            line = name_node.start_mark.line + 1
            if name in values:
                raise SettingsError(f"{shown(path)}:{line}: the key {text_of((*key, name))} occurs twice")
            lines[(*key, name)] = line
            values[name] = _value(child, (*key, name), lines, path)
        return values
    if isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            lines[(*key, number)] = child.start_mark.line + 1
        return [_value(child, (*key, number), lines, path) for number, child in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node, deep=True)
    finally:
        loader.dispose()


def _replaced(value: Any, key: Key, file: YamlFile) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(one, (*key, name), file) for name, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, (*key, number), file) for number, one in enumerate(value)]
    if isinstance(value, str):
        return VARIABLE.sub(lambda found: _variable(found, key, file), value)
    return value


def _variable(found: re.Match[str], key: Key, file: YamlFile) -> str:
    name, default = found.groups()
    value = os.environ.get(name) or default
    if value is None:
        raise SettingsError(
            f"{file.place(key)}: {text_of(key)} needs the environment variable {name}, which is not set"
        )
    return value
