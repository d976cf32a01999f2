"""Settings: read the YAML files under configs/ into frozen values.

``base.yaml`` applies to all environments, ``<environment>.yaml`` overrides it, and each
``tables/<database>.<table>.yaml`` declares one table. An unknown key, a missing key and a value of a wrong type are
errors that name file and key. ``${NAME:-default}`` in a text is replaced by an environment variable. Files contain no
secrets, only the names of the variables that contain them.
"""

from __future__ import annotations

import dataclasses
import os
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import yaml

from paimon_core.storage.open import OPTIONS

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
ENVIRONMENT = "PAIMON_ENV"
T = TypeVar("T")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_ONLY_A_VARIABLE = re.compile(r"\$\{\w+(?::-)?\}")
_SECRETS = frozenset(name for options in OPTIONS.values() for name, is_secret in options.items() if is_secret)


class SettingsError(ValueError):
    """A file under configs/ is missing or invalid; the message names file and key."""


@dataclass(frozen=True)
class Calendar:
    """The days of the source, first and last included."""

    first_day: date
    last_day: date


@dataclass(frozen=True)
class SparkSettings:
    """Where Spark runs and with which configuration."""

    master: str
    app_name: str
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DagsterSettings:
    """How often Dagster retries steps, and when it runs maintenance."""

    step_retries: int
    retry_delay_seconds: int
    sensor_interval_seconds: int
    nightly_cron: str
    nightly_timezone: str
    weekly_cron: str
    automation_on: bool


@dataclass(frozen=True)
class Compaction:
    """When the sensor starts and stops compacting, in sorted runs (without a key: files) of the fullest bucket."""

    start_at_runs: int = 5
    stop_at_runs: int = 1


@dataclass(frozen=True)
class Retention:
    """What the nightly and weekly maintenance keeps."""

    keep_snapshots: int = 10
    keep_hours: int = 24
    keep_tags_days: int = 30
    orphans_older_than_hours: int = 24
    """Unreferenced files older than this are swept; it must exceed the time of any job from writing to its commit."""
    keep_quarantine_days: int = 7
    """How long a sweep can be undone, in days."""
    spark_from_files: int = 10_000
    """The number of files from which a clean-up runs as Spark tasks."""


@dataclass(frozen=True)
class TableSpec:
    """One table as declared in its file; ``columns`` maps names to Paimon type texts, in order."""

    name: str
    comment: str
    columns: Mapping[str, str]
    owners: tuple[str, ...]
    options: Mapping[str, str]
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    natural_key: tuple[str, ...] = ()
    """The columns that are unique in a table without a primary key; loads and checks use them."""
    backfill_per_run: int = 1
    compaction: Compaction = Compaction()
    retention: Retention = Retention()
    mark_done: bool = False
    """Whether loads mark the months that they complete with a file ``_SUCCESS``."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns whose values are unique: the primary key or the natural key."""
        return self.primary_key or self.natural_key

    @property
    def ident(self) -> str:
        """The table name as one word for jobs and pools, such as ``ods_flights``."""
        return self.name.replace(".", "_")


