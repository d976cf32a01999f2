"""The scripts for shells: what a real bash completes with them."""

import json
import subprocess
import sys

import pytest

from paimon_core.cli.main import main
from paimon_lake.cli.main import main as lake

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
function=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""Calls the function that the script registered, as bash does when the tab key is pressed after these words."""
pytestmark = pytest.mark.programs


def bash(*arguments):
    done = subprocess.run(["bash", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    for name, run in (("paimon-core", main), ("paimon-lake", lake)):
        with pytest.MonkeyPatch.context() as patch, (folder / name).open("w") as file:
            patch.setattr(sys, "stdout", file)
            assert run(["completion", "bash"]) == 0
        bash("-n", folder / name)
    (folder / "rows.csv").write_text("")
    return folder


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("paimon-core ta", ["tables", "tail", "tags"]),
        ("paimon-core tags cr", ["create"]),
        ("paimon-core import shop.orders rows.csv --file", ["--file-option"]),
        ("paimon-core import shop.orders rows.csv --format ", ["parquet", "orc", "csv", "json"]),
        ("paimon-core expire s", ["snapshots"]),
        ("paimon-core nothing-like-it", []),
        ("paimon-lake comp", ["compact", "compile", "completion"]),
        ("paimon-lake load --downs", ["--downstream"]),
        ("paimon-lake completion f", ["fish"]),
    ],
)
def test_bash_completes(scripts, words, found):
    program = words.split()[0]
    assert bash("-c", COMPLETE, "bash", scripts / program, *words.split(" ")) == found


def test_files_and_folders_are_completed(scripts):
    script = scripts / "paimon-core"
    words = ["paimon-core", "import", "shop.orders", f"{scripts}/ro"]
    assert bash("-c", COMPLETE, "bash", script, *words) == [f"{scripts}/rows.csv"]
    words = ["paimon-core", "ls", "--warehouse", str(scripts)]
    assert bash("-c", COMPLETE, "bash", script, *words) == [str(scripts)]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_have_the_commands_and_options(shell, capsys):
    assert main(["completion", shell, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shell"] == shell
    for name in ("explain-row", "fast-forward", "table-option", "update-time"):
        assert name in found["script"]


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "needs the package shtab: pip install shtab" in capsys.readouterr().err


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
