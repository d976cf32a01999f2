"""What commands print on a terminal and elsewhere: progress with rate and estimate, and no escape codes."""

import itertools
import json
import os
import re
import sys

import pytest

import paimon_core as paimon
from paimon_core import progress_meter
from paimon_core.cli.main import main

ESCAPE = "\x1b"
_numbers = itertools.count()
LONG_WORK = {
    "import": ("import", "db.t", "FOLDER/rows.json"),
    "export": ("export", "db.t", "FOLDER/out.csv"),
    "copy": ("copy", "db.t", "db.u"),
    "compact": ("compact", "db.t", "--full"),
    "delete files": ("expire", "snapshots", "db.t", "--keep-last", "1", "--keep-max", "1", "--apply"),
    "check": ("fsck", "db.t"),
    "check rows": ("fsck", "db.t", "--deep"),
}


@pytest.fixture
def lake(tmp_path, monkeypatch):
    place = f"memory://terminal-{next(_numbers)}"
    monkeypatch.setenv("PAIMON_WAREHOUSE", place)
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.t", {"id": "BIGINT NOT NULL", "note": "STRING"}, primary_key="id", options=options)
    for start in (0, 3):
        table.write([{"id": number, "note": "a"} for number in range(start, start + 3)])
    (tmp_path / "rows.json").write_text('{"id": 7, "note": "b"}\n')
    return catalog


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that runs a command with a pseudo terminal as standard error, and returns what it got."""
    pty = pytest.importorskip("pty")

    def running(*arguments):
        reader, writer = pty.openpty()
        with os.fdopen(writer, "w", encoding="utf-8") as stream, monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", stream)
            code = main(list(arguments))
            stream.write("END")
            stream.flush()
            got = b""
            while not got.endswith(b"END"):
                got += os.read(reader, 65536)
        os.close(reader)
        return code, got.decode().removesuffix("END")

    return running


@pytest.mark.parametrize("operation", LONG_WORK)
def test_long_work_tells_rate_and_estimate_on_a_terminal(lake, terminal, monkeypatch, tmp_path, operation):
    monkeypatch.setattr(progress_meter, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(progress_meter, "LINE_SECONDS", 0.0)
    monkeypatch.setenv("NO_COLOR", "1")
    code, got = terminal(*(word.replace("FOLDER", str(tmp_path)) for word in LONG_WORK[operation]))
    lines = [line for line in got.splitlines() if line.startswith(f"{operation}: ")]
    assert code == 0
    assert lines, got
    total = r"( of [\d,]+)?" if operation == "check rows" else r" of [\d,]+"
    assert all(re.fullmatch(rf"{operation}: [\d,]+{total} \w+, [\d,]+ a second(, about \d+ s left)?", x) for x in lines)
    if operation != "check rows":  # the number of files is known only at the end
        assert ", about " in lines[0]
    assert ESCAPE not in got


def test_bars_need_a_terminal_that_moves_the_cursor(monkeypatch):
    monkeypatch.setattr(progress_meter.importlib.util, "find_spec", lambda name: object())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert progress_meter._has_bars()
    monkeypatch.setenv("TERM", "dumb")
    assert not progress_meter._has_bars()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not progress_meter._has_bars()
    monkeypatch.setenv("NO_COLOR", "")
    assert progress_meter._has_bars()


@pytest.mark.parametrize("operation", LONG_WORK)
def test_without_a_terminal_nothing_is_told(lake, monkeypatch, capsys, tmp_path, operation):
    monkeypatch.setattr(progress_meter, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(progress_meter, "LINE_SECONDS", 0.0)
    assert main([word.replace("FOLDER", str(tmp_path)) for word in LONG_WORK[operation]]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert ESCAPE not in printed.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("describe", "db.red"),
        ("head", "db.red"),
        ("show", "db.red$files"),
        ("sql", "SELECT * FROM db.red"),
        ("head", "db.red", "--where", f"note = '{ESCAPE}[31m' and"),
        ("head", f"db.{ESCAPE}[31m"),
        ("tags", "delete", "db.red", f"{ESCAPE}[31m"),
        ("ls", f"{ESCAPE}[31m", "--color"),
        ("ls", f"{ESCAPE}[31m", f"{ESCAPE}[32m"),
    ],
    ids=str,
)
@pytest.mark.parametrize("as_json", [False, True])
def test_texts_of_a_table_and_of_arguments_put_no_escape_codes_into_the_output(lake, capsys, arguments, as_json):
    red = f"{ESCAPE}[31mred"
    lake.create_table("db.red", {"id": "INT", "note": "STRING"}, comment=red).write([{"id": 1, "note": red}])
    try:
        main([*arguments, *(["--json"] if as_json else [])])
    except SystemExit as stopped:
        assert stopped.code == 2  # noqa: PT017
    printed = capsys.readouterr()
    assert printed.out + printed.err
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed.out + printed.err)
    if as_json:
        json.loads(printed.out or printed.err)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_a_shell_is_printed_unchanged(capsys, shell):
    pytest.importorskip("shtab")
    main(["completion", shell])
    plain = capsys.readouterr().out
    main(["completion", shell, "--json"])
    assert plain == json.loads(capsys.readouterr().out)["script"] + "\n"
