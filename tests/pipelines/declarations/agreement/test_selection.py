"""Selectors choose tables, in the order of their inputs."""

from __future__ import annotations

import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.declarations.agreement.selection import selected
from tests.support.lakes import SmallLake

TABLE = "columns: {{id: INT}}\nprimary_key: id\ntags: [{tags}]\nsource: {{type: {source}}}\n"


def declare(lake: SmallLake, name: str, *inputs: str, tags: str = "") -> None:
    source = f"sql, query: SELECT 1 AS id, inputs: [{', '.join(inputs)}]" if inputs else "files, path: x.csv"
    lake.declare(name, TABLE.format(tags=tags, source=source))


@pytest.fixture
def chain(dry_lake: SmallLake) -> SmallLake:
    declare(dry_lake, "z.raw", tags="daily")
    declare(dry_lake, "m.clean", "z.raw", tags="daily, core")
    declare(dry_lake, "a.report", "m.clean", "m.other")
    declare(dry_lake, "m.other", tags="core")
    return dry_lake


@pytest.mark.parametrize(
    ("selectors", "names"),
    [
        (["m.clean"], ["m.clean"]),
        (["a.report", "z.raw"], ["z.raw", "a.report"]),
        (["+m.clean"], ["z.raw", "m.clean"]),
        (["m.clean+"], ["m.clean", "a.report"]),
        (["+m.clean+"], ["z.raw", "m.clean", "a.report"]),
        (["+a.report"], ["m.other", "z.raw", "m.clean", "a.report"]),
        (["tag:core"], ["m.other", "m.clean"]),
        (["+tag:core"], ["m.other", "z.raw", "m.clean"]),
        (["tag:daily", "m.other+"], ["m.other", "z.raw", "m.clean", "a.report"]),
    ],
    ids=str,
)
def test_selectors(chain: SmallLake, selectors: list[str], names: list[str]) -> None:
    assert selected(chain.settings, selectors) == names


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("z.row", r"no table 'z.row' is declared in .*; did you mean z.raw\?"),
        ("+tag:cores", r"no table has the tag 'cores': the tags are core, daily; did you mean core\?"),
        ("tag:", "no table has the tag ''"),
        ("+", "no table '' is declared"),
    ],
)
def test_what_selects_nothing_is_refused(chain: SmallLake, selector: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        selected(chain.settings, [selector])


def test_a_tag_is_a_word(dry_lake: SmallLake) -> None:
    declare(dry_lake, "z.raw", tags="'two words'")
    with pytest.raises(SettingsError, match=r"tags.*each must have at most 63 letters, .*not 'two words'"):
        _ = dry_lake.settings
