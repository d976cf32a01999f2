"""Message rows: the messages of a partition as rows of a table and rejects, by the readers of JSON lines and events.

A message that does not fit is a reject whose ``file`` is the partition, such as ``orders[3]``, and whose ``line`` is
the offset. A message without value is a tombstone. If the source declares ``key``, it deletes the row with the
message's key; otherwise it is skipped and counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import STRING_ROOTS
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.sources.files.columns import RowRules, exact_type, required_columns, zero_of
from paimon_lake.sources.files.events.dialects import DELETE, INSERT, TOMBSTONE
from paimon_lake.sources.files.events.event_rows import EventReader, TableEmptied
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.listing import SourceFile
from paimon_lake.sources.files.rejects import Parsed, cut
from paimon_lake.sources.files.row_builder import one_chunk
from paimon_lake.sources.files.splits import FileSplit
from paimon_lake.sources.files.text.blocks import TextFile
from paimon_lake.sources.files.text.json_records import has_braces
from paimon_lake.sources.files.text.json_rows import JsonReader
from paimon_lake.sources.files.text.lost_records import Lost
from paimon_lake.sources.files.text.records import Records, count_byte, invalid_utf8, is_valid_utf8, joined
from paimon_lake.sources.kafka.message_keys import key_members, members_text
from paimon_lake.sources.kafka.messages import RELOAD, Messages
from paimon_lake.sources.kafka.position import Place, place_text

_OFFSET = "\ue000offset"
"""A member with the offset, which is added when rows and tombstones are read separately, to put them in one order."""


class MessageRows:
    """Reads the messages of one partition, block by block."""

    def __init__(
        self, place: Place, form: FileFormat, schema: pa.Schema, rules: RowRules, key: Sequence[str] = ()
    ) -> None:
        """``schema`` and ``rules`` are as for files; ``key``: the members of the message's key, () to skip
        tombstones."""
        self._place, self._name, self._form, self._schema, self._key = place, place_text(place), form, schema, key
        file = TextFile(FileSplit(SourceFile(self._name, 0, ""), 0, 0), form, {})
        self._required = required_columns(schema, rules)
        self._texts = {name for name in key if exact_type(schema.field(name)).root in STRING_ROOTS}
        self._events = EventReader(file, schema, self._required, rules) if form.kind != "jsonl" else None
        offset = pa.field(_OFFSET, pa.int64())
        self._rows = JsonReader(file, pa.schema([*schema, offset]) if key else schema, self._required)
        self._keys = JsonReader(file, pa.schema([*(schema.field(name) for name in key), offset]), set(key))

    def parse(self, messages: Messages) -> Parsed:
        """Return the rows and rejects of some messages.

        With ``key``, and with a format of events, the rows have their kinds in the column ``KIND``. Raises
        PipelineError for an event that empties the table, for events of several tables, and for rows with columns that
        the table does not have, unless they are ignored.
        """
        try:
            parsed = self._parsed(messages)
        except TableEmptied as found:
            raise PipelineError(
                f"{self._where}, offset {found.line}: the event empties the table, which a load cannot do: set "
                f"source.offsets to the offset after it, delete the rows of the table, and {RELOAD}"
            ) from None
        except PipelineError as error:
            text = str(error).replace(f"file {self._name}", self._where).replace(f", {_OFFSET}", "")
            raise PipelineError(text) from None
        if self._key and len(parsed.rejects):
            places = np.searchsorted(messages.offsets, np.asarray(parsed.rejects["line"])).tolist()
            texts = [messages.keys[at] if messages.values[at] is None else messages.values[at] for at in places]
            raws = [cut((text or b"").decode("utf-8", "backslashreplace")) for text in texts]
            at = parsed.rejects.schema.get_field_index("raw")
            return replace(parsed, rejects=parsed.rejects.set_column(at, "raw", pa.array(raws, pa.string())))
        return parsed

    @property
    def _where(self) -> str:
        return f"topic {self._place[0]}, partition {self._place[1]}"

    def _parsed(self, messages: Messages) -> Parsed:
        values, lost = messages.values, list[Lost]()
        has_tombstones = None in values or b"null" in values
        if self._events is not None:
            if has_tombstones:
                values = self._with_deletes(messages, lost)
            return self._events.parse(*_records(values, messages.offsets, lost))
        if self._key:
            return self._keyed(messages)
        if not has_tombstones:
            return self._rows.parse(*_records(values, messages.offsets, lost))
        kept = [at for at, value in enumerate(values) if value is not None and value != b"null"]
        parsed = self._rows.parse(*_records([values[at] for at in kept], messages.offsets[kept], lost))
        return replace(parsed, skipped={TOMBSTONE: len(values) - len(kept)})

    def _with_deletes(self, messages: Messages, lost: list[Lost]) -> list[bytes | None]:
        """Return the values; a tombstone becomes an event that deletes the row with its key, or is skipped."""
        if not self._key:
            return [b"null" if value is None else value for value in messages.values]
        source = json.dumps({"db": self._form.database, **_table_names(self._form.table)})
        values: list[bytes | None] = []
        for at, value in enumerate(messages.values):
            if value is None or value == b"null":
                members = self._members(messages, at, lost)
                value = members and f'{{"op":"d","before":{members},"source":{source}}}'.encode()  # type: ignore[assignment]
            values.append(value)
        return values

    def _members(self, messages: Messages, at: int, lost: list[Lost]) -> str | None:
        """Return the key of a tombstone as JSON; when the key does not fit, add the message to ``lost`` and return
        None.
        """
        found = key_members(messages.keys[at], self._key, self._texts)
        if found is None:
            wanted = f"the key of the tombstone does not have {', '.join(self._key)}"
            lost.append(Lost(int(messages.offsets[at]), None, wanted, messages.keys[at] or b""))
            return None
        return members_text(found)

    def _keyed(self, messages: Messages) -> Parsed:
        """Return rows of JSON values, and deletions of tombstones, in the order of their offsets."""
        lost, keys_lost = list[Lost](), list[Lost]()
        values, rows_at, keys, keys_at = list[bytes | None](), list[int](), list[bytes | None](), list[int]()
        for at, (value, offset) in enumerate(zip(messages.values, messages.offsets.tolist(), strict=True)):
            if value is None or value == b"null":
                if (members := self._members(messages, at, keys_lost)) is not None:
                    keys.append(_with_offset(members.encode(), offset))
                    keys_at.append(offset)
                continue
            values.append(_with_offset(self._with_key(value, messages.keys[at]), offset))
            rows_at.append(offset)
        rows = self._rows.parse(*_records(values, np.array(rows_at, np.int64), lost))
        deletes = self._keys.parse(*_records(keys, np.array(keys_at, np.int64), keys_lost))
        return replace(
            rows,
            rows=self._in_order(rows.rows, deletes.rows),
            rejects=pa.concat_batches([rows.rejects, deletes.rejects]),
            read=rows.read + deletes.read,
        )

    def _with_key(self, value: bytes, key: bytes | None) -> bytes:
        """Return a value with the columns of the message's key that the value itself does not have."""
        if all(b'"' + name.encode() + b'"' in value for name in self._key):
            return value
        try:
            own = json.loads(value)
        except (ValueError, RecursionError):
            return value
        found = key_members(key, self._key, self._texts)
        if found is None or not isinstance(own, dict):
            return value
        members = {name: one for name, one in found.items() if name not in own}
        return _joined(members_text(members).encode(), value) if members else value

    def _in_order(self, rows: pa.RecordBatch, deletes: pa.RecordBatch) -> pa.RecordBatch:
        count, names = len(deletes), set(deletes.schema.names)
        columns = []
        for field in self._schema:
            if field.name in names:
                gone = deletes[field.name]
            else:
                zero = zero_of(exact_type(field)) if field.name in self._required else None
                gone = pa.nulls(count, field.type) if zero is None else pa.repeat(zero, count).cast(field.type)
            columns.append(pa.concat_arrays([rows[field.name], gone]))
        kinds = pa.concat_arrays([pa.repeat(INSERT, len(rows)), pa.repeat(DELETE, count)])
        offsets = pa.concat_arrays([rows[_OFFSET], deletes[_OFFSET]])
        batch = pa.RecordBatch.from_arrays(
            [*map(one_chunk, columns), kinds], schema=pa.schema([*self._schema, (KIND, pa.string())])
        )
        return batch.take(pc.array_sort_indices(offsets)) if count else batch


