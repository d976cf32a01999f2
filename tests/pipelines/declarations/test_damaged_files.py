"""Damaged declarations at random: either the lake loads, or one sentence says what is wrong."""

import random
from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError, load_settings

TEXT = """\
comment: orders
columns: &columns
  id: BIGINT
  day: DATE
primary_key: [id]
source:
  type: files
  path: landing/{date}/*.csv
  options: {delimiter: ";"}
partitions:
  by: day
  start: 2024-01-01
checks:
  - type: range
    column: id
    min: 0
"""
BITS = [
    "\t",
    "\x00",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*columns",
    "<<: *columns",
    "!!python/name:x ",
    "|\n",
    ">",
    "'",
    '"',
    "\n",
    "#",
    "%",
    "@",
    "`",
    "? ",
    "---\n",
    "...\n",
    "~",
    "null",
    "true",
    "1e400",
    "9" * 400,
    "2024-99-99",
    "-.inf",
    "\ufeff",
    "é",
    "😀",
    "\r",
    "  ",
    "type: sql",
    "!!int ",
    "!!timestamp x",
    "!!str ",
    "${X}",
    "$${",
    "${",
    "0o7",
    "1:2:3",
    "=",
    "\u2028",
    "\x85",
    "!<tag:yaml.org,2002:float> x",
    "!!null x",
    "!!merge x",
    "!!value x",
]


def damaged(chance: random.Random) -> str:
    text = TEXT
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text) + 1)
        if chance.random() < 0.7:
            text = text[:place] + chance.choice(BITS) + text[place:]
        else:
            text = text[:place] + text[place + chance.randint(1, 12) :]
    return text


def test_damaged_files_give_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables").mkdir()
    (tmp_path / "base.yaml").write_text("")
    (tmp_path / "local.yaml").write_text("")
    loaded, said = 0, []
    for seed in range(600):
        (tmp_path / "tables" / "a.b.yaml").write_text(damaged(random.Random(seed)), encoding="utf-8")
        try:
            load_settings(configs=tmp_path)
            loaded += 1
        except SettingsError as error:
            said.append(str(error))
    assert loaded > 20
    assert len(said) > 400
    assert [one for one in said if "\n" in one or not one.startswith("tables/a.b.yaml:")] == []
