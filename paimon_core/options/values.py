"""Option values: the text that is stored for a value that a caller gives (text, bool, int or float)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_core.errors import InvalidOption, shown
from paimon_core.options.option import Kind
from paimon_core.options.registry import option_of

OptionValue = str | int | float | bool
"""The types of values that a caller may give for an option."""


def option_text(key: Any, value: Any) -> str:
    """Return the text that is stored for an option's value; a float is accepted only for a double option.

    Raises InvalidOption, with the key and the value, for a key that is not text and for any other value.
    """
    if not isinstance(key, str):
        raise InvalidOption(f"option {key!r:.60} = {value!r:.60}: the name must be text", option=key, value=value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        try:
            return str(int(value))
        except ValueError:
            raise InvalidOption(f"option {key!r} has {shown(value)}, which cannot be written", option=key) from None
    allowed = "text, an int or a bool"
    if isinstance(value, float):
        if (found := option_of(key)) is not None and found.kind is Kind.DOUBLE:
            return repr(float(value))
        allowed += ", and a float only where the option is a double"
    raise InvalidOption(f"option {key!r} = {value!r:.60}: the value must be {allowed}", option=key, value=value)


def option_texts(options: Any) -> dict[str, str]:
    """Return the options as texts; raises InvalidOption, see ``option_text``."""
    if not isinstance(options, Mapping):
        raise InvalidOption(f"options must map names to values, not be {options!r:.60}")
    return {key: option_text(key, value) for key, value in options.items()}