def _records(
    values: Sequence[bytes | None], offsets: np.ndarray, lost: list[Lost]
) -> tuple[Records, list[Lost], Callable[[], int]]:
    """Return the values that may be objects as records, whose line numbers are offsets; add all other values to
    ``lost``.
    """
    if None in values:
        kept = [at for at, value in enumerate(values) if value is not None]
        values, offsets = [values[at] for at in kept], offsets[kept]
    records = joined(list(values), offsets)  # type: ignore[arg-type]
    if count_byte(records.data, b"\n") > len(records):
        records = _on_one_line(records, lost)
    if not is_valid_utf8(records.data):
        records = _without(records, invalid_utf8(records), "not valid utf-8", lost)
    if not has_braces(records).all():
        blank = [at for at in np.flatnonzero(~has_braces(records)).tolist() if not records.raw(at).strip(b" \t\r")]
        records = _without(records, blank, "an empty message", lost)
    return records, lost, lambda: -1


def _on_one_line(records: Records, lost: list[Lost]) -> Records:
    """Return the records with spaces for line ends, which JSON has only between values."""
    raws, broken = [], []
    for at in range(len(records)):
        raw = records.raw(at)
        if b"\n" in raw:
            try:
                json.loads(raw)
            except (ValueError, RecursionError):
                broken.append(at)
        raws.append(raw)
    records = _without(records, broken, "not valid JSON", lost)
    gone = set(broken)
    return joined([raw.replace(b"\n", b" ") for at, raw in enumerate(raws) if at not in gone], records.lines)


def _without(records: Records, positions: Sequence[int], reason: str, lost: list[Lost]) -> Records:
    lost += [Lost(int(records.lines[at]), None, reason, records.raw(at)) for at in positions]
    return records.take(np.delete(np.arange(len(records)), positions)).compact() if len(positions) else records


def _with_offset(value: bytes, offset: int) -> bytes:
    return _joined(b'{"%b":%d}' % (_OFFSET.encode(), offset), value)


def _joined(members: bytes, value: bytes) -> bytes:
    """Return an object with additional members before its own members; a value that is no object is returned
    unchanged.
    """
    inner = value.strip()
    if not (inner.startswith(b"{") and inner.endswith(b"}")):
        return value
    separator = b"" if inner[1:].lstrip().startswith(b"}") else b","
    return members[:-1] + separator + inner[1:]


def _table_names(table: str) -> dict[str, str]:
    schema, _, name = table.rpartition(".")
    return {"schema": schema, "table": name}
