"""Sample: the rows of a table that Dagster may show, and the columns that it never shows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from paimon_lake.declarations.errors import Mistake
from paimon_lake.declarations.model import Model, Names

MOST_ROWS = 50


class Sample(Model):
    """The rows that Dagster shows with each load and each maintenance of the table."""

    rows: Annotated[int, Field(ge=0, le=MOST_ROWS)] = 5
    """The number of rows of the table; with 0, none are shown."""
    changes: Annotated[int, Field(ge=0, le=MOST_ROWS)] = 5
    """The number of rows that the last commit wrote, with their kinds; with 0, none are shown."""
    hide: Names = ()
    """The columns that are not read and not shown."""

    @model_validator(mode="after")
    def _shows_rows(self) -> Sample:
        if not self.rows and not self.changes:
            raise ValueError("rows and changes are 0, so nothing would be shown: leave out sample")
        return self


def check_sample(sample: Sample | None, columns: tuple[str, ...], partition_by: tuple[str, ...]) -> None:
    """Refuse columns that cannot be hidden, and a sample without columns."""
    if sample is None:
        return
    for number, name in enumerate(sample.hide):
        if name in partition_by:
            raise Mistake(
                f"{name} is in partition_by: its values are names of directories, which findings and logs also show",
                "sample",
                "hide",
                number,
            )
    if not columns:
        raise Mistake("needs columns: only columns of the declaration are shown", "sample")
    if set(columns) <= set(sample.hide):
        raise Mistake("hides all columns: leave out sample", "sample", "hide")
