"""version: the version of the installed package, for ``paimon_core.__version__`` and as the writer of snapshots."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """Return the version of the installed package; "unknown" when the sources are used without an installation."""
    import importlib.metadata

    try:
        return importlib.metadata.version("paimon-core")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
