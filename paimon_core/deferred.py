"""Deferred: functions and modules that are imported at their first use.

Each module of this library adds about half a millisecond to the first read of a new interpreter, and a read uses a
sixth of them. A handle has methods for everything, so the modules of writes, compaction and maintenance are deferred.
"""

from __future__ import annotations

import importlib
from operator import attrgetter
from typing import Any


def deferred(module: str, name: str) -> Any:
    """Return a function that imports ``module`` at its first call and calls what has the dotted ``name`` in it.

    Its errors are those of the import and of the call.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return attrgetter(name)(importlib.import_module(module))(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


class DeferredModule:
    """A module that is imported when an attribute is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # questions of copy, pickle and inspect are not uses
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)
