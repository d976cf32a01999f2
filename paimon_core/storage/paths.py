"""TablePaths: the path of every file of a table (format 1). No other module builds paths.

File names come from metadata, which is untrusted: a name that is not a single path component is refused, so that no
read, write or delete can reach a file outside the table's directory.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.limits import COMPONENT_BYTES, NAME_BYTES, PARTITION_PATH_BYTES, check_limit
from paimon_core.storage.external_roots import NO_ROOTS, ExternalRoots

DATABASE_SUFFIX = ".db"
POSTPONE_BUCKET = -2
_NAME = re.compile(r"[^/\\\x00-\x1f]+")
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"#%\'*/:=?\\{}\[\]^]')


def component(name: str) -> str:
    """Return ``name`` when it is a single plain path component; raises CorruptTable otherwise."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (".", ".."):
        raise CorruptTable(f"file name {name!r} in metadata is not a plain name", name=name)
    return name


def is_plain(text: str) -> bool:
    """Whether a text, of one or more names, has no character that a path component must not have."""
    return _NAME.fullmatch(text) is not None


def identifier(name: str, what: str) -> str:
    """Return ``name`` when it is allowed in a path; raises InvalidRequest otherwise.

    ``what`` is the kind of object that has the name, such as ``database``, ``table`` or ``tag``.
    """
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
    if len(name.encode()) > NAME_BYTES:
        raise InvalidRequest(f"{what} name {name!r:.40} has {len(name.encode())} bytes, the limit is {NAME_BYTES}")
    return name


def escape(value: str) -> str:
    """Percent-escape a partition key or value (format 1.2)."""
    return _ESCAPED.sub(lambda m: f"%{ord(m.group()):02X}", value)


