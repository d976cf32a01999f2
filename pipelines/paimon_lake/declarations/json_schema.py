"""JSON Schema of the files of a lake, for editors: completion, descriptions and marks under mistakes.

``python -m paimon_lake.declarations.json_schema FOLDER`` writes ``FOLDER/schema/table.json`` and
``settings.json``. A file uses its schema by a first line such as
``# yaml-language-server: $schema=../schema/table.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paimon_lake.declarations.model import Model
from paimon_lake.declarations.settings import EnvironmentSettings
from paimon_lake.declarations.table import TableSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def table_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``tables/<database>.<table>.yaml``."""
    return _schema(TableSpec, "A table of a lake")


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``base.yaml`` and ``<environment>.yaml``.

    In the schema no key is required, because each key may be in either of the two files.
    """
    schema = _schema(EnvironmentSettings, "Settings of a lake")
    for part in (schema, *schema["$defs"].values()):
        part.pop("required", None)
    return schema


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {"table.json": table_schema, "settings.json": settings_schema}


def texts() -> dict[str, str]:
    """Return the text of each schema file by the name of the file."""
    return {name: json.dumps(make(), indent=2, ensure_ascii=False) + "\n" for name, make in SCHEMAS.items()}


def write_schemas(folder: Path) -> None:
    """Write the schema files into ``folder/schema``; create this folder when it does not exist."""
    (folder / "schema").mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (folder / "schema" / name).write_text(text, encoding="utf-8")


def _schema(model: type[Model], title: str) -> dict[str, Any]:
    schema = _plain(model.model_json_schema())
    for name in model.not_in_file:
        schema["properties"].pop(name)
    if "required" in schema:
        schema["required"] = [name for name in schema["required"] if name not in model.not_in_file]
    schema = {key: value for key, value in schema.items() if value != []}
    return {"$schema": DIALECT, "title": title, **schema}


def _plain(part: Any) -> Any:
    """Return a part of a schema without titles and empty defaults, and with descriptions as plain text."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    plain: dict[str, Any] = {}
    for key, value in part.items():
        if key in ("properties", "$defs"):
            plain[key] = {name: _plain(one) for name, one in value.items()}
        elif key == "description":
            plain[key] = " ".join(value.replace("``", "`").split())
        elif key == "default" and (value is None or value == "" or isinstance(value, dict | list)):
            continue
        elif not (key == "title" and isinstance(value, str)) and key != "discriminator":
            plain[key] = _plain(value)
    return plain


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
