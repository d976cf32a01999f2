"""The folder of a lake: ``base.yaml`` for all environments, ``<environment>.yaml`` over it, and ``tables/*.yaml``.

The folder is the argument, else the directory in PAIMON_LAKE_CONFIGS, else ``configs`` of this project. Secrets are
never written in a file: it has the names of the variables that contain them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from paimon_core.storage.open import OPTIONS
from pipelines.lake.errors import Key, SettingsError, sentence
from pipelines.lake.model import Model
from pipelines.lake.settings import EnvironmentSettings, Settings
from pipelines.lake.table import TableSpec
from pipelines.lake.yaml_file import YamlFile, read_yaml, shown

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
ENVIRONMENT = "PAIMON_ENV"
FOLDER = "PAIMON_LAKE_CONFIGS"
_ONLY_A_VARIABLE = re.compile(r"\$\{\w+(?::-)?\}")
_SECRETS = frozenset(name for options in OPTIONS.values() for name, is_secret in options.items() if is_secret)
_TABLE_NAME = re.compile(r"\w+\.\w+")
_M = TypeVar("_M", bound=Model)


def configs_folder(given: str | Path | None = None) -> Path:
    """Return the folder of the declarations as an absolute path; raises SettingsError when it does not exist."""
    folder = Path(given or os.environ.get(FOLDER) or CONFIGS).expanduser().absolute()
    if not folder.is_dir():
        raise SettingsError(f"{folder} is not a directory: a lake is a folder with base.yaml and tables/")
    return folder


def environments(configs: str | Path | None = None) -> list[str]:
    """Return the environments that have a file in the folder, sorted."""
    return sorted(p.stem for p in configs_folder(configs).glob("*.yaml") if p.stem != "base")


def load_settings(
    environment: str | None = None, *, warehouse: str | None = None, configs: str | Path | None = None
) -> Settings:
    """Read the settings of an environment: the argument, else PAIMON_ENV, else ``local``.

    ``warehouse`` replaces the configured one. Raises SettingsError, which names file, line and key.
    """
    folder = configs_folder(configs)
    name = environment or os.environ.get(ENVIRONMENT) or "local"
    if name not in environments(folder):
        known = ", ".join(environments(folder)) or "no environment"
        raise SettingsError(f"no environment {name!r}: {shown(folder)}/ has {known}")
    files = [read_yaml(folder / "base.yaml"), read_yaml(folder / f"{name}.yaml")]
    merged: dict[str, Any] = {}
    origin: dict[Key, YamlFile] = {}
    for file in files:
        _refuse_secrets(file)
        _overlay(merged, file.with_variables(), origin, file)
    common = _checked(EnvironmentSettings, merged, files[-1], origin)
    own = common.model_copy(
        update={
            "warehouse": _absolute(warehouse, common.warehouse, folder),
            "storage": {key: value for key, value in common.storage.items() if value},
        }
    )
    return Settings.model_construct(
        **{key: getattr(own, key) for key in EnvironmentSettings.model_fields},
        environment=name,
        folder=folder,
        tables={path.stem: _table(path) for path in sorted((folder / "tables").glob("*.yaml"))},
    )


def _table(path: Path) -> TableSpec:
    file = read_yaml(path)
    if not _TABLE_NAME.fullmatch(path.stem):
        raise SettingsError(f"{shown(path)}: the name of the file must be <database>.<table>.yaml")
    if "name" in file.values:
        raise SettingsError(f"{file.place(('name',))}: the name of the file names the table: remove the key name")
    return _checked(TableSpec, {"name": path.stem, **file.with_variables()}, file, {})


def _checked(model: type[_M], values: dict[str, Any], file: YamlFile, origin: Mapping[Key, YamlFile]) -> _M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise SettingsError(sentence(error, model, values, lambda key: _origin(key, file, origin).place(key))) from None


def _origin(key: Key, file: YamlFile, origin: Mapping[Key, YamlFile]) -> YamlFile:
    return next((origin[key[:n]] for n in range(len(key), 0, -1) if key[:n] in origin), file)


def _overlay(
    base: dict[str, Any], over: Mapping[str, Any], origin: dict[Key, YamlFile], file: YamlFile, at: Key = ()
) -> None:
    for name, value in over.items():
        key = (*at, name)
        if isinstance(value, dict) and isinstance(base.get(name), dict):
            _overlay(base[name], value, origin, file, key)
            continue
        base[name] = value
        origin[key] = file


def _refuse_secrets(file: YamlFile) -> None:
    """Raise SettingsError for a secret that is written in a file; the message does not repeat it."""
    storage = file.values.get("storage")
    for key, value in storage.items() if isinstance(storage, dict) else ():
        if key in _SECRETS and not (isinstance(value, str) and _ONLY_A_VARIABLE.fullmatch(value)):
            raise SettingsError(
                f"{file.place(('storage', key))}: storage.{key} is a secret: "
                "write the name of its variable, ${NAME} or ${NAME:-}"
            )


def _absolute(given: str | None, configured: str, folder: Path) -> str:
    """Return a warehouse as an absolute path.

    An argument is relative to the working directory. A setting is relative to the parent of the folder when that is
    the project itself, and otherwise to the folder: a lake elsewhere keeps its tables beside its declarations.
    """
    chosen = given if given is not None else configured
    if "://" in chosen:
        return chosen
    base = Path.cwd() if given is not None else ROOT if folder == CONFIGS else folder
    return str(base / Path(chosen).expanduser())
