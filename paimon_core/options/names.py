"""Option names: all options of Paimon, their older names, and how this library uses each option (format 18)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from paimon_core.options.field_options import is_field_option
from paimon_core.options.file_index_options import is_file_index_option
from paimon_core.options.ignored_options import IGNORED, IGNORED_PREFIXES
from paimon_core.options.supported_options import SUPPORTED
from paimon_core.options.unsupported_options import UNSUPPORTED

OLDER_NAMES = {
    "first-row.ignore-delete": "ignore-delete",
    "deduplicate.ignore-delete": "ignore-delete",
    "partial-update.ignore-delete": "ignore-delete",
    "write.compaction-skip": "write-only",
    "snapshot.expire.clean-empty-directories": "snapshot.clean-empty-directories",
    "changelog-producer.lookup-wait": "lookup-wait",
    "log.scan": "scan.mode",
    "log.scan.timestamp-millis": "scan.timestamp-millis",
    "log.scan.remove-normalize": "scan.remove-normalize",
    "lookup.dynamic-partition": "scan.partitions",
    "orc.write.batch-size": "write.batch-size",
    "delete-file.thread-num": "file-operation.thread-num",
    "sink.clustering.by-columns": "clustering.columns",
    "sink.clustering.strategy": "clustering.strategy",
    "streaming-read.shuffle-bucket-with-partition": "read.shuffle-bucket-with-partition",
    "changelog.precommit-compact": "precommit-compact",
    "parquet.variant.shreddingSchema": "variant.shreddingSchema",
    "blob.stored-descriptor-fields": "blob-descriptor-field",
}
"""Older name to current name. An older name is used where the current name is absent; of several, the first here."""
TYPE = "type"
"""The option for the type of a table, which ``TableOptions.parse`` checks before all other options."""
KNOWN = frozenset({*SUPPORTED, *UNSUPPORTED, *IGNORED, *OLDER_NAMES, TYPE})


class Use(StrEnum):
    """How this library uses an option of a table."""

    OBEYED = "obeyed"
    """It changes what this library does."""
    IGNORED = "ignored"
    """It is for readers and writers of other engines."""
    FOREIGN = "foreign"
    """It is not an option of Paimon."""
    IDLE = "idle"
    """It has no effect, because its value leaves its feature off; another value would be refused."""
    STOPS_WRITES = "stops writes"
    """It is not supported and writers must obey it: the table can be read but not written."""


def current_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options under their current names; an older name is ignored where the current one is set too."""
    found = {key: text for key, text in options.items() if key not in OLDER_NAMES}
    for older, key in OLDER_NAMES.items():
        if older in options:
            found.setdefault(key, options[older])
    return found


def is_ignored(key: str) -> bool:
    """Whether the key is an ignored option of Paimon (``ignored_options``)."""
    return key in IGNORED or (key not in SUPPORTED and key not in UNSUPPORTED and key.startswith(IGNORED_PREFIXES))


def is_known(key: str) -> bool:
    """Whether the key is an option of Paimon."""
    return key in KNOWN or is_field_option(key) or is_file_index_option(key) or key.startswith(IGNORED_PREFIXES)
