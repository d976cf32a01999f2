"""Kafka sources: topics whose messages are rows of a table or changes of rows, and the rules for a table with such a
source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from paimon_lake.declarations.errors import Mistake, nearest
from paimon_lake.declarations.model import Model, Names, SomeNames, Texts
from paimon_lake.declarations.sources.lookup import Lookup

if TYPE_CHECKING:
    from paimon_lake.declarations.table import TableSpec

CLIENT_SECRETS = frozenset({"sasl.password", "sasl.oauthbearer.client.secret", "ssl.key.password", "ssl.key.pem"})
"""The settings of the client that are secrets."""
CLIENT_PATHS = frozenset({"ssl.ca.location", "ssl.certificate.location", "ssl.key.location"})
"""The settings of the client that are paths of files."""
CLIENT_SETTINGS = (
    CLIENT_SECRETS
    | CLIENT_PATHS
    | {
        "client.id",
        "client.rack",
        "group.id",
        "sasl.mechanism",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.username",
        "security.protocol",
        "ssl.ca.pem",
        "ssl.certificate.pem",
        "ssl.endpoint.identification.algorithm",
    }
)
"""The settings of the client that a declaration may have: none of them changes which messages are read."""
_KEY_FORMATS = ("json", "debezium-json")
_MOST_DIGITS = 7
_SERVER = re.compile(r"(?:[^\s:,/@\[\]]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")
_TOPIC = re.compile(r"[A-Za-z0-9._*-]{1,249}")


def _servers(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not _SERVER.fullmatch(value):
            raise ValueError("must be host:port, or a list of them, such as kafka.example:9092")
    return values


def _topics(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not _TOPIC.fullmatch(value) or value in (".", ".."):
            raise ValueError(f"{value!r:.80} is no name of a topic: at most 249 of A-Z, a-z, 0-9, . _ - and *")
    return values


class KafkaSource(Model):
    """Topics of Kafka; every message is loaded exactly once, in batches."""

    type: Literal["kafka"]
    """Topics of Kafka."""
    servers: Annotated[SomeNames, AfterValidator(_servers)]
    """``host:port`` of one or several brokers; the client asks these brokers for the other brokers."""
    topic: Annotated[SomeNames, AfterValidator(_topics)]
    """The name of a topic, or a list. ``*`` stands for any characters; topics whose names begin with ``__`` must be
    named."""
    format: Literal["json", "debezium-json", "canal-json", "maxwell-json"]
    """The format of a message's value: an object that is a row (``json``), or an event that inserts, updates or deletes
    rows."""
    options: dict[str, Any] = Field(default={})
    """Options of the format, as for files, without ``encoding``: messages are UTF-8."""
    key: Names = ()
    """The members of the message's key that are the ``primary_key``, so that a tombstone deletes the row. In ``json``,
    these members also fill columns that the value of the message does not have."""
    rename: Texts = Field(default={})
    """Maps a member of the messages to a column of the table."""
    add: Mapping[str, Literal["topic", "partition"]] = Field(default={})
    """Columns that the messages do not have; maps a column to its value: ``topic`` (the name) or ``partition`` (the
    number)."""
    client: Annotated[Texts, Field(repr=False)] = Field(default={})
    """Settings of the client for a secure connection, such as ``security.protocol``, ``sasl.mechanism`` and
    ``sasl.username``; secrets such as ``sasl.password`` are written as ``${NAME}``."""
    starts: Literal["earliest", "latest"] = "earliest"
    """Where the first load begins; with ``latest``, existing messages are left out."""
    offsets: Mapping[str, Mapping[str, Annotated[int, Field(ge=0)]]] = Field(default={})
    """Offsets at which the first load begins, as ``{topic: {partition: offset}}``; other partitions begin at
    ``starts``."""
    batch_rows: Annotated[int, Field(ge=1, le=10_000_000)] = 1_000_000
    """The largest number of offsets, and so of messages, of one commit."""
    batch_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 256 << 20
    """The approximate size of the messages of one commit. A task holds only a part of its messages in memory."""
    run_seconds: Annotated[int, Field(ge=1)] = 3600
    """After this time a run begins no further commit; the next run continues."""
    schema_changes: Literal["refuse", "ignore", "apply"] = "refuse"
    """For change events: the action when rows have a column that the table does not have, or a schema states a wider
    type: the load stops (``refuse``), leaves the column out and reports it (``ignore``), or alters the table
    (``apply``)."""
    lookup: tuple[Lookup, ...] = Field(default=(), strict=False)
    """Columns that are taken from other tables of the lake."""

    @property
    def has_events(self) -> bool:
        """Whether the messages are changes of rows."""
        return self.format != "json"

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the table that the message's key has."""
        return tuple(self.rename.get(name, name) for name in self.key)


def check_kafka(spec: TableSpec) -> None:
    """Raise Mistake when the source is Kafka, and the declaration does not fit its messages."""
    source = spec.source
    if not isinstance(source, KafkaSource):
        return
    if not spec.columns:
        raise Mistake("the columns of messages cannot be inferred: list them in the declaration", "columns")
    for key in ("partitions", "mark_done"):
        if key in spec.model_fields_set and getattr(spec, key):
            raise Mistake("is not allowed here: loads of Kafka are divided by offsets, not by partitions", key)
    if spec.write_mode in ("overwrite", "overwrite-partitions"):
        raise Mistake(f"{spec.mode} would replace the rows of one batch by the next: remove mode", "mode")
    if "encoding" in source.options:
        raise Mistake("messages are always UTF-8: remove this option", "source", "options", "encoding")
    for option in ("database", "table"):
        if "*" in str(source.options.get(option, "")):
            raise Mistake("patterns need files of change events: name one", "source", "options", option)
    for name in source.client:
        if name not in CLIENT_SETTINGS:
            raise Mistake(f"is no setting of the client that can be declared{_near(name)}", "source", "client", name)
    if source.key:
        _check_message_key(spec, source)
    _check_offsets(source)


def _near(name: str) -> str:
    return nearest(name, sorted(CLIENT_SETTINGS)) or f": {', '.join(sorted(CLIENT_SETTINGS))}"


def _check_message_key(spec: TableSpec, source: KafkaSource) -> None:
    if source.format not in _KEY_FORMATS:
        raise Mistake(f"is not allowed with {source.format}, whose tombstones delete nothing", "source", "key")
    if not spec.primary_key or sorted(source.key_columns) != sorted(spec.primary_key):
        raise Mistake(
            f"must be the primary_key, {', '.join(spec.primary_key) or 'which the table does not have'}: a tombstone "
            "deletes the row with its key",
            "source",
            "key",
        )
    if spec.order_by or "sequence.field" in spec.options:
        raise Mistake("is not allowed with order_by: a tombstone has no value that orders it", "source", "key")
    if spec.kinds is not None:
        raise Mistake("is not allowed with kinds: either the tombstones delete rows or the kinds do", "source", "key")
    if spec.write_mode == "append":
        raise Mistake("is not allowed with mode append: a tombstone deletes rows", "source", "key")
    for option, allowed in (("merge-engine", "deduplicate"), ("changelog-producer", "none, lookup, full-compaction")):
        given = spec.options.get(option)
        if given is not None and given.strip().lower() not in allowed.split(", "):
            raise Mistake(f"must be {allowed}, because tombstones delete rows", "options", option)


def _check_offsets(source: KafkaSource) -> None:
    for topic, offsets in source.offsets.items():
        for partition in offsets:
            if not (partition.isascii() and partition.isdigit() and len(partition) < _MOST_DIGITS):
                raise Mistake(f"{partition!r:.40} is no number of a partition", "source", "offsets", topic)
