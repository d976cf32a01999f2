"""The folder of a lake: ``base.yaml`` for all environments, ``<environment>.yaml`` over it, and ``tables/*.yaml``.

The folder is the argument, else the directory in PAIMON_LAKE_CONFIGS, else ``configs`` in the working directory, else
the working directory when it has a ``base.yaml``. A file must not contain secrets: it names the environment variables
that contain the secrets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from paimon_lake.declarations.agreement.definition import check_definition
from paimon_lake.declarations.agreement.tables import early_disagreements
from paimon_lake.declarations.errors import Key, SettingsError, nearest, sentence
from paimon_lake.declarations.lake.catalog import REST, kind_of
from paimon_lake.declarations.lake.databases import with_database
from paimon_lake.declarations.lake.groups import undeclared_tables
from paimon_lake.declarations.model import Model
from paimon_lake.declarations.part_spec import check_parts
from paimon_lake.declarations.settings import EnvironmentSettings, Settings
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.tables.rejects import TABLE_NAME
from paimon_lake.declarations.variables import refuse_secrets, with_variables
from paimon_lake.declarations.yaml_file import YamlFile, read_yaml, shown

DEFAULT_FOLDER = "configs"
ENVIRONMENT = "PAIMON_ENV"
FOLDER = "PAIMON_LAKE_CONFIGS"
_M = TypeVar("_M", bound=Model)


def configs_folder(given: str | Path | None = None) -> Path:
    """Return the folder of the declarations as an absolute path; raises SettingsError when this folder does not
    exist.
    """
    named = given or os.environ.get(FOLDER)
    here = "." if Path("base.yaml").is_file() and not Path(DEFAULT_FOLDER).is_dir() else DEFAULT_FOLDER
    folder = _plain(Path(named or here).expanduser().absolute())
    if not folder.is_dir():
        advice = (
            f"a lake is a folder with base.yaml and tables/{nearest(folder.name, _lakes(folder.parent))}"
            if named
            else f"name the folder of the lake with --configs or {FOLDER}, or run in the directory that has "
            f"{DEFAULT_FOLDER}/; `paimon-lake new <folder>` writes the folder of a new lake"
        )
        raise SettingsError(f"{folder} is not a directory: {advice}")
    return folder


def _lakes(parent: Path) -> list[str]:
    """Return the names of the folders of lakes in a directory, which may not exist."""
    try:
        return sorted(one.parent.name for one in parent.glob("*/base.yaml"))
    except OSError:
        return []


def environments(configs: str | Path | None = None) -> list[str]:
    """Return the sorted names of the environments that have a file in the folder."""
    return [path.stem for path in _yaml_files(configs_folder(configs)) if path.stem != "base"]


def load_settings(
    environment: str | None = None, *, warehouse: str | None = None, configs: str | Path | None = None
) -> Settings:
    """Read the settings of an environment: the environment is the argument, else PAIMON_ENV, else ``local``.

    ``warehouse`` replaces the configured warehouse. Raises SettingsError, which names file, line and key, when a file
    is missing or invalid, or when the files do not agree.
    """
    folder = configs_folder(configs)
    name = environment or os.environ.get(ENVIRONMENT) or "local"
    if name not in environments(folder):
        known = ", ".join(environments(folder))
        what = f"has {known}" if known else "has none; `paimon-lake new <folder>` writes the folder of a new lake"
        raise SettingsError(f"no environment {name!r}: {shown(folder)}/ {what}")
    common = _common([read_yaml(folder / "base.yaml"), read_yaml(folder / f"{name}.yaml")])
    own = common.model_copy(
        update={
            "warehouse": _absolute(warehouse, common, folder),
            "landing_directory": common.landing_directory and _beside(folder, common.landing_directory),
            "storage": {key: value for key, value in common.storage.items() if value},
        }
    )
    settings = Settings.model_construct(
        **{key: getattr(own, key) for key in EnvironmentSettings.model_fields},
        environment=name,
        folder=folder,
        tables={
            table: with_database(spec, own.postgres) for table, spec in _tables(_yaml_files(folder / "tables")).items()
        },
    )
    if found := early_disagreements(settings):
        raise SettingsError("; ".join([found[0], *([f"{len(found) - 1} more"] if len(found) > 1 else [])]))
    _check_tags(settings)
    _check_groups(settings)
    return settings


def _check_groups(settings: Settings) -> None:
    """Raise SettingsError, with file and line, for a group with a table that is not declared."""
    for name, text in undeclared_tables(settings.groups, settings.tables):
        files = [read_yaml(settings.folder / f"{one}.yaml") for one in (settings.environment, "base")]
        file = next((one for one in files if name in (one.values.get("groups") or {})), files[-1])
        raise SettingsError(f"{file.place(('groups', name))}: {text}")


def _check_tags(settings: Settings) -> None:
    """Raise SettingsError for a limit of a tag that no table has."""
    tags = {tag for spec in settings.tables.values() for tag in spec.compaction.tags}
    if settings.tables and (unused := sorted(set(settings.maintenance.limits) - tags)):
        raise SettingsError(
            f"{shown(settings.folder)}: maintenance.limits has the tag {unused[0]!r:.60}, but no table has it in "
            f"compaction.tags{nearest(unused[0], sorted(tags))}"
        )


def _yaml_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder, without hidden files of editors; raises SettingsError for a file ``*.yml``."""
    files = sorted(path for path in folder.glob("*.y*ml") if not path.name.startswith("."))
    for path in files:
        if path.suffix == ".yml":
            raise SettingsError(f"{shown(path)}: the name of the file must end with .yaml")
    return [path for path in files if path.suffix == ".yaml"]


