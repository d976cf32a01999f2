"""Wide tables against a plain join: random histories of parts, with late rows, deletes, reloads, kills and expiries."""

from __future__ import annotations

import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_lake.loads import write_tasks
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.upkeep.expiry import expire
from tests.support.examples import examples
from tests.support.lakes import SmallLake, small_lake
from tests.support.tasks import in_this_process

NAME = "d.wide"
PARTS = ("a", "b", "c")
WIDE = "columns: {id: BIGINT, " + ", ".join(f"{p}: INT, {p}_at: INT" for p in PARTS) + "}\nprimary_key: id\n"
WIDE += "options: {num-sorted-run.compaction-trigger: '2'}\nretention: {keep_snapshots: 1, keep_hours: 0}\nparts:\n"
for _part in PARTS:
    WIDE += f"  {_part}: {{source: {{type: files, path: '{_part}/*.csv'}}, columns: {_part}, order_by: {_part}_at, "
    WIDE += "kinds: {column: op}}\n"
CALLS = ("open", "fsync", "link", "unlink", "replace", "mkdir")

Row = tuple[int, int | None, int, str]
"""The key, the value, the order and the kind of a row of a part."""
rows = st.lists(
    st.tuples(st.integers(0, 4), st.none() | st.integers(0, 9), st.integers(0, 5), st.sampled_from(("+I", "+U", "-D"))),
    min_size=1,
    max_size=6,
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("file"), st.sampled_from(PARTS), rows),
        st.tuples(st.just("load"), st.sampled_from(("", *PARTS)), st.none()),
        st.tuples(st.just("killed"), st.sampled_from(("", *PARTS)), st.integers(1, 60)),
        st.tuples(st.just("reload"), st.sampled_from(("", *PARTS)), st.none()),
        st.tuples(st.just("compact"), st.just(""), st.none()),
        st.tuples(st.just("expire"), st.just(""), st.none()),
    ),
    min_size=4,
    max_size=14,
)


class Died(BaseException):
    """The process died; nothing handles it."""


class Join:
    """A join of the parts by key: of each part, the loaded row with the greatest order, of equal ones the latest."""

    def __init__(self) -> None:
        self.files: dict[str, list[list[Row]]] = {part: [] for part in PARTS}
        self.loaded = dict.fromkeys(PARTS, 0)
        self.newest: dict[str, dict[int, tuple[int, int | None]]] = {part: {} for part in PARTS}
        self.added: set[int] = set()
        """The keys with a row that was inserted or updated, of any part; only these are visible."""

    def load(self, part: str, *, again: bool = False) -> None:
        for file in self.files[part][0 if again else self.loaded[part] :]:
            for key, value, order, kind in file:
                self.added |= {key} if kind != "-D" else set()
                if order >= self.newest[part].get(key, (-1, None))[0]:
                    self.newest[part][key] = (order, None if kind == "-D" else value)
        self.loaded[part] = len(self.files[part])

    def compact(self) -> None:
        """Forget keys that were only deleted, as a full compaction does."""
        self.newest = {p: {k: v for k, v in rows.items() if k in self.added} for p, rows in self.newest.items()}

    def rows(self) -> list[tuple[Any, ...]]:
        none = (None, None)
        columns = [{key: (value, order) for key, (order, value) in self.newest[part].items()} for part in PARTS]
        return [(key, *(one for c in columns for one in c.get(key, none))) for key in sorted(self.added)]


def killed(number: int) -> pytest.MonkeyPatch:
    """Let this call that changes the disk be the last one of a load."""
    patched, made = pytest.MonkeyPatch(), [0]

    def dying(original):
        def call(*args, **kwargs):
            made[0] += 1
            if made[0] == number:
                raise Died
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        patched.setattr(os, name, dying(getattr(os, name)))
    return patched


def played(lake: SmallLake, history: list[tuple[str, str, Any]]) -> Join:
    """Run a history on a lake and on the join; after each load, both have the same rows."""
    join, count = Join(), 0
    for what, part, more in [*history, ("load", "", None)]:
        chosen = PARTS if not part else (part,)
        if what == "file":
            count += 1
            lines = [f"{key},{'' if value is None else value},{order},{kind}\n" for key, value, order, kind in more]
            lake.file(f"{part}/{count:03}.csv", f"id,{part},{part}_at,op\n" + "".join(lines))
            join.files[part].append(more)
            continue
        if what == "killed":
            patched = killed(more)
            try:
                lake.load(NAME, part=part)
            except Died:
                pass
            finally:
                patched.undo()
            lake.load(NAME, part=part)  # whatever the killed load committed is not loaded again
        elif what in ("load", "reload"):
            lake.load(NAME, part=part, reload=what == "reload")
        elif what == "compact":
            lake.create(NAME).compact(full=True)
            join.compact()
            continue
        else:
            lake.create(NAME)
            expire(lake.spark, lake.settings, NAME)
            continue
        for one in chosen:
            join.load(one, again=what == "reload")
        assert lake.rows(NAME) == join.rows(), (what, part)
    return join


def lake_in(folder: Path) -> SmallLake:
    lake = small_lake(folder, SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2)))
    lake.declare(NAME, WIDE)
    return lake


@settings(max_examples=examples(60), deadline=None)
@given(history=steps)
def test_any_history_of_parts_is_a_join(history, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(write_tasks, "collect_tasks", in_this_process)
        lake = lake_in(tmp_path_factory.mktemp("parts") / "lake")
        played(lake, history)
        assert [one for one in audit(lake.settings, NAME) if not one.passed and one.audit != "health"] == []


def random_history(seed: int) -> list[tuple[str, str, Any]]:
    chance, history = random.Random(seed), list[tuple[str, str, Any]]()
    for _ in range(60):
        part = chance.choice(PARTS)
        row = [
            (chance.randrange(40), chance.choice((None, *range(9))), chance.randrange(30), chance.choice(("+I", "-D")))
            for _ in range(25)
        ]
        history.append(("file", part, row))
        history += [("load", "", None)] if chance.random() < 0.3 else []
        history += [("compact", "", None)] if chance.random() < 0.1 else []
    return history


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_java_reads_and_compacts_the_same_rows(seed, tmp_path, monkeypatch, oracle):
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    lake = lake_in(tmp_path / "lake")
    expected = sorted((["+I", *row] for row in played(lake, random_history(seed)).rows()), key=str)
    warehouse = lake.folder / "warehouse"
    assert sorted(oracle.dump(warehouse, NAME), key=str) == expected
    oracle.run(warehouse, [{"op": "compact", "table": NAME}])
    assert sorted(oracle.dump(warehouse, NAME), key=str) == expected
    assert sorted((["+I", *row] for row in lake.rows(NAME)), key=str) == expected
