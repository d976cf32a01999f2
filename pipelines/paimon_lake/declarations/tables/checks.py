"""Checks: the rules for the rows of a table. ``type`` selects the kind; each kind has its own keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from paimon_lake.declarations.durations import Duration
from paimon_lake.declarations.model import Model, Names, SomeNames


class _Check(Model):
    name: str = ""
    """The name in Dagster; default: the type and the columns of the check."""
    severity: Literal["error", "warn"] = "error"
    """``error``: problems fail the check; ``warn``: problems only cause a warning."""
    block: bool = False
    """Whether the check runs before a load is published; when it fails, nothing is published."""

    @property
    def label(self) -> str:
        """The name of the check; it must have only letters, digits and underscores."""
        columns = getattr(self, "columns", None) or getattr(self, "column", None) or ()
        parts = (getattr(self, "type", ""), *((columns,) if isinstance(columns, str) else columns))
        return self.name or "_".join(part for part in parts if part)


class UniqueCheck(_Check):
    """No two rows have the same values in these columns (default: the key of the table)."""

    type: Literal["unique"]
    """No two rows have the same values in some columns."""
    columns: Names = ()
    """The columns; default: the key of the table."""


class NotNullCheck(_Check):
    """These columns have no null."""

    type: Literal["not_null"]
    """Some columns have no null."""
    columns: SomeNames
    """The columns that have no null."""


class AcceptedValuesCheck(_Check):
    """A column has only these values; nulls are accepted."""

    type: Literal["accepted_values"]
    """A column has only certain values."""
    column: str
    """The column."""
    values: Annotated[list[Any], Field(min_length=1)]
    """The values that the column may have."""


class RangeCheck(_Check):
    """The values of a column are between two bounds, both included; nulls are accepted."""

    type: Literal["range"]
    """The values of a column are between two bounds."""
    column: str
    """The column."""
    min: Any = None
    """The least value."""
    max: Any = None
    """The greatest value."""

    @model_validator(mode="after")
    def _a_bound(self) -> RangeCheck:
        if self.min is None and self.max is None:
            raise ValueError("a range check needs min or max")
        try:
            is_empty = self.min is not None and self.max is not None and self.max < self.min
        except TypeError:
            raise ValueError(f"min {self.min!r:.40} and max {self.max!r:.40} cannot be compared") from None
        if is_empty:
            raise ValueError(f"max {self.max!s:.40} is less than min {self.min!s:.40}")
        return self


class FreshnessCheck(_Check):
    """The newest load, or the greatest value of a date or timestamp column, is at most ``max_hours`` old."""

    type: Literal["freshness"]
    """The newest data is not older than some hours."""
    max_hours: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """The greatest age, in hours."""
    column: str = ""
    """The date or timestamp column whose greatest value is compared; default: the time of the newest load."""


class RowCountCheck(_Check):
    """Each row that a load read was written, was rejected or waits; the table has ``min`` to ``max`` rows."""

    type: Literal["row_count"]
    """No row was lost, and the table is neither too small nor too large."""
    min: Annotated[int, Field(ge=0)] | None = None
    """The least number of rows of the table."""
    max: Annotated[int, Field(ge=0)] | None = None
    """The greatest number of rows of the table."""

    @model_validator(mode="after")
    def _in_order(self) -> RowCountCheck:
        if self.min is not None and self.max is not None and self.max < self.min:
            raise ValueError(f"max {self.max} is less than min {self.min}")
        return self


class VolumeCheck(_Check):
    """The last load wrote ``min_ratio`` to ``max_ratio`` times the mean number of rows of the loads before it.

    Loads of partitions are compared by their number of rows per partition.
    """

    type: Literal["volume"]
    """The last load wrote about as many rows as the loads before it."""
    min_ratio: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5
    """The smallest allowed number of rows, as a multiple of the mean."""
    max_ratio: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0
    """The greatest allowed number of rows, as a multiple of the mean."""
    loads: Annotated[int, Field(ge=1, le=100)] = 7
    """The number of earlier loads from which the mean is computed."""

    @model_validator(mode="after")
    def _in_order(self) -> VolumeCheck:
        if self.max_ratio < self.min_ratio:
            raise ValueError(f"max_ratio {self.max_ratio} is less than min_ratio {self.min_ratio}")
        return self


class LagCheck(_Check):
    """The table is not far behind its source of changes, and the source does not keep much of its log for the table.

    The check asks the source, without Spark. It fails when the source does not answer.
    """

    type: Literal["lag"]
    """The table is not far behind its source of changes."""
    max_bytes: Annotated[int, Field(ge=0)] | None = None
    """The greatest length of the log that is not loaded; the log counts only if it has changes of the table."""
    max_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """The greatest age of the oldest change that is not loaded."""
    max_slot_bytes: Annotated[int, Field(ge=0)] | None = None
    """The greatest disk space that the server may use for the log that the table's replication slot keeps."""
    max_messages: Annotated[int, Field(ge=0)] | None = None
    """The greatest number of messages of Kafka that are not loaded; the only bound for a source of type ``kafka``."""

    @model_validator(mode="after")
    def _a_bound(self) -> LagCheck:
        if (self.max_bytes, self.max_seconds, self.max_slot_bytes, self.max_messages) == (None,) * 4:
            raise ValueError("a lag check needs max_bytes, max_seconds or max_slot_bytes, for kafka max_messages")
        return self


class PartsCompleteCheck(_Check):
    """No row of a table with parts lacks a part for longer than ``max_wait``.

    A row lacks a part when the part never had a row with the key of the row; a row whose part was deleted does not lack
    the part.
    """

    type: Literal["parts_complete"]
    """No row lacks a part for too long."""
    parts: Names = ()
    """The parts that a row needs; default: all parts."""
    max_wait: Duration
    """The longest time without the part, such as ``30 min``, ``2 h`` or ``1 d``."""
    column: str = ""
    """The date or timestamp column that states when a row began to wait; rows with a null in this column are counted
    and not checked. Default: the rows are compared with the rows of the newest snapshot that is ``max_wait`` old, so
    ``retention.keep_hours`` must be longer than ``max_wait``.
    """


class SqlCheck(_Check):
    """A query that must return no row; it names the table as ``database.table``."""

    type: Literal["sql"]
    """A query returns no row."""
    name: Annotated[str, Field(min_length=1)]
    """The name in Dagster."""
    query: Annotated[str, Field(min_length=1)]
    """The query; it must return no row."""


TableCheck = (
    UniqueCheck
    | NotNullCheck
    | AcceptedValuesCheck
    | RangeCheck
    | FreshnessCheck
    | RowCountCheck
    | VolumeCheck
    | PartsCompleteCheck
    | SqlCheck
)
"""The checks that read the table."""
Check = Annotated[TableCheck | LagCheck, Field(discriminator="type")]
