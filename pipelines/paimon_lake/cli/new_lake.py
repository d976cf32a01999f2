"""A new lake: write a folder with two example tables, their data, a page of explanation and schemas for editors."""

from __future__ import annotations

import shutil
from pathlib import Path

from paimon_lake.declarations.json_schema import write_schemas
from paimon_lake.protocol import PipelineError

TEMPLATE = Path(__file__).resolve().parents[1] / "template"


def new_lake(folder: Path) -> list[Path]:
    """Write the example to a folder that does not exist or is empty; return its files as paths relative to the folder.

    Raises PipelineError when the folder has files or cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise PipelineError(f"{folder} exists already and is not empty: name a new folder")
        shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True)
        write_schemas(folder)
    except OSError as error:
        raise PipelineError(f"{folder} cannot be written: {error.strerror}") from None
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
