"""Every bad input is refused by one clear error, and nothing is written.

The last line of a test run counts the inputs (``pytest_terminal_summary`` in ``tests/conftest.py``).
"""

from __future__ import annotations

import pytest

from tests.bad_inputs import (
    alterations_in,
    commands_in,
    declarations_in,
    files_in,
    names_in,
    options_in,
    requests_in,
    rows_in,
    schemas_in,
    servers_in,
)
from tests.bad_inputs.case import Case, Cases, Lake, outcome

PARTS: dict[str, Cases] = {
    "names": names_in.CASES,
    "schemas": schemas_in.CASES,
    "options": options_in.CASES,
    "rows": rows_in.CASES,
    "requests": requests_in.CASES,
    "files": files_in.CASES,
    "declarations": declarations_in.CASES,
    "alterations": alterations_in.CASES,
    "commands": commands_in.CASES,
    "servers": servers_in.CASES,
}
ALL = {f"{part}: {name}": tried for part, cases in PARTS.items() for name, tried in cases.items()}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake(tmp_path_factory.mktemp("bad-inputs"))
    _ = made.sql, made.local
    return made


@pytest.mark.parametrize("tried", ALL.values(), ids=ALL.keys())
def test_the_input_is_refused(tried: Case, lake: Lake, record_property):
    found = outcome(lake, tried)
    record_property("bad input", found.partition(":")[0])
    assert found == "clear"
