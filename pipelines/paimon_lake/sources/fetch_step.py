"""FetchStep: what a function that brings files is told about the load that calls it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FetchStep:
    """What a function that brings files is told: ``function(step)``."""

    table: str
    """The table to load, ``database.table``."""
    partitions: tuple[str, ...] | None
    """The keys of the partitions to load; None: all files."""
    folder: Path
    """The folder of the declarations."""
    landing: Path
    """The directory into which the files are brought; ``source.path`` starts here."""
