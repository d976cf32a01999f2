"""The definitions of the project: all that stand in ``defs/``."""

from pathlib import Path

import dagster as dg


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions of the files below ``defs/``."""
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
