"""A change beside a drop raises TableNotFound, at whatever call it meets the drop, and does not change the next table.

Found in this project: commits, tags and branches were created in the table that had taken the name meanwhile.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from paimon_core import col
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.errors import TableNotFound
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.table.table import Table
from tests.support.fake_tables import FAST
from tests.support.faulty_storage import FaultyStorage
from tests.support.outcomes import Outcome

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
NOTHING, A_DAY = datetime.timedelta(0), datetime.timedelta(days=1)
STRIDE = 9
"""The fast tests drop the table at every ninth call; each operation starts at another call."""
HINTS = ("snapshot/LATEST", "snapshot/EARLIEST", "changelog/LATEST", "changelog/EARLIEST")
_numbers = itertools.count()

OPERATIONS: dict[str, Callable[[Table], Any]] = {
    "write": lambda t: t.write(rows(9)),
    "delete": lambda t: t.delete(col("k") == 1),
    "compact": lambda t: t.compact(full=True),
    "rescale": lambda t: t.rescale(2),
    "compact manifests": lambda t: t.maintenance.compact_manifests(),
    "analyze": lambda t: t.analyze(),
    "alter": lambda t: t.alter("ADD COLUMN x INT"),
    "check": lambda t: t.maintenance.check(),
    "expire": lambda t: t.expire_snapshots(keep_last=1, older_than=NOTHING),
    "rollback": lambda t: t.rollback(snapshot=2),
    "create a tag": lambda t: t.tags.create("new"),
    "replace a tag": lambda t: t.tags.replace("kept", 3),
    "rename a tag": lambda t: t.tags.rename("kept", "renamed"),
    "delete a tag": lambda t: t.tags.delete("kept"),
    "create a branch": lambda t: t.branches.create("new"),
    "create a branch of a tag": lambda t: t.branches.create("new", tag="kept"),
    "create a branch of the rows": lambda t: t.branches.create("new", from_latest=True),
    "rename a branch": lambda t: t.branches.rename("side", "renamed"),
    "delete a branch": lambda t: t.branches.delete("side"),
    "fast-forward": lambda t: t.branches.fast_forward("ahead"),
    "reset a consumer": lambda t: t.maintenance.reset_consumer("c", 2),
    "mark a partition": lambda t: t.maintenance.mark_done({"p": "a"}),
    "repair hints": lambda t: t.maintenance.repair_hints(),
    "remove orphans": lambda t: t.maintenance.apply(t.maintenance.plan_orphan_removal(older_than=A_DAY)),
    "apply a deletion of a tag": lambda t: t.maintenance.apply(t.maintenance.plan_tag_deletion("kept")),
}


LASTING: dict[str, Callable[[Table], Any]] = {
    "expire to changelogs": lambda t: t.expire_snapshots(keep_last=1, keep_max=1, older_than=NOTHING),
    "expire changelogs": lambda t: t.maintenance.apply(
        t.maintenance.plan_changelog_expiry(keep_last=1, keep_max=1, older_than=NOTHING)
    ),
}
"""Operations on a table with changelogs that outlive their snapshots."""


@dataclass
class Counting(FaultyStorage):
    """Runs ``action`` before the call number ``at`` of the ``counted`` calls."""

    at: int = -1
    action: Callable[[], object] | None = None
    counted: int = 0
    met: tuple[str, str] | None = None
    """The verb and the path of this call."""

    def _call(self, verb: str, path: str, action: Callable[[], Any]) -> Any:
        with self._lock:
            self.counted += 1
            run = self.action if self.counted - 1 == self.at else None
        if run is not None:
            self.met = (verb, path)
            run()
        return super()._call(verb, path, action)


def rows(*keys: int) -> pa.Table:
    return pa.table({"p": ["a"] * len(keys), "k": keys, "v": keys}, schema=SCHEMA)


@cache
def template(first: int, lasts: bool = False) -> dict[str, bytes]:
    """Return the files of a table with three snapshots, two tags and two branches, whose keys start at ``first``.

    ``lasts``: snapshots 1 and 2 have expired to changelogs, which last.
    """
    storage = FsspecStorage("memory")
    catalog = FilesystemCatalog(storage, f"/beside-a-drop-template-{first}-{lasts}")
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true", **FAST}
    if lasts:
        options |= {"changelog-producer": "input", "changelog.num-retained.min": "9", "changelog.num-retained.max": "9"}
    table = catalog.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=options)
    for number in range(2 + 3 * lasts):
        table.write(rows(first + number))
    if lasts:
        table.expire_snapshots(keep_last=3, keep_max=3, older_than=NOTHING)
        return content(storage, catalog.warehouse)
    table.write(rows(first + 2))
    table.tags.create("kept", 2)
    table.tags.create("last", 3)
    table.branches.create("side", tag="kept")
    table.branches.create("ahead", tag="last")
    table.branch("ahead").write(rows(first + 5))
    return content(storage, catalog.warehouse)


def make(storage: FsspecStorage, root: str, first: int, lasts: bool = False) -> None:
    for path, data in template(first, lasts).items():
        storage.write(f"{root}/db.db/t/{path}", data)


def content(storage: FsspecStorage, root: str) -> dict[str, bytes]:
    return {f.path.removeprefix(f"{root}/db.db/t/"): storage.read(f.path) for f in storage.walk(f"{root}/db.db/t")}


def play(operation: Callable[[Table], Any], at: int, then: str, lasts: bool = False) -> bool:
    """Drop the table before call ``at`` of the operation, and check what it did; return False after the last call."""
    inner, root = FsspecStorage("memory"), f"/beside-a-drop-{next(_numbers)}"
    beside = FilesystemCatalog(inner, root)
    beside.create_database("db")
    make(inner, root, 0, lasts)
    new: dict[str, bytes] = {}

    def drop() -> None:
        beside.drop_table("db.t")
        if then == "another":
            make(inner, root, 100, lasts)
            new.update(template(100, lasts))

    storage = Counting(inner)
    table = FilesystemCatalog(storage, root).table("db.t")
    storage.counted, storage.at, storage.action = 0, at, drop
    problem: BaseException | None = None
    try:
        operation(table)
    except TableNotFound as error:
        problem = error
    if storage.met is None:
        assert problem is None
        return False
    verb, path = storage.met
    # After a commit, only the hint is left to write: the commit succeeded before the drop. The last call of a check
    # may see the table before the drop.
    assert problem is not None or path.endswith(HINTS) or at == storage.counted - 1, f"{verb} {path}: no error"
    left = content(inner, root)
    added = {p for p in left.keys() - new.keys() if p not in HINTS and "/bucket-" not in p}
    # A statistics file has a unique name, as data files: it is an orphan when the drop met its creation.
    assert {p for p in added if not p.startswith(("manifest/", "statistics/"))} == set(), f"{verb} {path}"
    lost = {p for p in new if left.get(p) != new[p] and p not in HINTS}
    assert not lost or (verb in ("delete", "delete_directory", "overwrite") and len(lost) <= 3), (
        f"{verb} {path}: {lost}"
    )
    inner.delete_directory(root)
    return True


def test_a_last_check_without_an_answer_does_not_turn_a_success_into_an_error() -> None:
    inner, root = FsspecStorage("memory"), f"/beside-a-drop-{next(_numbers)}"
    FilesystemCatalog(inner, root).create_database("db")
    make(inner, root, 0)
    storage = Counting(inner)
    table = FilesystemCatalog(storage, root).table("db.t")
    storage.before("overwrite", "snapshot/LATEST", lambda: storage.on("read", "schema/schema-0", Outcome.FAIL))
    assert table.compact(full=True).snapshot is not None
    assert storage.rules[0][2] == []  # the check has failed


@pytest.mark.parametrize("then", ["nothing", "another"])
@pytest.mark.parametrize("name", LASTING)
def test_a_drop_beside_expiries_with_changelogs(name, then):
    start = list(LASTING).index(name) + (then == "another")
    for at in itertools.count(start, 1):
        if not play(LASTING[name], at, then, lasts=True):
            break


@pytest.mark.parametrize("then", ["nothing", "another"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_drop_beside_some_calls_of(name, then):
    start = (list(OPERATIONS).index(name) * 2 + (then == "another")) % STRIDE
    for at in itertools.count(start, STRIDE):
        if not play(OPERATIONS[name], at, then):
            break


@pytest.mark.long
@pytest.mark.parametrize("then", ["nothing", "another"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_drop_beside_every_second_call_of(name, then):
    for at in itertools.count(then == "another", 2):
        if not play(OPERATIONS[name], at, then):
            break
