"""Component: adds the lake of a folder of declarations to a project of ``dg``.

``dg scaffold defs paimon_dagster.PaimonLake shop`` writes ``defs/shop/defs.yaml`` and a folder with an example of two
tables. A project may have several components and definitions of its own: the names of a component's jobs, steps,
schedules, sensors and resources begin with its ``name``, by default its folder: ``shop_nightly``, ``shop_spark``.
"""

import importlib
import re
from pathlib import Path

import dagster as dg
from pydantic import BaseModel

from paimon_dagster.lake import build_definitions
from paimon_dagster.translator import PaimonTranslator
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import SettingsError, load_settings


class PaimonLakeParams(BaseModel):
    """``configs``: the folder to write, relative to the folder of the component."""

    configs: str = "lake"


class PaimonLakeScaffolder(dg.Scaffolder[PaimonLakeParams]):
    """Writes ``defs.yaml`` and, if the folder of declarations does not exist yet, the example lake in it."""

    @classmethod
    def get_scaffold_params(cls) -> type[PaimonLakeParams]:
        """Return the model of the parameters."""
        return PaimonLakeParams

    def scaffold(self, request: dg.ScaffoldRequest[PaimonLakeParams]) -> None:
        """Write the files; an existing folder of declarations is not changed."""
        configs = (request.params or PaimonLakeParams()).configs
        if not (request.target_path / configs).exists():
            new_lake(request.target_path / configs)
        dg.scaffold_component(request, {"configs": configs})


@dg.scaffold_with(PaimonLakeScaffolder)
class PaimonLake(dg.Component, dg.Model, dg.Resolvable):
    """All tables of a lake with their loads, checks, compaction, maintenance, schedules and sensors."""

    configs: str = "lake"
    """The folder of the declarations, relative to the folder of the component."""
    environment: str | None = None
    """The environment of the folder; default: PAIMON_ENV, else ``local``."""
    translator: str | None = None
    """``module:Class``, a subclass of ``paimon_dagster.translator.PaimonTranslator``."""
    tables: list[str] | None = None
    """The tables to define; default: all tables that the folder declares."""
    name: str | None = None
    """The prefix of the names of jobs, steps, schedules, sensors, resources and pools; default: the folder of the
    component below ``defs``, such as ``shop``, or ``sales__shop`` for ``defs/sales/shop``. Empty: no prefix."""
    key_prefix: str | list[str] | None = None
    """The first part, or parts, of asset keys; default: none, and the keys are the names of the tables."""

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the lake; raises SettingsError for wrong declarations."""
        base = context.path if context.path.is_dir() else context.path.parent
        settings = load_settings(self.environment, configs=base / Path(self.configs).expanduser())
        return build_definitions(
            settings,
            load_translator(self.translator),
            name=name_of(base, context.defs_module_path) if self.name is None else self.name,
            key_prefix=[self.key_prefix] if isinstance(self.key_prefix, str) else self.key_prefix or (),
            tables=self.tables,
        )


def name_of(folder: Path, defs: Path) -> str:
    """Return the name of a component: its folder below ``defs``, such as ``sales__shop``.

    The name of a component in ``defs`` itself is ``defs``.
    """
    parts = folder.relative_to(defs).parts if folder.is_relative_to(defs) else ()
    parts = parts or (folder.name,)
    return "__".join(re.sub(r"[^A-Za-z0-9_]", "_", part) for part in parts)


def load_translator(name: str | None) -> PaimonTranslator:
    """Return an instance of the translator ``module:Class``; raises SettingsError when there is no such class."""
    if not name:
        return PaimonTranslator()
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"translator {name!r} cannot be imported: {error}") from None
    if not (isinstance(found, type) and issubclass(found, PaimonTranslator)):
        raise SettingsError(f"translator {name!r} is not a subclass of paimon_dagster.translator.PaimonTranslator")
    return found()
