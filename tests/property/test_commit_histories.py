"""Random histories of commits, compactions, overwrites, expiry, tags and rollbacks on a storage that fails and dies.

An operation is repeated under its (user, identifier) until it succeeds, as a job would do. Then it must have happened
exactly once, and every remaining snapshot and tag must reference the same files as before.
"""

from __future__ import annotations

import contextlib
import random

import pytest

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import AlreadyExists, CommitStateUnknown, StorageError, TagNotFound
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from tests.support.commits import commit
from tests.support.fake_tables import append, check_whole, expire_all, fake_file, fake_table, live, message, reopened
from tests.support.faulty_storage import MUTATIONS, Died, FaultyStorage, Outcome
from tests.support.long_cases import long_cases

pytestmark = pytest.mark.usefixtures("fake_rows")

STEPS = 14
FAULTS = 0.06
ANY = (Outcome.FAIL, Outcome.LOSE, Outcome.DIE_BEFORE, Outcome.DIE_AFTER)
PUBLISH = (*ANY, Outcome.UNKNOWN, Outcome.EXISTS)


class FailingStorage(FaultyStorage):
    """Fails at random: ``chance`` is the seeded source."""

    chance: random.Random

    def _outcome(self, verb: str, path: str) -> Outcome:
        if verb not in MUTATIONS or self.chance.random() > FAULTS:
            return Outcome.OK
        is_publish = verb == "create_exclusive" and "/snapshot-" in path
        return self.chance.choice(PUBLISH if is_publish else ANY)


class History:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.table = fake_table(**{"manifest.merge-min-count": "3"})
        self.files: dict[str, tuple] = {}
        """The files that the latest snapshot must contain, by name: (partition, bucket, file)."""
        self.held: dict[tuple[str, str], set] = {}
        """The files of a snapshot, by its uuid."""
        self.identifier = 0
        self.tags = 0

    def until_done(self, action):
        """Run ``action(context)`` on failing storages until it succeeds."""
        while True:
            storage = FailingStorage(self.table.storage)
            storage.chance = self.chance
            if self.chance.random() < 0.3:
                storage.before("create_exclusive", "/snapshot-", self.rival)
            with contextlib.suppress(Died, StorageError, CommitStateUnknown):
                return action(reopened(self.table, storage))
            check_whole(self.table, contiguous=False)  # a rollback to a tag below the earliest may be incomplete

    def rival(self) -> None:
        file = fake_file(self.table)
        append(self.table, file, user="rival")
        self.files[file.file_name] = ("a", 0, file)

    def land(self, *messages, overwrite=None) -> None:
        self.identifier += 1
        number = self.identifier
        self.until_done(lambda c: commit(messages, context=c, user="u", identifier=number, overwrite=overwrite))

    def append(self) -> None:
        of, bucket = self.chance.choice("ab"), self.chance.randrange(2)
        file = fake_file(self.table, of=of, bucket=bucket)
        self.land(message(self.table, file, of=of, bucket=bucket))
        self.files[file.file_name] = (of, bucket, file)

    def append_and_compact(self) -> None:
        of, bucket = self.chance.choice("ab"), self.chance.randrange(2)
        inputs = [f for o, b, f in self.files.values() if (o, b) == (of, bucket)]
        new, merged = fake_file(self.table, of=of, bucket=bucket), fake_file(self.table, of=of, bucket=bucket, level=5)
        before, after = (new, *inputs), (merged,)
        if not inputs and self.chance.random() < 0.5:
            before, after = (new,), (new.upgraded(5),)
        self.land(message(self.table, new, of=of, bucket=bucket, before=before, after=after))
        for file in inputs:
            del self.files[file.file_name]
        self.files[after[0].file_name] = (of, bucket, after[0])

    def overwrite(self) -> None:
        new = fake_file(self.table, of="b")
        self.land(message(self.table, new, of="b"), overwrite=Overwrite())
        entries = self.table.manifests.entries_of(self.table.snapshots.latest())
        (file,) = (e.file for e in entries if e.file.file_name == new.file_name)  # at the level of an overwrite
        self.files = {name: f for name, f in self.files.items() if f[0] != "b"} | {new.file_name: ("b", 0, file)}

    def expire(self) -> None:
        keep = self.chance.randrange(1, 4)
        self.until_done(lambda c: expire_all(c, retain_min=keep))

    def tag(self) -> None:
        self.tags += 1
        snapshot = self.table.snapshots.read(self.chance.choice(self.table.snapshots.ids() or [0]))
        with contextlib.suppress(AlreadyExists):  # it was done, and the response was lost
            self.until_done(lambda c: create_tag(c, f"t{self.tags}", snapshot))

    def delete_tag(self) -> None:
        if tags := self.table.tags.list():
            with contextlib.suppress(TagNotFound):
                self.until_done(lambda c: delete_tag(c, self.chance.choice(tags).name))

    def rollback(self) -> None:
        tagged = [t.snapshot for t in self.table.tags.list()]
        target = self.chance.choice([*tagged, *map(self.table.snapshots.read, self.table.snapshots.ids())])
        held = live(self.table, target)
        self.until_done(lambda c: rollback(c, target))
        assert live(self.table) == held
        self.files = {}
        for entry in self.table.manifests.entries_of(target):
            of = self.table.partition_path(entry.partition).removeprefix("p=")
            self.files[entry.file.file_name] = (of, entry.bucket, entry.file)
        self.identifier += 1000  # the rolled back job restarts, with identifiers above its earlier ones

    def check(self) -> None:
        check_whole(self.table)
        assert {name for _, _, name in live(self.table)} == set(self.files)
        snapshots = [self.table.snapshots.read(i) for i in self.table.snapshots.ids()]
        for snapshot in [*snapshots, *(t.snapshot for t in self.table.tags.list())]:
            assert self.held.setdefault(snapshot.uuid, live(self.table, snapshot)) == live(self.table, snapshot)
        once = [(s.commit_user, s.commit_identifier, s.commit_kind) for s in snapshots if s.commit_user != "rival"]
        assert len(once) == len(set(once))


@pytest.mark.parametrize("seed", [*range(6), *long_cases(range(6, 12))])
def test_everything_happens_exactly_once(seed):
    history = History(seed)
    history.append()
    steps = [history.append, history.append_and_compact, history.overwrite, history.expire]
    steps += [history.append, history.append_and_compact, history.tag, history.delete_tag, history.rollback]
    for _ in range(STEPS):
        history.chance.choice(steps)()
        history.check()