def _common(files: list[YamlFile]) -> EnvironmentSettings:
    values: dict[str, Any] = {}
    written: dict[str, Any] = {}
    origin: dict[Key, YamlFile] = {}
    for file in files:
        refuse_secrets(file)
        _overlay(values, with_variables(file), origin, file)
        _overlay(written, file.values, {}, file)
    return _checked(EnvironmentSettings, values, written, files[-1], origin)


def _tables(files: list[Path]) -> dict[str, TableSpec]:
    """Read the declarations of tables, by table name; raises one SettingsError with a line for each invalid file."""
    tables, problems = dict[str, TableSpec](), list[str]()
    for path in files:
        try:
            tables[path.stem] = _table(path)
        except SettingsError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return tables


def _table(path: Path) -> TableSpec:
    file = read_yaml(path)
    if not TABLE_NAME.fullmatch(path.stem):
        raise SettingsError(f"{shown(path)}: the name of the file must be <database>.<table>.yaml")
    if not file.values:
        raise SettingsError(f"{shown(path)}: the file is empty: a table needs at least primary_key or source")
    if "name" in file.values:
        raise SettingsError(f"{file.place(('name',))}: the name of the file names the table: remove the key name")
    if "column_comments" in file.values:
        place = file.place(("column_comments",))
        raise SettingsError(
            f"{place}: unknown key column_comments: write `columns: {{id: {{type: ..., comment: ...}}}}`"
        )
    refuse_secrets(file)
    values = {"name": path.stem, **with_variables(file)}
    spec = _checked(TableSpec, values, file.values, file, {})
    check_parts(spec, file)
    check_definition(spec, file)
    return spec


def _checked(
    model: type[_M], values: dict[str, Any], written: dict[str, Any], file: YamlFile, origin: Mapping[Key, YamlFile]
) -> _M:
    def spot(key: Key) -> tuple[str, int]:
        found = next((origin[key[:n]] for n in range(len(key), 0, -1) if key[:n] in origin), file)
        return shown(found.path), found.line(key)

    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise SettingsError(sentence(error, model, written, spot)) from None


def _overlay(
    base: dict[str, Any], over: Mapping[str, Any], origin: dict[Key, YamlFile], file: YamlFile, at: Key = ()
) -> None:
    for name, value in over.items():
        key = (*at, name)
        if isinstance(value, dict) and isinstance(base.get(name), dict):
            _overlay(base[name], value, origin, file, key)
            continue
        base[name] = {} if isinstance(value, dict) else value
        origin[key] = file
        if isinstance(value, dict):
            _overlay(base[name], value, origin, file, key)


def _absolute(given: str | None, common: EnvironmentSettings, folder: Path) -> str:
    """Return a warehouse as an absolute path; a URL, or the name of a warehouse of a REST server, stays unchanged.

    The argument ``given`` is relative to the working directory, the setting to the folder of the declarations.
    """
    chosen = given if given is not None else common.warehouse
    if "://" in chosen or kind_of(common.catalog) == REST:
        return chosen
    return _beside(Path.cwd() if given is not None else folder, chosen)


def _beside(folder: Path, path: str) -> str:
    """Return a path that is relative to a folder as an absolute path."""
    return str(_plain(folder / Path(path).expanduser()))


def _plain(path: Path) -> Path:
    """Return an absolute path without ``..``, as the operating system resolves it."""
    return path.resolve() if ".." in path.parts else path
