"""The command line: errors in one sentence, and the same steps as functions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paimon_lake.cli import main as cli_main
from paimon_lake.cli.main import main
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations.json_schema import texts
from paimon_lake.tables import open_lake
from tests.support.lakes import SmallLake
from tests.support.project import ROOT

ORDERS = ["--table", "shop.orders"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["load", *ORDERS, "--partition", "2024-02-30"],
            "'2024-02-30' is no partition by day; keys are like 2024-01-07",
        ),
        (["load", *ORDERS, "--partition", "2023-12-31"], "its partitions run from 2024-01-01 to 2024-01-03"),
        (["load", "--table", "shop.revenue", "--partition", "2024-01-01"], "shop.revenue has no partitions"),
        (["load", "--table", "shop.trains"], "no table 'shop.trains' is declared in"),
        (["load"], "name the tables to load, as in `paimon-lake load shop.orders`, or write --all"),
        (["load", "--all", *ORDERS], "--all loads every table: remove it, or shop.orders"),
        (["load", "shop.revenue", "--partition", "2024-01-01"], "shop.revenue has no partitions"),
        (["show", "shop.trains"], "no table 'shop.trains' is declared in"),
        (["check", "shop.order"], "did you mean shop.orders?"),
        (["compact"], "name a table, as in `paimon-lake compact shop.orders`"),
        (["compact", "shop.orders", "--table", "shop.revenue"], "not both shop.orders and shop.revenue"),
        (["follow"], "name the tables to follow, as in `paimon-lake follow shop.orders`"),
        (["load", "--all", "--downstream"], "--downstream has no effect with --all"),
        (["load", "--all", "--part", "p"], "--part p needs one table: 2 are chosen"),
        (["load", "--table", "tag:nightly"], "no table has the tag 'nightly': no declaration has the key tags"),
        (["load", *ORDERS, "--from", "2024-01-03", "--to", "2024-01-01"], "2024-01-03..2024-01-01 is empty"),
        (["load", "--all", "--partition", "2024-02-30"], "shop.orders: '2024-02-30' is no partition by day"),
        (["show", "--table", "shop.trains"], "no table 'shop.trains' is declared in"),
        (["show", *ORDERS], "yet: shop.orders; `apply` creates the declared tables"),
        (["compact", *ORDERS], "shop.orders is not in the lake"),
        (["compact", *ORDERS, "--env", "moon"], "no environment 'moon': "),
        (["tag", *ORDERS, "--name", "x"], "shop.orders is not in the lake"),
        (["rollback", *ORDERS], "one of the arguments --snapshot --tag is required"),
        (["audit", *ORDERS], "shop.orders is not in the lake"),
        (["show"], "yet: `apply` creates the declared tables"),
        (["show", "--configs", "nowhere"], "nowhere is not a directory: a lake is a folder with base.yaml and tables/"),
        (["show", "--env", "local", "--env", "test"], "argument --env: given twice"),
        (
            ["compact", *ORDERS, "--partition", "1", "--partition", "2", "--table", "a.b", "--table", "c.d"],
            "--table: given twice",
        ),
        (["rollback", *ORDERS, "--snapshot", "9" * 5000], "is not a whole number of at most 40 digits"),
        (["test", *ORDERS, "--history", "9" * 5000], "is not a whole number of at most 40 digits"),
        (["polish"], "invalid choice: 'polish'"),
        (["laod"], "; did you mean load? (see --help)"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_exit_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new_lake(tmp_path / "lake")
    if arguments not in (["polish"], ["laod"]) and "--configs" not in arguments:
        arguments = [*arguments, "--configs", str(tmp_path / "lake")]
    try:
        code: object = main(arguments)
    except SystemExit as exited:
        code = exited.code
    said = capsys.readouterr()
    assert code == 2
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "lake" / "warehouse").exists()


@pytest.mark.parametrize(
    "arguments",
    [["show", "--json"], ["audit", "--json"], ["check", "--json"], ["new", "lake", "--warehouse", "x"]],
)
def test_options_without_effect_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "unrecognized arguments: --" in capsys.readouterr().err


def test_a_new_lake_has_the_schemas_that_its_files_name(tmp_path: Path) -> None:
    files = new_lake(tmp_path / "lake")
    declared = [tmp_path / "lake" / path for path in files if path.suffix == ".yaml"]
    assert len(declared) == 4
    for path in declared:
        first = path.read_text().splitlines()[0]
        schema = path.parent / first.removeprefix("# yaml-language-server: $schema=")
        assert schema.resolve().read_text() == texts()[schema.name]
        assert schema.name == ("table.json" if path.parent.name == "tables" else "settings.json")


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paimon_lake", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "load tables from their sources" in done.stdout


def test_loads_audits_and_shows(
    lake: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(lake.folder)
    new_lake(lake.folder)
    monkeypatch.setattr(cli_main, "start_session", lambda _: lake.session)
    here = ["--configs", str(lake.folder)]
    assert main(["load", *ORDERS, "--partition", "2024-01-01", "--partition", "2024-01-03", "--json", *here]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["commits"], printed["row_count"], printed["details"]["rows_rejected"]) == ([1], 7, 1)
    assert main(["load", *ORDERS, "--partition", "2024-01-01", *here]) == 0
    assert "1 files loaded before, nothing written" in capsys.readouterr().out
    assert main(["load", "--table", "shop.revenue", *here]) == 0
    capsys.readouterr()
    assert main(["audit", *here]) == 0
    audits = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    assert audits == [
        *(
            ["ok", f"shop.{t}", f"{a}:"]
            for t in ("orders", "revenue")
            for a in ("rows", "keys", "files", "fsck", "health")
        ),
        ["ok", "shop.revenue", "stale:"],
    ]
    assert main(["show", *here]) == 0
    shown = capsys.readouterr().out.splitlines()
    expected = [["shop.orders", "7"], ["shop.orders__rejects", "1"], ["shop.revenue", "3"]]
    assert [line.split()[:2] for line in shown[2:]] == expected
    (file, *_) = Path(open_lake(lake.settings).table("shop.revenue").location).glob("bucket-0/*.parquet")
    file.unlink()
    assert main(["audit", "--table", "shop.revenue", *here]) == 1
    told = capsys.readouterr().out
    assert "WRONG shop.revenue files:" in told
    assert f"missing or of another size: {file.name}; `paimon-core repair shop.revenue` shows what can be" in told
    # A table that cannot be read hides no other one.
    (snapshot,) = Path(open_lake(lake.settings).table("shop.revenue").location).glob("snapshot/snapshot-*")
    snapshot.write_bytes(snapshot.read_bytes()[:100])
    assert main(["show", *here]) == 1
    printed, told = capsys.readouterr()
    lines = [line.split()[:5] for line in printed.splitlines()[2:]]
    assert [line[:2] for line in lines[:2]] == expected[:2]
    assert lines[2] == ["shop.revenue", "-", "cannot", "be", "read"]
    assert "shop.revenue: corrupt-table:" in told
    assert "`paimon-core repair shop.revenue`" in told
    assert main(["audit", "--table", "shop.revenue", *here]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG")]
    assert len(lines) == 6
    assert [line for line in lines if "`paimon-core repair shop.revenue`" not in line] == []
    assert main(["check", *here]) == 1
    assert "shop.revenue: whether partitions are stale is not known: " in capsys.readouterr().out
    schema = Path(open_lake(lake.settings).table("shop.revenue").location, "schema", "schema-0")
    schema.write_bytes(b"{")
    assert main(["check", *here]) == 1
    assert "shop.revenue cannot be opened: corrupt-table:" in capsys.readouterr().out
    assert main(["audit", *here]) == 1
    audits = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert audits == [["ok", "shop.orders"]] * 5 + [["WRONG", "shop.revenue"]] * 6


@pytest.mark.parametrize("command", ["check", "apply", "show", "audit"])
def test_every_overview_of_a_lake_without_tables_says_what_to_do(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "base.yaml").write_text(f"warehouse: {tmp_path}/lake\n")
    (tmp_path / "local.yaml").write_text("")
    main([command, "--configs", str(tmp_path)])
    assert "no table is declared in " in "".join(capsys.readouterr())
