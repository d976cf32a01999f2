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
    if (
        not plain
        or "$" in name
        or (what not in ("tag", "branch") and "." in name)
        or any("\ud800" <= c <= "\udfff" for c in name)
    ):
        raise InvalidRequest(
            f"{what} name {name!r:.80} must be text that is not blank and has no '/', '\\', '$', control character or "
            "dot (tags and branches: at the start)",
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


def group_path(warehouse: str, group: str) -> str:
    """The directory of a table group's records."""
    return f"{warehouse}/group/{identifier(group, 'group')}"


def table_path(warehouse: str, database: str, table: str) -> str:
    """The root directory of a table."""
    return f"{database_path(warehouse, database)}/{identifier(table, 'table')}"


def stem_of(name: str) -> str:
    """A file's name without what follows its first dot, as ``FileNames.again`` puts it into another name."""
    return name.partition(".")[0]


@dataclass(slots=True)
class FileNames:
    """Fresh names: one random uuid and a counter, so that no two writers ever meet (format 1.1)."""

    token: str = field(default_factory=lambda: str(uuid.uuid4()))
    count: int = 0

    @staticmethod
    def again(name: str) -> FileNames:
        """For the rows of another file, written again: the new names begin with its stem, then ``-``."""
        return FileNames(f"{stem_of(name).removeprefix('data-')}-{uuid.uuid4()}")

    def next(self, prefix: str, suffix: str = "") -> str:
        """``<prefix><uuid>-<n><suffix>``."""
        name = f"{prefix}{self.token}-{self.count}{suffix}"
        self.count += 1
        return name


MAIN = "main"
"""The branch that every table has (format 15.2)."""


@dataclass(frozen=True, slots=True)
class TablePaths:
    """Paths below one table's root, as one of its branches sees them.

    Snapshots, schemas, tags, changelogs and consumers are a branch's own; data files, manifests, indexes and
    statistics lie in one place for all branches.
    """

    root: str
    branch: str = MAIN

    @property
    def home(self) -> str:
        """The directory of what is the branch's own; the root for main."""
        return self.root if self.branch == MAIN else self.branch_home(self.branch)

    def branch_home(self, branch: str) -> str:
        """The directory of a branch other than main."""
        return f"{self.branch_directory}/branch-{identifier(branch, 'branch')}"

    def branch_mark(self, branch: str) -> str:
        """The file that says a branch is half made or half deleted."""
        return f"{self.branch_home(branch)}/UNFINISHED"

    @property
    def snapshot_directory(self) -> str:
        """Where snapshots and their hints lie."""
        return f"{self.home}/snapshot"

    @property
    def schema_directory(self) -> str:
        """Where schemas lie."""
        return f"{self.home}/schema"

    @property
    def tag_directory(self) -> str:
        """Where tags lie."""
        return f"{self.home}/tag"

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
        return f"{self.home}/changelog"

    @property
    def consumer_directory(self) -> str:
        """Where streaming readers note their progress."""
        return f"{self.home}/consumer"

    @property
    def quarantine_directory(self) -> str:
        """Where removed files wait for their deletion or return."""
        return f"{self.root}/quarantine"

    def quarantine(self, plan_id: str) -> str:
        """The directory of what one plan removed."""
        return f"{self.quarantine_directory}/{component(plan_id)}"

    def quarantine_record(self, plan_id: str) -> str:
        """What came from where."""
        return f"{self.quarantine(plan_id)}/record.json"

    def quarantined(self, plan_id: str, relative: str) -> str:
        """The place in a quarantine of the file that was ``below(relative)``."""
        return self.quarantine(plan_id) + self.below(relative).removeprefix(self.root)

    def below(self, relative: str) -> str:
        """The file of a path relative to the root; raises CorruptTable for one that leaves it or lies in quarantine."""
        parts = [component(part) for part in relative.split("/")]
        if parts[0] == "quarantine":
            raise CorruptTable(f"path {relative!r} lies in quarantine", path=relative)
        return "/".join((self.root, *parts))

    def relative(self, path: str) -> str:
        """The inverse of ``below``; raises CorruptTable for a path elsewhere."""
        if not path.startswith(f"{self.root}/"):
            raise CorruptTable(f"path {path!r} does not lie below {self.root}", path=path)
        relative = path.removeprefix(f"{self.root}/")
        self.below(relative)
        return relative

    @property
    def index_directory(self) -> str:
        """Where table index files lie."""
        return f"{self.root}/index"

    @property
    def statistics_directory(self) -> str:
        """Where statistics files lie."""
        return f"{self.root}/statistics"

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

    def tag_success(self, name: str) -> str:
        """The success file of a tag."""
        return f"{self.tag_directory}/tag-success-file/{identifier(name, 'tag')}_SUCCESS"

    def changelog(self, snapshot_id: int) -> str:
        """The file of a changelog that outlives its snapshot."""
        return f"{self.changelog_directory}/changelog-{int(snapshot_id)}"

    def changelog_hint(self, name: str) -> str:
        """``LATEST`` or ``EARLIEST`` of those changelogs."""
        return f"{self.changelog_directory}/{component(name)}"

    def consumer(self, name: str) -> str:
        """The file of a streaming reader's progress."""
        return f"{self.consumer_directory}/consumer-{identifier(name, 'consumer')}"

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

    def success_file(self, partition: str) -> str:
        """The file that marks a partition done; ``partition`` from ``partition_path``."""
        return f"{self.root}/{partition}/_SUCCESS"
