"""Random histories of two tables whose columns change while parts of a wide table follow them, with loads that die.

After each load, the wide table is the join of both tables, with all columns that they got.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.shapes.schema_changes import TableAltered
from paimon_lake.protocol import PartsFailed, PipelineError
from tests.pipelines.loads.postgres.histories import DEFAULT, KEYS, MOST_ADDED, die, dying, seeds
from tests.pipelines.loads.postgres.test_part_histories import (
    COLUMNS,
    NAME,
    PLACES,
    PartHistory,
    copy_while_sessions_write,
    declare,
)

NUMBERS = {"o": "n", "p": "m"}


class PartColumnHistory(PartHistory):
    """New columns of both tables, each with names of its own, and wider types of their numbers."""

    alters = False

    def statement(self) -> str:
        pick = self.random
        if not self.alters or pick.random() < 0.75:
            return super().statement()
        part = pick.choice(sorted(NUMBERS))
        added = added_columns(self.database, part)
        column = pick.choice([*added, f"{part}_c{len(added)}"])
        values = f"UPDATE s.{part} SET {column} = {pick.randrange(99)}"
        if len(added) == MOST_ADDED or pick.random() < 0.5:
            return values
        default = pick.choice([""] * 8 + [f"DEFAULT {DEFAULT}"])
        alteration = f"ALTER TABLE s.{part} ADD {part}_c{len(added)} int {default}"
        if pick.random() < 0.3:
            alteration = f"ALTER TABLE s.{part} ALTER {NUMBERS[part]} TYPE bigint"
            values = f"UPDATE s.{part} SET {NUMBERS[part]} = 5000000000 WHERE id = {pick.randrange(KEYS)}"
        return f"{alteration}; {values}" if pick.random() < 0.5 else alteration


def added_columns(wide, part: str) -> list[str]:
    query = f"SELECT attname FROM pg_attribute WHERE attrelid = 's.{part}'::regclass AND attname ~ '^{part}_c'"
    return [name for (name,) in wide.rows(query)]


@pytest.fixture
def wide(followed):
    followed.connection.prepare_threshold = None  # a prepared query keeps the columns of its first time
    followed.run(
        "ALTER TABLE s.o ADD n int",
        "CREATE TABLE s.p (id int PRIMARY KEY, b text, m int)",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        "ALTER TABLE s.p ALTER b SET STORAGE EXTERNAL",
    )
    return followed


def complete(wide) -> None:
    """Load, and load a part again with reload when its error says so."""
    again: str = ""
    for _ in range(5):
        try:
            wide.lake.load(NAME, part=again, reload=bool(again))
            if not again:
                return
            again = ""
        except (PartsFailed, PipelineError) as error:
            if "load the table with reload" not in str(error):
                raise
            again = "o" if "s.o has" in str(error) or " s.o:" in str(error) else "p"
    pytest.fail("a load was refused again and again")


def check(wide) -> None:
    columns = [*COLUMNS["o"], *added_columns(wide, "o"), *COLUMNS["p"], *added_columns(wide, "p")]
    joined = wide.rows(f"SELECT id, {', '.join(columns)} FROM s.o FULL JOIN s.p USING (id)")
    rows: list[dict[str, Any]] = wide.lake.table(NAME).scan(["id", *columns]).to_arrow().to_pylist()
    found = {row.pop("id"): tuple(row.values()) for row in rows}
    assert with_values(found) == with_values({row[0]: row[1:] for row in joined})
    options = wide.lake.table(NAME).schema.options
    for part in NUMBERS:
        group = set(options[f"fields.{part}_at.sequence-group"].split(","))
        assert group == {*COLUMNS[part], *added_columns(wide, part)}


def with_values(rows: dict[int, tuple[Any, ...]]) -> dict[int, tuple[Any, ...]]:
    return {key: row for key, row in rows.items() if any(value is not None for value in row)}


@contextlib.contextmanager
def dying_after_the_alteration(monkeypatch):
    """Let a load die as soon as the table is altered."""
    real = loading.hold_columns

    def altered(*given):
        with contextlib.suppress(TableAltered):
            real(*given)
            return
        die()

    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        patched.setattr(loading, "hold_columns", altered)
        yield


@pytest.mark.parametrize("seed", seeds(3))
def test_after_each_load_the_wide_table_is_the_join_with_all_columns(wide, monkeypatch, seed):
    declare(wide, seed)
    path = wide.lake.folder / "tables" / f"{NAME}.yaml"
    text = path.read_text().replace("table: s.o", "table: s.o, schema_changes: apply")
    path.write_text(text.replace("table: s.p", "table: s.p, schema_changes: apply"))
    with contextlib.closing(PartColumnHistory(wide, seed)) as history:
        pick = history.random
        wide.lake.create(NAME)
        for part in COLUMNS:
            copy_while_sessions_write(history, monkeypatch, part)
        history.alters = True  # columns from before the first copy are not added
        for _ in range(7):
            history.changes(30)
            history.commit()
            if pick.random() < 0.6:
                place = pick.choice((*PLACES, None))
                ends = dying_after_the_alteration(monkeypatch) if place is None else dying(monkeypatch, place)
                with contextlib.suppress(PipelineError, PartsFailed), ends:
                    wide.lake.load(NAME, part=pick.choice(("", "o", "p")))
                history.changes(6)
                history.commit()
            complete(wide)
            check(wide)
            if pick.random() < 0.3:
                wide.lake.create(NAME).compact(full=pick.random() < 0.5)
                check(wide)
