"""Variant: one value of a VARIANT column; it can be converted from and to Python values and JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from paimon_core.errors import InvalidRequest, shown
from paimon_core.types.variant_decoding import Decoder
from paimon_core.types.variant_encoding import encoded, json_value


@dataclass(frozen=True, slots=True)
class Variant:
    """The two binaries of one VARIANT, as Parquet and Spark define them."""

    value: bytes
    metadata: bytes

    @staticmethod
    def of(value: Any) -> Variant:
        """Return the VARIANT of a Python value.

        The value consists of dicts with text keys, lists, texts, numbers, Decimals, booleans, dates, datetimes, bytes,
        UUIDs and None; a text becomes a text in the VARIANT, even if it contains JSON. Raises InvalidRequest for other
        values, and for more than 38 digits, 200 levels or 16 MB.
        """
        try:
            return Variant(*encoded(value))
        except ValueError as error:
            raise InvalidRequest(f"{shown(value)} is not a value of a VARIANT: it, or a part of it, {error}") from None

    @staticmethod
    def from_json(text: str) -> Variant:
        """Return the VARIANT of a JSON text, as Java and Spark parse it; raises InvalidRequest for any other text."""
        try:
            return Variant(*encoded(json_value(text)))
        except ValueError as error:
            raise InvalidRequest(f"{text!r:.120} is not a VARIANT: it {error}") from None

    @staticmethod
    def read(stored: Mapping[str, bytes] | Any) -> Variant:
        """Return the VARIANT that a row of ``to_pylist`` (a dict of two binaries) or Spark (a VariantVal) contains."""
        value, metadata = (
            stored.get(n) if isinstance(stored, Mapping) else getattr(stored, n, None) for n in ("value", "metadata")
        )
        if not isinstance(value, bytes | bytearray) or not isinstance(metadata, bytes | bytearray):
            raise InvalidRequest(f"{stored!r:.120} does not have the binaries 'value' and 'metadata' of a VARIANT")
        return Variant(bytes(value), bytes(metadata))

    def to_python(self) -> Any:
        """Return the value; dates and times that Python cannot express are numpy.datetime64.

        Raises InvalidRequest for binaries that are no VARIANT.
        """
        try:
            return Decoder(self.metadata).value(self.value)
        except ValueError as error:
            raise InvalidRequest(f"the binaries are not a VARIANT: the value {error}") from None

    def to_json(self) -> str:
        """Return the value as JSON; dates, times, UUIDs and infinite numbers become texts, binaries base64."""
        return _json(self.to_python())


def _json(value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{_json(name)}:{_json(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_json, value)) + "]"
        case Decimal():
            return format(value, "f")
        case float() if value != value or value in (float("inf"), float("-inf")):
            return json.dumps({"nan": "NaN", "inf": "Infinity"}.get(str(value), "-Infinity"))
        case bytes():
            return json.dumps(base64.b64encode(value).decode())
        case datetime():
            return json.dumps(value.isoformat(" "))
        case date() | time() | np.datetime64() | UUID():
            return json.dumps(str(value))
    return json.dumps(value, ensure_ascii=False)
