"""Envelopes: find the events in ``{"schema": ..., "payload": event}``, the form that Kafka Connect writes.

The schema is the same in most lines. So the beginning of an envelope is parsed once, and the events in all lines that
begin with the same bytes are found together. Lines that are written in another way, for example with spaces, are parsed
one by one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from paimon_lake.sources.files.text.json_records import as_lines, records_with
from paimon_lake.sources.files.text.json_values import Object, Unfit
from paimon_lake.sources.files.text.records import Records

BARE = ""
"""The schema of events without an envelope."""
_MOST_SCHEMAS = 100
"""The largest number of schemas in a block whose lines are found together."""
_BEGIN, _MIDDLE = b'{"schema":', b',"payload":'


@dataclass(frozen=True)
class Unwrapped:
    """The events that were found in a block of records."""

    events: Records
    """The text of each event: of the payload if an envelope was found, otherwise of the whole record."""
    schemas: list[str]
    """The JSON texts of the schemas; the first text is ``BARE``, for events without an envelope."""
    of_event: np.ndarray
    """For each event, the position of its schema in ``schemas``."""
    wrapped: np.ndarray
    """The positions of the records that may have an envelope that was not found."""


def unwrap(records: Records) -> Unwrapped:
    """Find the envelopes of records that begin and end with a brace."""
    schemas, of_event = [BARE], np.zeros(len(records), np.int64)
    starts, ends = records.starts.copy(), records.ends.copy()
    left = _beginning(records, np.arange(len(records)), _BEGIN)
    while len(left) and len(schemas) <= _MOST_SCHEMAS and (schema := _schema(records.raw(int(left[0])))) is not None:
        prefix = _BEGIN + schema + _MIDDLE
        found = _beginning(records, left, prefix)
        starts[found] += len(prefix)
        ends[found] -= 1
        of_event[found] = len(schemas)
        schemas.append(schema.decode())
        left = np.setdiff1d(left, found)
    bare = np.flatnonzero(of_event == 0)
    wrapped = bare[records_with(records.take(bare), ('"payload"',))] if len(bare) else bare
    events = replace(records, starts=starts, ends=ends)
    return Unwrapped(events.compact() if len(schemas) > 1 else events, schemas, of_event, wrapped)


def payload_of(event: Object) -> tuple[str, Object | None]:
    """Return the JSON text of the schema of an event in an envelope, and the event (None for a tombstone).

    An object without a payload is an event without an envelope. Raises Unfit for a payload that is no object.
    """
    if all(name != "payload" for name, _ in event):
        return BARE, event
    payload = event.member("payload")
    if payload is not None and not isinstance(payload, Object):
        raise Unfit("payload", "the payload is not an object")
    try:
        return json.dumps(_plain(event.member("schema"))), payload
    except RecursionError:
        raise Unfit("schema", "the schema is nested too deeply") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Object):
        return {name: _plain(inner) for name, inner in value}
    return [_plain(item) for item in value] if isinstance(value, list) else value if type(value) is str else None


def _beginning(records: Records, positions: np.ndarray, prefix: bytes) -> np.ndarray:
    """Return the positions of the records that begin with these bytes."""
    if not len(positions) or prefix not in records.data:
        return positions[:0]
    starting = pc.starts_with(as_lines(records.take(positions)), pattern=prefix)
    long = records.ends[positions] - records.starts[positions] > len(prefix)
    found: np.ndarray = positions[starting.to_numpy(zero_copy_only=False) & long]
    return found


def _schema(raw: bytes) -> bytes | None:
    """Return the JSON text of a record's schema; None when the payload does not come directly after the schema."""
    text = raw.decode()
    try:
        _, end = json.JSONDecoder().raw_decode(text, len(_BEGIN))
    except (ValueError, RecursionError):
        return None
    schema = text[len(_BEGIN) : end].encode()
    return schema if raw.startswith(_MIDDLE, len(_BEGIN) + len(schema)) else None
