"""Rows in the metadata of events: which rows and columns are shown, and that hidden values are nowhere."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from paimon_dagster.health_metadata import health_metadata, without_pictures
from paimon_dagster.sample_metadata import MOST_BYTES, cell, rows_markdown, sample_metadata
from paimon_lake.declarations import SettingsError
from paimon_lake.steps import sample
from paimon_lake.steps.health.examine import examine
from tests.support.lakes import SmallLake, small_lake

NAME = "shop.people"
SECRET = "ada@private.example"
BASE = "columns: {id: BIGINT, email: STRING, town: STRING}\n"


def declared(lake: SmallLake, more: str = "", key: str = "primary_key: [id]\n") -> None:
    lake.declare(NAME, BASE + key + more)


def text(metadata: dict[str, object], key: str) -> str:
    value = metadata[key]
    assert isinstance(value, dg.MarkdownMetadataValue)
    return value.value


def people(first: int, count: int, town: str = "Oslo") -> pa.Table:
    return pa.table({"id": range(first, first + count), "email": [SECRET] * count, "town": [town] * count})


@pytest.fixture
def dry_lake(tmp_path: Path) -> SmallLake:
    return small_lake(tmp_path / "lake")


@pytest.fixture
def lake(dry_lake: SmallLake) -> SmallLake:
    declared(dry_lake, "sample: {rows: 3, changes: 2, hide: [email]}\n")
    table = dry_lake.create(NAME)
    table.write(people(0, 10))
    table.write(people(8, 4, "Rome|*x*"))
    return dry_lake


def test_rows_and_changes_are_bounded_and_hidden_columns_are_nowhere(lake: SmallLake) -> None:
    metadata = health_metadata(lake.settings, NAME)
    assert text(metadata, "paimon/sample") == (
        "| id | town |\n| --- | --- |\n| 0 | Oslo |\n| 1 | Oslo |\n| 2 | Oslo |\n\n1 column is hidden."
    )
    assert text(metadata, "paimon/changes") == (
        "Rows as snapshot 2 wrote them.\n\n| rowkind | id | town |\n| --- | --- | --- |\n"
        "| \\+I | 8 | Rome\\|\\*x\\* |\n| \\+I | 9 | Rome\\|\\*x\\* |\n\n1 column is hidden."
    )
    assert SECRET not in repr(metadata)
    assert SECRET not in examine(lake.settings, NAME).sentence()
    assert not {"paimon/sample", "paimon/changes", "paimon/health"} & without_pictures(metadata).keys()


def test_nothing_is_shown_unless_it_is_declared(lake: SmallLake) -> None:
    declared(lake)
    assert sample_metadata(lake.settings, NAME) == {}
    declared(lake, "sample: {rows: 2, changes: 0}\n")
    assert sample_metadata(lake.settings, NAME).keys() == {"paimon/sample"}


def test_a_column_that_is_not_declared_is_not_shown(lake: SmallLake) -> None:
    table = lake.create(NAME)
    table.alter("ADD COLUMN phone STRING")
    shown = text(sample_metadata(lake.settings, NAME), "paimon/sample")
    assert "phone" not in shown
    assert "town" in shown


def test_the_last_commit_of_rows_is_found_behind_compactions(lake: SmallLake) -> None:
    table = lake.create(NAME)
    table.compact(full=True)
    assert text(sample_metadata(lake.settings, NAME), "paimon/changes").startswith("Rows as snapshot 2 ")
    table.overwrite(people(0, 1))
    assert "replaced files" in text(sample_metadata(lake.settings, NAME), "paimon/changes")


def test_an_error_tells_no_value(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ValueError(f"cannot decode {SECRET}")

    monkeypatch.setattr(sample, "open_table", failing)
    metadata = sample_metadata(lake.settings, NAME)
    assert metadata.keys() == {"paimon/sample_problem"}
    assert SECRET not in repr(metadata)


def test_an_empty_table_and_a_table_without_a_key(dry_lake: SmallLake) -> None:
    declared(dry_lake, "sample: {}\n", key="natural_key: [id]\n")
    table = dry_lake.create(NAME)
    assert sample_metadata(dry_lake.settings, NAME) == {}
    table.write(people(0, 2))
    assert sample_metadata(dry_lake.settings, NAME).keys() == {"paimon/sample", "paimon/changes"}


def test_values_and_tables_are_short() -> None:
    assert (cell(b"abc"), cell(None), len(cell("x" * 10_000_000))) == ("3 bytes", "null", 60)
    wide = pa.table({f"c{n}": ["*" * 1_000] * 50 for n in range(40)})
    shown = rows_markdown(wide)
    assert len(shown.encode()) <= MOST_BYTES + 100
    assert shown.endswith("more rows, 10 more columns.")


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("{hide: [emial]}", "'emial' is not a column; did you mean email"),
        ("{hide: [id, email, town]}", "hides all columns"),
        ("{rows: 51}", "50"),
        ("{rows: 0, changes: 0}", "nothing would be shown"),
        ("{row: 1}", "row"),
        ("{hide: [town]}\npartition_by: [town]", "names of directories"),
    ],
)
def test_wrong_declarations_are_refused(dry_lake: SmallLake, wanted: str, says: str) -> None:
    declared(dry_lake, f"sample: {wanted}\n", key="natural_key: [id]\n")
    with pytest.raises(SettingsError, match=says):
        _ = dry_lake.settings
