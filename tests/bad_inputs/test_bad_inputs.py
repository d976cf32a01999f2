"""Every bad input is refused by one clear error, and nothing is written.

The last line of a test run counts the inputs (``pytest_terminal_summary`` in ``tests/conftest.py``).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.fsck.check import check_root
from tests.bad_inputs import (
    alterations_in,
    commands_in,
    declarations_in,
    files_in,
    messages_in,
    names_in,
    options_in,
    requests_in,
    rows_in,
    schemas_in,
    servers_in,
)
from tests.bad_inputs.case import SECRET, Case, Cases, Lake, case, outcome
from tests.bad_inputs.catalogue import FOUND, NOT_YET

PARTS: dict[str, Cases] = {
    "names": names_in.CASES,
    "schemas": schemas_in.CASES,
    "options": options_in.CASES,
    "rows": rows_in.CASES,
    "requests": requests_in.CASES,
    "messages": messages_in.CASES,
    "files": files_in.CASES,
    "declarations": declarations_in.CASES,
    "alterations": alterations_in.CASES,
    "commands": commands_in.CASES,
    "servers": servers_in.CASES,
}
ALL = {f"{part}: {name}": tried for part, cases in PARTS.items() for name, tried in cases.items()}


ROOT = Path(__file__).resolve().parents[2]


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


def writes_and_refuses(lake: Lake) -> None:
    context = lake.context()
    context.storage.write(f"{context.paths.root}/left", b"x")
    raise InvalidRequest("refused")


def refuses(message: str) -> Callable[[Lake], None]:
    def call(lake: Lake) -> None:
        raise InvalidRequest(message)

    return call


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda lake: lake.table("keyed"), "silent: it returned"),
        (writes_and_refuses, r"silent: it changed \['/bad-inputs.*/left'\]"),
        (lambda lake: int("x"), "unclear: ValueError"),
        (lambda lake: lake.table("gone"), "unclear: it raised TableNotFound"),
        (refuses("no such thing"), "unclear: 'refused' is not in"),
        (refuses("refused " * 90), "unclear: the message has 720 characters"),
        (refuses(f"refused: /{'x' * 121}"), "unclear: the message has a value"),
        (refuses(f"refused: {SECRET}"), "unclear: the message has a secret"),
        (refuses("refused"), "clear"),
    ],
)
def test_what_the_runner_calls_silent_unclear_and_clear(lake: Lake, call: Callable[[Lake], object], found: str):
    assert re.match(found, outcome(lake, case(call, InvalidRequest, "refused")))
    assert not [path for path in lake.files() if path.endswith("/left")]


def test_every_kind_of_the_catalogue_is_played(record_property):
    record_property("not yet", len(NOT_YET))
    assert len(FOUND) + len(NOT_YET) == 138
    for kind, where in FOUND.items():
        path, _, function = where.partition("::")
        assert where in ALL if not function else f"def {function}(" in (ROOT / path).read_text(), kind


@pytest.mark.parametrize(("damage", "error", "says"), files_in.DAMAGE.values(), ids=files_in.DAMAGE.keys())
def test_fsck_finds_what_a_read_refuses(damage, error, says, lake: Lake):
    """Of a table whose only schema cannot be read, fsck raises the error of the read."""
    of_schema = says.startswith("schema-0")
    with lake.restored(), pytest.raises(error, match=says) if of_schema else contextlib.nullcontext():
        context = lake.context()
        damage(context)
        assert not check_root("db.keyed", context.storage, context.paths.root, deep=True).is_clean
