"""Model: the base of all declarations, and the types of their values.

A key that a model does not have is an error. YAML reads ``2`` and ``true`` as a number and a boolean; where a text is
expected, as for table options and Spark settings, they are accepted and become texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Model(BaseModel):
    """A frozen declaration without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)


def _texts(value: Any) -> Any:
    """Return a mapping with its keys and its numbers, booleans and nulls as texts; other values stay for the model."""
    if not isinstance(value, Mapping):
        return value
    return {str(key): _text(one) for key, one in value.items()}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


def _tuple(value: Any) -> Any:
    """Return a list as a tuple, and one text as a tuple of one; other values stay for the model to refuse."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Texts = Annotated[Mapping[str, str], BeforeValidator(_texts)]
"""A mapping to texts, which in YAML may be numbers and booleans."""
Names = Annotated[tuple[str, ...], BeforeValidator(_tuple)]
"""A list of names, or one name."""