def partition_path(keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Return ``k1=v1/k2=v2`` for values that are already formatted; "" without partition keys.

    Raises InvalidRequest for names that are too long for file systems.
    """
    parts = [f"{escape(k)}={escape(v)}" for k, v in zip(keys, values, strict=True)]
    for part in parts:
        if len(part.encode()) > COMPONENT_BYTES:
            raise InvalidRequest(
                f"partition {part!r:.60} has a directory name of {len(part.encode())} bytes, "
                f"the limit is {COMPONENT_BYTES}"
            )
    path = "/".join(parts)
    check_limit(f"the path of partition {path!r:.60}", len(path.encode()), PARTITION_PATH_BYTES, "bytes")
    return path


def bucket_directory(bucket: int) -> str:
    """Return ``bucket-3``; the postpone bucket is called ``bucket-postpone`` (format 1.3)."""
    return "bucket-postpone" if bucket == POSTPONE_BUCKET else f"bucket-{bucket}"


def database_path(warehouse: str, database: str) -> str:
    """Return the directory of a database."""
    return f"{warehouse}/{identifier(database, 'database')}{DATABASE_SUFFIX}"


def group_path(warehouse: str, group: str) -> str:
    """Return the directory with the records of a group of tables."""
    return f"{warehouse}/group/{identifier(group, 'group')}"


def table_path(warehouse: str, database: str, table: str) -> str:
    """Return the root directory of a table."""
    return f"{database_path(warehouse, database)}/{identifier(table, 'table')}"


def stem_of(name: str) -> str:
    """Return the part of a file name before its first dot, which ``FileNames.again`` uses in the new name."""
    return name.partition(".")[0]


@dataclass(slots=True)
class FileNames:
    """Creates new file names: a random UUID and a counter, so that no two writers use the same name (format 1.1)."""

    token: str = field(default_factory=lambda: str(uuid.uuid4()))
    count: int = 0
    has_prefix: bool = False
    """Whether the token contains the prefix of the names."""

    @staticmethod
    def again(name: str) -> FileNames:
        """Return names for files that contain the rows of the file ``name``.

        The new names start with the part of ``name`` before its first dot, followed by ``-``.
        """
        return FileNames(f"{stem_of(name)}-{uuid.uuid4()}", has_prefix=True)

    def next(self, prefix: str, suffix: str = "") -> str:
        """Return the next name, ``<prefix><uuid>-<n><suffix>``."""
        name = f"{'' if self.has_prefix else prefix}{self.token}-{self.count}{suffix}"
        self.count += 1
        return name


MAIN = "main"
"""The branch that every table has (format 15.2)."""


@dataclass(frozen=True, slots=True)
class TablePaths:
    """The paths of one table and one of its branches.

    Each branch has its own snapshots, schemas, tags, changelogs and consumers. All branches share the directories of
    data files, manifests, indexes and statistics.
    """

    root: str
    branch: str = MAIN
    data_directory: str = ""
    """The directory of the data files below the root (option data-file.path-directory); "": the root itself."""
    external: ExternalRoots = NO_ROOTS
    """The directories that may contain data files outside of the table."""

    @property
    def data_root(self) -> str:
        """Return the directory of the partitions and buckets."""
        return f"{self.root}/{self.data_directory}" if self.data_directory else self.root

    @property
    def home(self) -> str:
        """Return the directory of the files that belong to this branch only; for main, this is the table's root."""
        return self.root if self.branch == MAIN else self.branch_home(self.branch)

    def branch_home(self, branch: str) -> str:
        """Return the directory of a branch other than main."""
        return f"{self.branch_directory}/branch-{identifier(branch, 'branch')}"

    def branch_mark(self, branch: str) -> str:
        """Return the file that marks a branch whose creation or deletion is not finished."""
        return f"{self.branch_home(branch)}/UNFINISHED"

    @property
    def snapshot_directory(self) -> str:
        """Return the directory of snapshots and their hints."""
        return f"{self.home}/snapshot"

    @property
    def schema_directory(self) -> str:
        """Return the directory of schemas."""
        return f"{self.home}/schema"

    @property
    def tag_directory(self) -> str:
        """Return the directory of tags."""
        return f"{self.home}/tag"

    @property
    def manifest_directory(self) -> str:
        """Return the directory of manifests, manifest lists and index manifests."""
        return f"{self.root}/manifest"

    @property
    def branch_directory(self) -> str:
        """Return the directory of branches."""
        return f"{self.root}/branch"

    @property
    def changelog_directory(self) -> str:
        """Return the directory of the changelogs that are kept after their snapshots have expired."""
        return f"{self.home}/changelog"

    @property
    def consumer_directory(self) -> str:
        """Return the directory in which streaming readers record their progress."""
        return f"{self.home}/consumer"

    @property
    def quarantine_directory(self) -> str:
        """Return the directory of removed files, which can be restored or purged."""
        return f"{self.root}/quarantine"

    def quarantine(self, plan_id: str) -> str:
        """Return the quarantine directory of the files that one plan removed."""
        return f"{self.quarantine_directory}/{component(plan_id)}"

    def quarantine_record(self, plan_id: str) -> str:
        """Return the file that records the original path of each file that the plan removed."""
        return f"{self.quarantine(plan_id)}/record.json"

    def quarantined(self, plan_id: str, relative: str) -> str:
        """Return the path in quarantine of the file that was at ``below(relative)``."""
        return self.quarantine(plan_id) + self.below(relative).removeprefix(self.root)

    def below(self, relative: str) -> str:
        """Return the path of ``relative`` below the root.

        Raises CorruptTable for a path outside of the root or in the quarantine directory.
        """
        parts = [component(part) for part in relative.split("/")]
        if parts[0] == "quarantine":
            raise CorruptTable(f"path {relative!r} is in the quarantine directory", path=relative)
        return "/".join((self.root, *parts))

    def relative(self, path: str) -> str:
        """Return ``path`` relative to the root, the inverse of ``below``; raises CorruptTable for a path elsewhere."""
        if not path.startswith(f"{self.root}/"):
            raise CorruptTable(f"path {path!r} is not below {self.root}", path=path)
        relative = path.removeprefix(f"{self.root}/")
        self.below(relative)
        return relative

    @property
    def index_directory(self) -> str:
        """Return the directory of table index files."""
        return f"{self.root}/index"

    @property
    def statistics_directory(self) -> str:
        """Return the directory of statistics files."""
        return f"{self.root}/statistics"

    def snapshot(self, snapshot_id: int) -> str:
        """Return the file of a snapshot."""
        return f"{self.snapshot_directory}/snapshot-{int(snapshot_id)}"

    def hint(self, name: str) -> str:
        """Return the hint file ``LATEST`` or ``EARLIEST`` of the snapshots."""
        return f"{self.snapshot_directory}/{component(name)}"

    def schema(self, schema_id: int) -> str:
        """Return the file of a schema."""
        return f"{self.schema_directory}/schema-{int(schema_id)}"

    def tag(self, name: str) -> str:
        """Return the file of a tag."""
        return f"{self.tag_directory}/tag-{identifier(name, 'tag')}"

    def tag_success(self, name: str) -> str:
        """Return the success file of a tag, which other tools wait for (option ``tag.create-success-file``)."""
        return f"{self.tag_directory}/tag-success-file/{identifier(name, 'tag')}_SUCCESS"

    def changelog(self, snapshot_id: int) -> str:
        """Return the file of a changelog that is kept after its snapshot has expired."""
        return f"{self.changelog_directory}/changelog-{int(snapshot_id)}"

    def changelog_hint(self, name: str) -> str:
        """Return the hint file ``LATEST`` or ``EARLIEST`` of the lasting changelogs."""
        return f"{self.changelog_directory}/{component(name)}"

    def consumer(self, name: str) -> str:
        """Return the file of a streaming reader's progress."""
        return f"{self.consumer_directory}/consumer-{identifier(name, 'consumer')}"

    def manifest(self, name: str) -> str:
        """Return the file of a manifest, manifest list or index manifest."""
        return f"{self.manifest_directory}/{component(name)}"

    def index(self, name: str) -> str:
        """Return the path of a table index file."""
        return f"{self.root}/index/{component(name)}"

    def statistics(self, name: str) -> str:
        """Return the path of a statistics file."""
        return f"{self.root}/statistics/{component(name)}"

    def bucket(self, partition: str, bucket: int) -> str:
        """Return the directory of a bucket; ``partition`` comes from ``partition_path``."""
        return f"{self.root}/{self.relative_bucket(partition, bucket)}"

    def relative_bucket(self, partition: str, bucket: int) -> str:
        """Return the directory of a bucket, relative to the root or to an external path."""
        return "/".join(filter(None, (self.data_directory, partition, bucket_directory(bucket))))

    def data_file(self, partition: str, bucket: int, name: str) -> str:
        """Return the path of a data file in the table, or of an extra file that belongs to a data file."""
        return f"{self.bucket(partition, bucket)}/{component(name)}"

    def external_file(self, external: str, data_file: str, name: str) -> str:
        """Return the path of the file ``name`` in the directory of ``data_file``, whose recorded path is ``external``.

        Raises InvalidRequest for a file that is not below the allowed roots.
        """
        return self.external.resolve(external, component(data_file)).rpartition("/")[0] + "/" + component(name)

    def success_file(self, partition: str) -> str:
        """Return the file that marks a partition as complete; ``partition`` comes from ``partition_path``."""
        return f"{self.root}/{partition}/_SUCCESS"
