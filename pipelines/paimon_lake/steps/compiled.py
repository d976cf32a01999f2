"""Compiled: the whole definition that a declaration becomes, with the values that follow from others and all defaults.

Texts with variables are shown as they are written, with ``${NAME}``, because the values of variables may be secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.definition import declared_schema
from paimon_lake.declarations.agreement.selection import with_readers
from paimon_lake.declarations.agreement.tables import tables_before
from paimon_lake.declarations.lake.databases import database_of
from paimon_lake.declarations.lake.groups import groups_of
from paimon_lake.declarations.sources.source import OF_SLOT, FilesSource
from paimon_lake.declarations.variables import variable_texts
from paimon_lake.declarations.yaml_file import read_yaml

_SHORTEST = 4
"""Values of variables from this number of characters on are also found as whole words of longer texts."""


def compiled(settings: Settings, name: str) -> dict[str, Any]:
    """Return the definition of a table as plain values of JSON.

    ``columns`` have the types with which the table is created, and their comments, ``options`` include the options that
    the project sets, ``mode`` is the mode of loads, ``order`` names the tables before and after this table, ``groups``
    the groups with this table. Raises SettingsError for a table that is not declared.
    """
    spec = settings.table(name)
    file = read_yaml(settings.folder / "tables" / f"{name}.yaml")
    written = file.values
    found: dict[str, Any] = _as_written(spec.model_dump(mode="json"), written)
    comments = found.pop("column_comments")
    if isinstance(found.get("source"), dict) and (database := database_of(spec)):
        keys = {key for key in OF_SLOT if key not in written.get("source", {})}
        found["source"] = {key: value for key, value in found["source"].items() if key not in keys}
        found["source"]["database"] = database  # its keys are below postgres in base.yaml, with a url that is secret
    if spec.columns:
        types = {field.name: field.type.sql for field in declared_schema(spec).fields}
        found["columns"] = {
            column: {"type": kind, "comment": comments[column]} if column in comments else kind
            for column, kind in types.items()
        }
    found["options"] = dict(spec.table_options)
    if isinstance(spec.source, FilesSource) and "bucket" not in spec.options:
        found["options"].pop("bucket", None)  # chosen from the files when the table is created
    found["mode"] = spec.write_mode if spec.source is not None else None
    for check, declared in zip(found["checks"], spec.checks, strict=True):
        check["name"] = declared.label
    found["rejects"]["table"] = spec.rejects_table if spec.has_loads else ""
    found["order"] = {
        "after": list(tables_before(spec)),
        "before": sorted(with_readers(settings.tables, [name]) - {name}),
    }
    found["groups"] = groups_of(settings.groups, [name])
    texts = variable_texts(file)
    return {key: _hidden(value, texts) for key, value in found.items()}


def _as_written(value: Any, written: Any) -> Any:
    """Return a value with the texts of the file where these have variables."""
    if isinstance(value, dict):
        inner = written if isinstance(written, dict) else {}
        return {key: _as_written(one, inner.get(key)) for key, one in value.items()}
    if isinstance(value, list) and isinstance(written, list) and len(value) == len(written):
        return [_as_written(one, other) for one, other in zip(value, written, strict=True)]
    if isinstance(value, list) and isinstance(written, str):
        return [_as_written(one, written) for one in value]
    return written if isinstance(written, str) and "${" in written else value


def _hidden(value: Any, texts: Mapping[str, str]) -> Any:
    """Return a value without values of variables, wherever a short form, a default or a derived name has put them.

    ``texts``: the text with variables, by the text that these variables give.
    """
    if isinstance(value, dict):
        return {key: _hidden(one, texts) for key, one in value.items()}
    if isinstance(value, list):
        return [_hidden(one, texts) for one in value]
    if not isinstance(value, str) or value in texts.values():
        return value
    if value in texts:
        return texts[value]
    long = sorted((text for text in texts if len(text) >= _SHORTEST), key=len, reverse=True)
    return re.sub("|".join(map(_whole, long)), lambda at: texts[at[0]], value) if long else value


def _whole(text: str) -> str:
    """Return the regular expression for a text that is no part of a longer word: ``shop`` does not match in
    ``workshop``, but in ``not_null_shop``, because the names of checks are made from columns.
    """
    before, after = (r"(?<![^\W_])" if text[0].isalnum() else "", r"(?![^\W_])" if text[-1].isalnum() else "")
    return f"{before}{re.escape(text)}{after}"
