"""Registry: every option of Paimon by its name, and the option that a key stands for (format 18)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from paimon_core.options.file_index_options import FILE_INDEX_PREFIX, is_file_index_option
from paimon_core.options.known import (
    changelogs,
    columns,
    commits,
    compaction,
    expiry,
    features,
    files,
    jobs,
    layout,
    merging,
    other_engines,
    reading,
    schemas,
    tags,
    writing,
)
from paimon_core.options.option import TEXT, Option, carried, obeyed

_OBEYED: Mapping[str, tuple[Option, ...]] = {
    "Buckets, partitions and places of files": layout.OPTIONS,
    "Files": files.OPTIONS,
    "Merging": merging.OPTIONS,
    "Columns": columns.OPTIONS,
    "Changelogs": changelogs.OPTIONS,
    "Writing": writing.OPTIONS,
    "Compaction": compaction.OPTIONS,
    "Commits, manifests and snapshots": commits.OPTIONS,
    "Tags": tags.OPTIONS,
    "Expiry": expiry.OPTIONS,
    "Changes of the schema": schemas.OPTIONS,
    "Reading": reading.OPTIONS,
    "Lookups": (),
    "Flink": jobs.FLINK,
    "Spark": jobs.SPARK,
    "Other features": features.OPTIONS,
}
"""By subject: the options that this library obeys, and ``type``, ``path``, ``primary-key`` and ``partition``."""
_OTHERS = other_engines.by_subject()
SUBJECTS: Mapping[str, tuple[Option, ...]] = {
    subject: (*options, *_OTHERS.get(subject, ())) for subject, options in _OBEYED.items()
}
"""All options, by subject."""
OPTIONS: Mapping[str, Option] = MappingProxyType({o.key: o for options in SUBJECTS.values() for o in options})
"""All options by name. In the name of a column's option, ``*`` stands for the column."""
OLDER_NAMES: Mapping[str, str] = {older: option.key for option in OPTIONS.values() for older in option.older}
"""Maps an older name of an option to its current name."""
KNOWN = frozenset({*OPTIONS, *OLDER_NAMES})
PREFIXES: tuple[Option, ...] = (
    carried("parquet.*", TEXT, "", "properties of the Parquet writer"),
    carried("orc.*", TEXT, "", "properties of the ORC writer"),
    carried("avro.*", TEXT, "", "properties of the Avro writer"),
    carried("csv.*", TEXT, "", "properties of CSV files of format tables"),
    carried("json.*", TEXT, "", "properties of JSON files of format tables"),
    obeyed("file-index.*", TEXT, "", "columns and properties of file indexes: `file-index.<kind>.columns` and others"),
    carried("metadata.iceberg.*", TEXT, "", "other properties for metadata.iceberg.storage"),
    carried("commit.callback.*", TEXT, "", "arguments of the classes of commit.callbacks"),
    carried("tag.callback.*", TEXT, "", "arguments of the classes of tag.callbacks"),
    carried("blob-descriptor.*", TEXT, "", "properties for reading referenced large objects"),
    *(
        carried(f"fields.*.{index}.*", TEXT, "", f"properties of {index}.index.columns")
        for index in ("pk-vector", "pk-btree", "pk-bitmap", "pk-multivalue", "pk-full-text")
    ),
)
"""Options whose names end with ``*``, which stands for any ending; ``*`` after ``fields.`` stands for a column.

These options configure writers of files, or features that another option turns on.
"""
FIELD_PREFIX = "fields."
CUSTOM_PREFIX = "custom."
"""How the keys of users begin: they are stored in the table, and no program of Paimon uses them."""
FACTS = frozenset({"owner", "createdAt", "createdBy", "updatedAt", "updatedBy"})
"""Keys by which catalogs of Paimon say who made a table; ``sys.tables`` shows them."""
_COLUMN_OPTION = re.compile(r"fields\.(.+)\.([a-z-]+)", re.DOTALL)
_FIELD_INDEX = re.compile(r"fields\..*\.pk-(?:vector|btree|bitmap|multivalue|full-text)\..*", re.DOTALL)
_PREFIXES = {option.key.removesuffix("*"): option for option in PREFIXES if not option.key.startswith(FIELD_PREFIX)}
_ANY_PREFIX = tuple(_PREFIXES)


def current_name(key: str) -> str:
    """Return the current name of an option for an older name; other keys are returned unchanged."""
    return OLDER_NAMES.get(key, key)


def column_option(key: str) -> tuple[str, str] | None:
    """Return (column, option) for a key ``fields.<column>.<option>``; None for other keys.

    In the key of a sequence group, ``<column>`` is a list of columns.
    """
    found = _COLUMN_OPTION.fullmatch(key)
    return None if found is None else (found.group(1), found.group(2))


def option_of(key: str) -> Option | None:
    """Return the option for a key, which may be an older name; None for a key that is not an option of Paimon."""
    found = OPTIONS.get(current_name(key))
    if found is not None:
        return found
    if key.startswith(FIELD_PREFIX):
        parts = column_option(key)
        if parts is not None and (of_column := OPTIONS.get(f"fields.*.{parts[1]}")) is not None:
            return of_column
        return next((o for o in PREFIXES if o.key.startswith(FIELD_PREFIX)), None) if _FIELD_INDEX.match(key) else None
    if not key.startswith(_ANY_PREFIX) or (key.startswith(FILE_INDEX_PREFIX) and not is_file_index_option(key)):
        return None
    return next(option for prefix, option in _PREFIXES.items() if key.startswith(prefix))


def is_for_new_tables(key: str) -> bool:
    """Whether a new table may have this key: an option of Paimon, a key of users, or one of ``FACTS``."""
    return option_of(key) is not None or key in FACTS or (key.startswith(CUSTOM_PREFIX) and key != CUSTOM_PREFIX)
