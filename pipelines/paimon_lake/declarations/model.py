"""Model: the base of all declarations, and the types of their values.

A key that a model does not have is an error. YAML reads ``2`` and ``true`` as a number and a boolean. If the values of
a mapping must be texts, as for table options and Spark settings, numbers, booleans and dates are converted to texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, ClassVar
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from paimon_lake.declarations.cron import why_not_cron

_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class Model(BaseModel):
    """A frozen declaration that accepts no unknown keys.

    The docstring below a field is the description of its key in editors and documents.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True, use_attribute_docstrings=True
    )
    not_in_file: ClassVar[frozenset[str]] = frozenset()
    """The fields that the file does not contain, such as the name of the file."""


def _texts(value: Any) -> Any:
    """Return a mapping with its numbers, booleans and dates as texts.

    Other values are unchanged, so the model refuses them.
    """
    return {str(key): _text(one) for key, one in value.items()} if isinstance(value, Mapping) else value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return str(getattr(value, "written", value)) if isinstance(value, int | float) else value


def _tuple(value: Any) -> Any:
    """Return a list as a tuple, and a text as a tuple with this text.

    Other values are unchanged, so the model refuses them.
    """
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _day(value: Any) -> Any:
    """Return the date of a text such as 2024-01-31; other values are unchanged, and the model checks them."""
    if isinstance(value, str) and _ISO_DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return value
    return value


def _cron(value: str) -> str:
    if why := why_not_cron(value):
        raise ValueError(why)
    return value


def _timezone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{value!r:.80} is not the name of a time zone such as UTC or Europe/Berlin") from None
    return value


Texts = Annotated[Mapping[str, str], BeforeValidator(_texts, json_schema_input_type=dict[str, str | float | bool])]
"""A mapping whose values are texts; in YAML the values may also be numbers, booleans and dates."""
Names = Annotated[tuple[str, ...], BeforeValidator(_tuple, json_schema_input_type=str | list[str])]
"""A list of names, or one name."""
SomeNames = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    BeforeValidator(_tuple, json_schema_input_type=str | Annotated[list[str], Field(min_length=1)]),
]
"""A list of at least one name, or one name."""
Day = Annotated[date, BeforeValidator(_day, json_schema_input_type=date)]
"""A date; it may be a text, because the values of variables are texts."""
Cron = Annotated[str, Field(min_length=1), AfterValidator(_cron)]
"""A cron expression of five fields, or a word such as @daily."""
TimeZone = Annotated[str, AfterValidator(_timezone)]
"""The name of a time zone, such as Europe/Berlin."""