@dataclass(frozen=True)
class Settings:
    """All settings of one environment."""

    environment: str
    warehouse: str
    """An absolute path, or a URL."""
    calendar: Calendar
    spark: SparkSettings
    dagster: DagsterSettings
    tables: Mapping[str, TableSpec]
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of an object store (docs/storage.md). Every process reads them again; they are never sent or stored."""
    landing_directory: str = ""

    @property
    def landing(self) -> Path:
        """The directory of the source files that Spark reads; raises SettingsError when it is not known."""
        if self.landing_directory:
            return Path(self.landing_directory)
        if self.is_remote:
            raise SettingsError(f"the warehouse {self.warehouse} is not a local directory: set landing_directory")
        return Path(self.warehouse.removeprefix("file://")) / "landing"

    @property
    def is_remote(self) -> bool:
        """Whether the warehouse is not a directory of this machine."""
        return "://" in self.warehouse and not self.warehouse.startswith("file://")

    def table(self, name: str) -> TableSpec:
        """Return the declaration of ``database.table``; raises SettingsError, which lists the declared tables."""
        if name not in self.tables:
            raise SettingsError(f"no table {name!r} is declared in configs/tables ({', '.join(sorted(self.tables))})")
        return self.tables[name]


def environments(configs: Path = CONFIGS) -> list[str]:
    """Return the environments that have a file under configs/, sorted."""
    return sorted(p.stem for p in configs.glob("*.yaml") if p.stem != "base")


def load_settings(environment: str | None = None, *, warehouse: str | None = None, configs: Path = CONFIGS) -> Settings:
    """Read the settings of an environment: the argument, else PAIMON_ENV, else ``local``.

    ``warehouse`` replaces the configured one. Raises SettingsError, which names file and key.
    """
    name = environment or os.environ.get(ENVIRONMENT) or "local"
    if name not in environments(configs):
        raise SettingsError(f"no environment {name!r}: configs/ has {', '.join(environments(configs))}")
    files = (configs / "base.yaml", configs / f"{name}.yaml")
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for file in files:
        read = _read(file)
        _refuse_secrets(read.get("storage"), file.name)
        _overlay(merged, read, origin, file.name)
    tables = {p.stem: _table(p) for p in sorted((configs / "tables").glob("*.yaml"))}
    values = {**merged, "environment": name, "tables": {}}
    settings = _build(Settings, values, lambda key: f"configs/{origin.get(key, f'{name}.yaml')}")
    return dataclasses.replace(
        settings,
        tables=tables,
        warehouse=_absolute(warehouse, settings.warehouse),
        storage=types.MappingProxyType({key: value for key, value in settings.storage.items() if value}),
    )


def _refuse_secrets(storage: object, file: str) -> None:
    """Raise SettingsError for a secret that is written in a file; the message does not repeat it."""
    for key, value in storage.items() if isinstance(storage, dict) else ():
        if key in _SECRETS and not (isinstance(value, str) and _ONLY_A_VARIABLE.fullmatch(value)):
            raise SettingsError(
                f"configs/{file}: storage.{key} is a secret: write the name of its variable, ${{NAME}} or ${{NAME:-}}"
            )


def _absolute(given: str | None, configured: str) -> str:
    """Return a warehouse as an absolute path: an argument is relative to the working directory, a setting to ROOT."""
    chosen = given if given is not None else configured
    if "://" in chosen:
        return chosen
    path = Path(chosen).expanduser()
    return str((Path.cwd() if given is not None else ROOT) / path)


def _table(path: Path) -> TableSpec:
    spec = _build(TableSpec, {"name": path.stem, **_read(path)}, lambda _: f"configs/tables/{path.name}")
    for role in ("primary_key", "partition_by", "natural_key"):
        for column in getattr(spec, role):
            if column not in spec.columns:
                raise SettingsError(f"configs/tables/{path.name}: {role} names {column!r}, which is not a column")
    if not spec.key:
        raise SettingsError(f"configs/tables/{path.name}: a table needs a primary_key or a natural_key")
    return spec


def _read(path: Path) -> dict[str, Any]:
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(value, dict):
        raise SettingsError(f"{path}: the file must be a mapping of keys to values")
    return value


def _overlay(base: dict[str, Any], over: Mapping[str, Any], origin: dict[str, str], file: str, at: str = "") -> None:
    for key, value in over.items():
        path = f"{at}{key}"
        origin[path] = file
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            _overlay(base[key], value, origin, file, f"{path}.")
        else:
            base[key] = value
            if isinstance(value, dict):
                origin.update((f"{path}.{inner}", file) for inner in value)


def _build(cls: type[T], values: Mapping[str, Any], file: Callable[[str], str], at: str = "") -> T:
    """Create an instance of the dataclass from parsed YAML, checked against its annotations."""
    if not isinstance(values, Mapping):
        raise SettingsError(f"{file(at.rstrip('.'))}: {at.rstrip('.')} must be a mapping of keys to values")
    known = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise SettingsError(f"{file(f'{at}{key}')}: unknown key {at}{key} (known here: {', '.join(sorted(known))})")
    hints = typing.get_type_hints(cls)
    built = {}
    for name, member in known.items():
        if name in values:
            built[name] = _value(hints[name], values[name], file, f"{at}{name}")
        elif member.default is dataclasses.MISSING and member.default_factory is dataclasses.MISSING:
            raise SettingsError(f"{file(at.rstrip('.'))}: {at}{name} is missing")
    return cls(**built)


def _value(hint: Any, value: Any, file: Callable[[str], str], key: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type[Any], hint), value, file, f"{key}.")
    kind = typing.get_origin(hint) or hint
    if kind is tuple and isinstance(value, list):
        return tuple(_value(str, v, file, key) for v in value)
    if kind is Mapping and isinstance(value, dict):
        return types.MappingProxyType({str(k): _value(str, v, file, f"{key}.{k}") for k, v in value.items()})
    if kind is str and isinstance(value, str):
        return _VARIABLE.sub(lambda found: _variable(found, file(key), key), value)
    if kind in (int, bool, date) and type(value) is kind:
        return value
    name = {tuple: "a list of texts", Mapping: "a mapping", str: "a text", int: "a whole number"}.get(
        kind, kind.__name__
    )
    raise SettingsError(f"{file(key)}: {key} must be {name}, not {value!r}")


def _variable(found: re.Match[str], file: str, key: str) -> str:
    name, default = found.groups()
    value = os.environ.get(name) or default
    if value is None:
        raise SettingsError(f"{file}: {key} needs the environment variable {name}, which is not set")
    return value
