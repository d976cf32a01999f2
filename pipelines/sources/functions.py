"""Functions of the user: found by ``module:function``, first in the folder of the declarations, then as a package."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pyspark.sql import DataFrame

from pipelines.protocol import PipelineError


@dataclass(frozen=True)
class UserStep:
    """What a function of the user is told: ``function(spark, step) -> DataFrame``."""

    table: str
    """The table to load, ``database.table``."""
    partitions: tuple[str, ...] | None
    """The keys of the partitions to load; None for a table without partitions."""
    folder: Path
    """The folder of the declarations."""
    _inputs: Mapping[str, Callable[[], DataFrame]] = field(default_factory=dict, repr=False)

    def read(self, table: str) -> DataFrame:
        """Return the rows of an input at one snapshot, those of the partitions of the step when it has partitions.

        Raises PipelineError for a table that the declaration does not name as an input.
        """
        if table not in self._inputs:
            known = ", ".join(sorted(self._inputs)) or "none"
            raise PipelineError(f"{self.table}: {table!r} is not one of its source.inputs ({known})")
        return self._inputs[table]()


def load_function(folder: Path, name: str) -> Callable[..., Any]:
    """Import ``module:function`` and check its signature; raises PipelineError that names the module and the reason."""
    module_name, _, function_name = name.partition(":")
    module = _module(folder, module_name)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise PipelineError(f"{name}: {module.__file__} has no function {function_name!r}")
    try:
        inspect.signature(function).bind("spark", "step")
    except TypeError:
        raise PipelineError(
            f"{name}: the function must take (spark, step), and it takes {inspect.signature(function)}"
        ) from None
    return cast(Callable[..., Any], function)


def _module(folder: Path, name: str) -> ModuleType:
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    try:
        if not path.is_file():
            return importlib.import_module(name)
        own = f"_lake_{abs(hash(str(folder)))}.{name}"
        if own in sys.modules:
            return sys.modules[own]
        spec = importlib.util.spec_from_file_location(own, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except Exception as error:
        raise PipelineError(f"the module {name} cannot be imported: {type(error).__name__}: {error}") from error
    sys.modules[own] = module
    return module
