"""FetchStep: the argument of a function ``source.fetch``, which describes the load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FetchStep:
    """The argument of a function that fetches the files of a source: ``function(step)``."""

    table: str
    """The table to load, ``database.table``."""
    partitions: tuple[str, ...] | None
    """The keys of the partitions to load; None when all files are loaded."""
    folder: Path
    """The folder of the declarations."""
    landing: Path
    """The directory to which the function must write the files; a relative ``source.path`` starts here."""
