"""Checks: what must hold for the rows of a table. ``type`` selects the kind; each kind has its own keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pipelines.lake.model import Model, Names


class _Check(Model):
    name: str = ""
    """The name in Dagster; default: the type and its columns."""
    severity: Literal["error", "warn"] = "error"
    block: bool = False
    """Whether the check runs before a load is published; when it fails, nothing is published."""

    @property
    def label(self) -> str:
        """The name of the check: letters, digits and underscores."""
        columns = getattr(self, "columns", None) or getattr(self, "column", None) or ()
        parts = (getattr(self, "type", ""), *((columns,) if isinstance(columns, str) else columns))
        return self.name or "_".join(part for part in parts if part)


class UniqueCheck(_Check):
    """No two rows have the same values in these columns (default: the key of the table)."""

    type: Literal["unique"]
    columns: Names = ()


class NotNullCheck(_Check):
    """These columns have no null."""

    type: Literal["not_null"]
    columns: Annotated[Names, Field(min_length=1)]


class AcceptedValuesCheck(_Check):
    """A column has only these values; nulls are accepted."""

    type: Literal["accepted_values"]
    column: str
    values: Annotated[list[Any], Field(min_length=1)]


class RangeCheck(_Check):
    """The values of a column are between two bounds, both included; nulls are accepted."""

    type: Literal["range"]
    column: str
    min: Any = None
    max: Any = None

    @model_validator(mode="after")
    def _a_bound(self) -> RangeCheck:
        if self.min is None and self.max is None:
            raise ValueError("a range check needs min or max")
        return self


class FreshnessCheck(_Check):
    """The newest snapshot, or the greatest value of a timestamp column, is at most ``max_hours`` old."""

    type: Literal["freshness"]
    max_hours: Annotated[float, Field(gt=0, strict=False)]
    column: str = ""


class RowCountCheck(_Check):
    """The rows that loads read equal the rows that they wrote and rejected; ``min`` and ``max`` bound the table."""

    type: Literal["row_count"]
    min: int | None = None
    max: int | None = None


class VolumeCheck(_Check):
    """The last load wrote between ``min_ratio`` and ``max_ratio`` times the mean rows of the loads before it."""

    type: Literal["volume"]
    min_ratio: Annotated[float, Field(ge=0, strict=False)] = 0.5
    max_ratio: Annotated[float, Field(gt=0, strict=False)] = 2.0
    loads: Annotated[int, Field(ge=1, le=100)] = 7
    """The number of earlier loads."""


class SqlCheck(_Check):
    """A query that must return no row; it names the table as ``database.table``."""

    type: Literal["sql"]
    name: str
    query: str


Check = Annotated[
    UniqueCheck
    | NotNullCheck
    | AcceptedValuesCheck
    | RangeCheck
    | FreshnessCheck
    | RowCountCheck
    | VolumeCheck
    | SqlCheck,
    Field(discriminator="type"),
]
