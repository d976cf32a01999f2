"""FetchStep: what a function that brings files receives about the load that calls it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FetchStep:
    """The argument of a function that brings files: ``function(step)``."""

    table: str
    """The table to load, ``database.table``."""
    partitions: tuple[str, ...] | None
    """The keys of the partitions to load; None: all files."""
    folder: Path
    """The folder of the declarations."""
    landing: Path
    """The directory into which the files are brought; ``source.path`` starts here."""
