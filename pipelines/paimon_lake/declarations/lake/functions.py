"""Functions: find the function that a declaration names as ``module:function``.

The folder of the declarations is searched first. Each file is executed once in a process, even when several
declarations name it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from paimon_lake.declarations.errors import SettingsError, nearest
from paimon_lake.declarations.yaml_file import shown

_LOCK = threading.RLock()
_loaded: dict[Path, ModuleType] = {}


def function_of(text: str, folder: Path, parameters: tuple[str, ...] = ("spark", "step")) -> Callable[..., Any]:
    """Return the function ``module:function`` of the folder, or of an installed module.

    Raises SettingsError, which names the file, when the function does not exist, when its module cannot be imported,
    and when the function cannot be called with these parameters.
    """
    module_name, _, name = text.partition(":")
    module = _module(module_name, folder)
    file = shown(Path(module.__file__)) if module.__file__ else module_name
    function = getattr(module, name, None)
    if not callable(function):
        public = [one for one, value in vars(module).items() if inspect.isfunction(value)]
        problem = f"{file} has no function {name}" if function is None else f"{name} in {file} is not a function"
        raise SettingsError(f"{problem}{nearest(name, public)}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return cast(Callable[..., Any], function)  # a function in C has no signature to check
    try:
        signature.bind(*parameters)
    except TypeError:
        raise SettingsError(f"{name}{signature} in {file} must take ({', '.join(parameters)})") from None
    return cast(Callable[..., Any], function)


def _module(name: str, folder: Path) -> ModuleType:
    stem = folder.absolute() / Path(*name.split("."))
    path = next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)
    try:
        return importlib.import_module(name) if path is None else _executed(name, path.resolve(), folder)
    except ModuleNotFoundError as error:
        if path is None and error.name and f"{name}.".startswith(f"{error.name}."):
            raise SettingsError(
                f"there is no module {name}: neither {shown(stem)}.py exists nor is it installed"
            ) from None
        raise SettingsError(f"{_source(name, path)} cannot be imported: {error}") from error
    except Exception as error:
        raise SettingsError(f"{_source(name, path)} cannot be imported: {type(error).__name__}: {error}") from error


def _source(name: str, path: Path | None) -> str:
    return name if path is None else shown(path)


def _executed(name: str, path: Path, folder: Path) -> ModuleType:
    """Return the module of a file; the file is executed only if this process has not executed it before."""
    with _LOCK:
        if path in _loaded:
            return _loaded[path]
        present = sys.modules.get(name)
        if present is not None and getattr(present, "__file__", None) and Path(str(present.__file__)).resolve() == path:
            return _loaded.setdefault(path, present)
        if present is not None:  # another lake or an installed package has a module of this name
            name = f"{name}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(folder.absolute()))  # so that the file can import files of its folder
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        finally:
            sys.path.remove(str(folder.absolute()))
        return _loaded.setdefault(path, module)
