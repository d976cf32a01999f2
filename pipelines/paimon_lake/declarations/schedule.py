"""Schedule: when a table is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from paimon_lake.declarations.errors import Mistake, as_written
from paimon_lake.declarations.model import Cron, Model, TimeZone


class Schedule(Model):
    """When a table is loaded: by a cron expression, when its inputs change, when files arrive, or when its source has
    changes."""

    cron: Annotated[Cron, Field(validate_default=False)] = ""
    """A cron expression, such as ``0 5 * * *`` for every day at five."""
    timezone: TimeZone = "UTC"
    """The time zone of ``cron``."""
    on: Literal["inputs", "files", "changes"] | None = None
    """``inputs``: when an input changed; ``files``: when files arrive; ``changes``: when the table is behind its source
    of changes."""

    @model_validator(mode="after")
    def _one_trigger(self) -> Schedule:
        if bool(self.cron) == (self.on is not None):
            raise ValueError("a schedule needs either cron or on")
        if self.on is not None and "timezone" in self.model_fields_set:
            raise Mistake("belongs to cron, and a schedule with on has none", "timezone")
        return self


def schedule_of(value: Any) -> Any:
    """Return a mapping with the key ``cron`` for a text; a mapping or None is returned unchanged."""
    if not isinstance(value, str | Mapping | None):
        raise ValueError(f"must be a cron expression in quotes or a mapping, not {as_written(value)}")
    return {"cron": value} if isinstance(value, str) else value
