"""Default values: converts the text of a column's default to a value of the column's type (format 2.3)."""

from __future__ import annotations

import pyarrow as pa

from paimon_core.datafile.evolution.nested_texts import is_parsed, parsed
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.types import DataType


def default_value(column: str, kind: DataType, text: str) -> pa.Scalar:
    """Return the default as a scalar of ``kind.to_arrow()``; single quotes around a text are removed.

    ``nested_texts`` describes the texts of nested types. Raises InvalidRequest for a text that is no value of the type,
    UnsupportedFeature for a MULTISET or VARIANT.
    """
    plain = text[1:-1] if len(text) > 1 and text.startswith("'") and text.endswith("'") else text
    kind = kind.with_nullable(True)
    if not is_parsed(kind):
        raise UnsupportedFeature(
            f"column {column!r} is {kind}: a default of such a type is not supported", column=column
        )
    try:
        value = parsed(plain, kind)[0]
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise InvalidRequest(
            f"column {column!r}: the default {text!r:.60} is no value of type {kind}: {error}",
            column=column,
            value=text,
        ) from None
    return value


def check_default(column: str, kind: DataType, text: str | None) -> None:
    """Raise InvalidRequest or UnsupportedFeature for a default that cannot be a value of ``kind``; None is allowed."""
    if text is None:
        return
    if not isinstance(text, str):
        raise InvalidRequest(f"column {column!r}: a default is given as text, not {text!r:.60}", column=column)
    default_value(column, kind, text)
