"""TablePaths: the place of every file of a table (format 1). The only module that builds a path.

File names come from metadata, which is untrusted: a name that is not a plain component is refused, so that no read,
write or delete leaves the table's directory.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable, InvalidRequest

DATABASE_SUFFIX = ".db"
POSTPONE_BUCKET = -2
LONGEST_COMPONENT = 255
"""Bytes of one path component that file systems take."""
LONGEST_NAME = 200
"""Bytes of a name, which prefixes and suffixes are added to."""
_NAME = re.compile(r"[^/\\\x00-\x1f]+")
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"#%\'*/:=?\\{}\[\]^]')


def component(name: str) -> str:
    """``name`` itself when it is one plain path component; raises CorruptTable otherwise."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (".", ".."):
        raise CorruptTable(f"file name {name!r} in metadata is not a plain name", name=name)
    return name


def identifier(name: str, what: str) -> str:
    """A database, table or tag name fit for a path; raises InvalidRequest naming the rule."""
    plain = isinstance(name, str) and _NAME.fullmatch(name) and name.strip() and not name.startswith(".")
    if not plain or "$" in name or (what != "tag" and "." in name) or any("\ud800" <= c <= "\udfff" for c in name):
        raise InvalidRequest(
            f"{what} name {name!r} must be text that is not blank and has no '/', '\\', '$', control character or dot "
            "(tags: at the start)",
            name=name,
        )
    if len(name.encode()) > LONGEST_NAME:
        raise InvalidRequest(f"{what} name {name!r:.40} is {len(name.encode())} bytes long, {LONGEST_NAME} is the most")
    return name


def escape(value: str) -> str:
    """Percent-escape a partition key or value (format 1.2)."""
    return _ESCAPED.sub(lambda m: f"%{ord(m.group()):02X}", value)


def partition_path(keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    """``k1=v1/k2=v2`` of already formatted values; "" without partition keys."""
    parts = [f"{escape(k)}={escape(v)}" for k, v in zip(keys, values, strict=True)]
    for part in parts:
        if len(part.encode()) > LONGEST_COMPONENT:
            raise InvalidRequest(
                f"partition {part!r:.60} has a directory name of {len(part.encode())} bytes, "
                f"{LONGEST_COMPONENT} is the most"
            )
    return "/".join(parts)


def bucket_directory(bucket: int) -> str:
    """``bucket-3``; the postpone bucket has a name of its own (format 1.3)."""
    return "bucket-postpone" if bucket == POSTPONE_BUCKET else f"bucket-{bucket}"


def database_path(warehouse: str, database: str) -> str:
    """The directory of a database."""
    return f"{warehouse}/{identifier(database, 'database')}{DATABASE_SUFFIX}"


def table_path(warehouse: str, database: str, table: str) -> str:
    """The root directory of a table."""
    return f"{database_path(warehouse, database)}/{identifier(table, 'table')}"


@dataclass(slots=True)
class FileNames:
    """Fresh names: one random uuid and a counter, so that no two writers ever meet (format 1.1)."""

    token: str = field(default_factory=lambda: str(uuid.uuid4()))
    count: int = 0

    def next(self, prefix: str, suffix: str = "") -> str:
        """``<prefix><uuid>-<n><suffix>``."""
        name = f"{prefix}{self.token}-{self.count}{suffix}"
        self.count += 1
        return name


@dataclass(frozen=True, slots=True)
class TablePaths:
    """Paths below one table's root."""

    root: str

    @property
    def snapshot_directory(self) -> str:
        """Where snapshots and their hints lie."""
        return f"{self.root}/snapshot"

    @property
    def schema_directory(self) -> str:
        """Where schemas lie."""
        return f"{self.root}/schema"

    @property
    def tag_directory(self) -> str:
        """Where tags lie."""
        return f"{self.root}/tag"

    @property
    def manifest_directory(self) -> str:
        """Where manifests, manifest lists and index manifests lie."""
        return f"{self.root}/manifest"

    @property
    def branch_directory(self) -> str:
        """Where branches lie."""
        return f"{self.root}/branch"

    @property
    def changelog_directory(self) -> str:
        """Where the changelogs lie that outlive their snapshots."""
        return f"{self.root}/changelog"

    @property
    def consumer_directory(self) -> str:
        """Where streaming readers note their progress."""
        return f"{self.root}/consumer"

    def snapshot(self, snapshot_id: int) -> str:
        """The file of a snapshot."""
        return f"{self.snapshot_directory}/snapshot-{int(snapshot_id)}"

    def hint(self, name: str) -> str:
        """``LATEST`` or ``EARLIEST``."""
        return f"{self.snapshot_directory}/{component(name)}"

    def schema(self, schema_id: int) -> str:
        """The file of a schema."""
        return f"{self.schema_directory}/schema-{int(schema_id)}"

    def tag(self, name: str) -> str:
        """The file of a tag."""
        return f"{self.tag_directory}/tag-{identifier(name, 'tag')}"

    def manifest(self, name: str) -> str:
        """A manifest, manifest list or index manifest."""
        return f"{self.manifest_directory}/{component(name)}"

    def index(self, name: str) -> str:
        """A table index file."""
        return f"{self.root}/index/{component(name)}"

    def statistics(self, name: str) -> str:
        """A statistics file."""
        return f"{self.root}/statistics/{component(name)}"

    def bucket(self, partition: str, bucket: int) -> str:
        """The directory of a bucket; ``partition`` from ``partition_path``."""
        middle = f"{partition}/" if partition else ""
        return f"{self.root}/{middle}{bucket_directory(bucket)}"

    def data_file(self, partition: str, bucket: int, name: str) -> str:
        """A data file, or an extra file beside one."""
        return f"{self.bucket(partition, bucket)}/{component(name)}"
