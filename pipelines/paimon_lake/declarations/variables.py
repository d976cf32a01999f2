"""Variables: ``${NAME}`` and ``${NAME:-default}`` in the texts of a file are replaced by environment variables.

``$${`` is a literal ``${``. A file must not contain secrets, only the names of the variables that contain them.
"""

from __future__ import annotations

import os
import re
from typing import Any

from paimon_core.storage.open import OPTIONS
from paimon_lake.declarations.errors import Key, SettingsError, nearest, text_of
from paimon_lake.declarations.lake.catalog import is_secret
from paimon_lake.declarations.sources.kafka import CLIENT_SECRETS
from paimon_lake.declarations.sources.source import password_in
from paimon_lake.declarations.yaml_file import YamlFile

_VARIABLE = re.compile(r"\$\$\{|\$\{(\w+)(?::-([^}]*))?\}|\$\{")
_ONLY_A_VARIABLE = re.compile(r"\$\{\w+(?::-)?\}")
_STORAGE = {name: is_secret for options in OPTIONS.values() for name, is_secret in options.items()}


def with_variables(file: YamlFile) -> dict[str, Any]:
    """Return the values of a file with variables replaced.

    An empty variable counts as not set. Raises SettingsError for a variable that is not set and has no default.
    """
    return {name: _replaced(value, (name,), file) for name, value in file.values.items()}


def variable_texts(file: YamlFile) -> dict[str, str]:
    """Return the texts of a file that have variables, by the texts that they give, and ``${NAME}`` by each value."""
    found: dict[str, str] = {}
    for name, value in file.values.items():
        _collect(value, (name,), file, found)
    return found


def _collect(value: Any, key: Key, file: YamlFile, found: dict[str, str]) -> None:
    if isinstance(value, dict | list):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            _collect(one, (*key, name), file, found)
    elif isinstance(value, str) and "${" in value:
        for variable in _VARIABLE.finditer(value):
            if variable[1] and (text := _variable(variable, key, file)):
                found.setdefault(text, variable[0])
        found[_replaced(value, key, file)] = value


def refuse_secrets(file: YamlFile) -> None:
    """Raise SettingsError when a file contains a secret; the message does not repeat the secret."""
    storage, source = file.values.get("storage"), file.values.get("source")
    for key, value in storage.items() if isinstance(storage, dict) else ():
        place = file.place(("storage", key))
        if key not in _STORAGE:
            raise SettingsError(f"{place}: unknown key storage.{key}{nearest(key, list(_STORAGE))}")
        if _STORAGE[key] and not (isinstance(value, str) and _ONLY_A_VARIABLE.fullmatch(value)):
            raise SettingsError(
                f"{place}: storage.{key} is a secret: write the name of its variable, ${{NAME}} or ${{NAME:-}}"
            )
    catalog = file.values.get("catalog")
    for key, value in catalog.items() if isinstance(catalog, dict) else ():
        place = file.place(("catalog", key))
        if is_secret(key) and not (isinstance(value, str) and _ONLY_A_VARIABLE.fullmatch(value)):
            raise SettingsError(f"{place}: catalog.{key} is a secret: write the name of its variable, ${{NAME}}")
        if isinstance(value, str) and password_in(value):
            raise SettingsError(
                f"{place}: catalog.{key} contains a password: write the name of its variable, such as "
                "postgresql+psycopg://user:${PASSWORD}@host/database"
            )
    databases = file.values.get("postgres")
    for name, database in databases.items() if isinstance(databases, dict) else ():
        for key, value in database.items() if isinstance(database, dict) else ():
            if isinstance(value, str) and password_in(value):
                raise SettingsError(
                    f"{file.place(('postgres', name, key))}: postgres.{name}.{key} contains a password: "
                    "write the name of its variable, such as postgresql://user:${PASSWORD}@host/database"
                )
    for key, value in source.items() if isinstance(source, dict) else ():
        if isinstance(value, str) and password_in(value):
            raise SettingsError(
                f"{file.place(('source', key))}: source.{key} contains a password: "
                "write the name of its variable, such as postgresql://user:${PASSWORD}@host/database"
            )
    client = source.get("client") if isinstance(source, dict) else None
    for key, value in client.items() if isinstance(client, dict) else ():
        if key in CLIENT_SECRETS and not (isinstance(value, str) and _ONLY_A_VARIABLE.fullmatch(value)):
            place = file.place(("source", "client", key))
            raise SettingsError(f"{place}: source.client.{key} is a secret: write the name of its variable, ${{NAME}}")


def _replaced(value: Any, key: Key, file: YamlFile) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(one, (*key, name), file) for name, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, (*key, number), file) for number, one in enumerate(value)]
    if isinstance(value, str) and "${" in value:
        return _VARIABLE.sub(lambda found: _variable(found, key, file), value)
    return value


def _variable(found: re.Match[str], key: Key, file: YamlFile) -> str:
    name, default = found.groups()
    if found[0] == "$${":
        return "${"
    if name is None:
        raise SettingsError(
            f"{file.place(key)}: {text_of(key)}: after ${{ must come a name and }}, as in ${{NAME}} or "
            "${NAME:-default}; $${ stands for ${ itself"
        )
    value = os.environ.get(name) or default
    if value is None:
        raise SettingsError(
            f"{file.place(key)}: {text_of(key)} needs the environment variable {name}, which is not set"
        )
    return value
